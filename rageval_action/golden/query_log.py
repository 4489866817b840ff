"""Query logs with clicks or feedback as candidate rows: cleaned of personal data, counted, and left for review.

A click is a hint, not a judgment: people click what stands on top. So every row is `pending`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rageval_action.core.labels.tokens import fold_case
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError
from rageval_action.golden.field_names import normalise
from rageval_action.golden.field_values import is_absent, is_absent_word
from rageval_action.golden.near_duplicates import THRESHOLD, Index
from rageval_action.golden.shared_words import content_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rageval_action.golden.canonical_file import RowDict
    from rageval_action.golden.containers import Line
    from rageval_action.golden.privacy import Detector

NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query", "question", "q", "text", "search", "search_query", "input", "message"),
    "clicks": (
        "clicks", "clicked", "clicked_ids", "clicked_docs", "clicked_doc_ids", "click", "selected", "opened",
        "cited",
    ),
    "feedback": ("feedback", "rating", "thumbs", "thumb", "vote", "helpful"),
    "shown": ("shown", "results", "result_ids", "doc_ids", "documents", "sources"),
    "user": ("user", "user_id", "session", "session_id", "visitor"),
    "count": ("count", "times", "frequency"),
    "lang": ("lang", "language", "locale"),
}  # fmt: skip
"""Our field -> names that logs use for it, best first."""

_UP = {"up", "1", "+1", "good", "positive", "yes", "true", "like", "thumbs_up", "5", "4"}
_DOWN = {"down", "-1", "0", "bad", "negative", "no", "false", "dislike", "thumbs_down", "2"}


class LoggedQuestion(Struct, kw_only=True):
    """One question of the log, over all the times it was asked."""

    text: str
    times: int = 0
    users: set[str] = set()
    clicks: Counter[str] = Counter()
    ups: int = 0
    downs: int = 0
    redacted: tuple[str, ...] = ()
    lang: str = ""


class FromLog(Struct, frozen=True, kw_only=True):
    """Candidate rows, and what became of the rest: reason -> distinct questions."""

    rows: tuple[dict[str, Any], ...]
    lines: int
    left_out: dict[str, int]
    redacted: int


def from_log(
    lines: Sequence[Line],
    detector: Detector,
    *,
    path: str,
    existing: Sequence[str] = (),
    least_times: int = 1,
    least_users: int = 1,
) -> FromLog:
    """Turn log lines into candidate rows, the most asked first.

    Args:
        lines: of the log; names of fields as in `NAMES`.
        detector: finds what must not be written down.
        path: of the log, for messages.
        existing: questions that are in the set already; near-duplicates of them are left out.
        least_times: a question asked less often is left out: rare questions give their asker away.
        least_users: a question asked by fewer people is left out; where the log names no users, everything is.

    Raises:
        GoldenError: `golden.no-query` when no field holds the query, or the problems of single lines.
    """
    asked = _collect(lines, detector, path)
    index = Index(existing)
    left_out: Counter[str] = Counter()
    rows: list[RowDict] = []
    for one in sorted(asked.values(), key=lambda found: (-found.times, found.text)):
        reason = _unfit(one, least_times, least_users)
        if not reason and index.nearest(one.text)[1] >= THRESHOLD:
            reason = "near-duplicate"
        if reason:
            left_out[reason] += 1
            continue
        index.add(one.text)
        rows.append(_row(one))
    redacted = sum(bool(one.redacted) for one in asked.values())
    return FromLog(rows=tuple(rows), lines=len(lines), left_out=dict(left_out), redacted=redacted)


def _collect(lines: Iterable[Line], detector: Detector, path: str) -> dict[str, LoggedQuestion]:
    problems = Problems(GoldenError)
    asked: dict[str, LoggedQuestion] = {}
    for line in lines:
        row = {normalise(str(key)): value for key, value in line.row.items()}
        text = _first(row, "query")
        if not isinstance(text, str):
            names = ", ".join(line.row)
            raise GoldenError(
                "golden.no-query",
                f"no field of the log is known to hold the query; this line has: {names}.",
                hint=f"Known names: {', '.join(NAMES['query'])}.",
                where=f"{path}:{line.number}",
            )
        clean, kinds = detector.redact(" ".join(text.split()))
        one = asked.setdefault(fold_case(clean), LoggedQuestion(text=clean, users=set(), clicks=Counter()))
        try:
            _count(one, row, kinds)
        except ValueError as fault:
            problems.add("golden.bad-row", f"{path}:{line.number}", str(fault))
    problems.raise_if_any()
    return asked


def _count(one: LoggedQuestion, row: dict[str, Any], kinds: Sequence[str]) -> None:
    count = _first(row, "count")
    if count is not None and (isinstance(count, bool) or not str(count).isdigit()):
        raise ValueError(f"the count is {count!r}; it is a whole number.")
    times = int(str(count)) if count is not None else 1
    one.times += times
    one.redacted = tuple(sorted({*one.redacted, *kinds}))
    one.lang = one.lang or str(_first(row, "lang") or "")
    user = _first(row, "user")
    if user is not None:
        # Only told apart, never written down.
        one.users.add(text_hash(str(user)))
    mood = str(_first(row, "feedback") or "").strip().lower()
    one.ups += times if mood in _UP else 0
    one.downs += times if mood in _DOWN else 0
    clicked = _ids(_first(row, "clicks"))
    if not clicked and mood in _UP:
        shown = _ids(_first(row, "shown"))
        clicked = shown if len(shown) == 1 else []
    for name in clicked:
        one.clicks[name] += times


def _first(row: dict[str, Any], field: str) -> Any:
    present = (row[name] for name in NAMES[field] if name in row)
    return next((value for value in present if not is_absent(value) and not is_absent_word(value)), None)


def _ids(value: Any) -> list[str]:
    """Ids in a list, an object's `id`, or a single one."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    found: list[str] = []
    for item in items:
        name = (
            next((item[key] for key in ("id", "doc_id", "chunk_id", "doc") if key in item), None)
            if isinstance(item, dict)
            else item
        )
        if isinstance(name, str | int) and not isinstance(name, bool) and str(name):
            found.append(str(name))
    return list(dict.fromkeys(found))


def _unfit(one: LoggedQuestion, least_times: int, least_users: int) -> str:
    words = [token for token in content_tokens(one.text) if token not in ("email", "phone", "key")]
    if not words:
        return "nothing-left" if one.redacted else "no-words"
    if one.times < least_times:
        return "too-rare"
    if len(one.users) < least_users and least_users > 1:
        return "too-few-users"
    if not one.clicks:
        return "no-clicks"
    return ""


def _row(one: LoggedQuestion) -> RowDict:
    row: RowDict = {
        "id": f"log-{text_hash(fold_case(one.text))[:12]}",
        "query": one.text,
        "relevant": [name for name, _ in one.clicks.most_common()],
        "tags": ["log"],
    }
    if one.lang:
        row["lang"] = one.lang
    provenance: dict[str, Any] = {"asked": one.times, "clicks": dict(one.clicks.most_common())}
    provenance |= {"up": one.ups} if one.ups else {}
    provenance |= {"down": one.downs} if one.downs else {}
    provenance |= {"redacted": list(one.redacted)} if one.redacted else {}
    return row | {"source": "log", "review": "pending", "provenance": provenance}
