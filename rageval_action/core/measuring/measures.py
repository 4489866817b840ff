"""The measures: what each is called, how it is written, and the one function that computes it.

Definitions are trec_eval's where it has the measure (usnistgov/trec_eval, version 10); a variant has a name
of its own. To add a measure: one function and one entry in `MEASURES`, where tables are to show it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

NO_CUTOFF = int(np.iinfo(np.int64).max)
"""The cutoff that a measure function gets when the whole ranking counts."""

LARGEST_CUTOFF = 1_000_000


class Marks(Struct, frozen=True, eq=False):
    """Finds of all queries in parallel arrays of one length, sorted by query, then rank.

    Attributes:
        query: 0-based index of the query.
        rank: 1-based position in the ranking.
        place: the rank that position-discounted measures use, see `scoring.batch`.
        nth: 1 for a query's first find, 2 for its second, …
        grade: of the judgment.
    """

    query: Ints
    rank: Ints
    place: Ints
    nth: Ints
    grade: Ints


class Batch(Struct, frozen=True, eq=False):
    """The rankings of n queries as their judgments see them: all that a measure needs.

    Attributes:
        returned: ids in each ranking, shape (n,).
        relevant: what there was to be found (grades >= level, or groups), shape (n,).
        judged: positions that hold something judged with a grade >= 0.
        found: relevant finds, binary.
        gains: finds with a grade > 0, whatever the level.
        ideal: all judgments with a grade > 0, best first: their `place` is where a perfect ranking has them.
    """

    returned: Ints
    relevant: Ints
    judged: Marks
    found: Marks
    gains: Marks
    ideal: Marks


def _ratio(numerator: NDArray[np.number], denominator: NDArray[np.number]) -> Floats:
    """Element-wise quotient, 0 where the denominator is 0."""
    out = np.zeros(len(numerator), dtype=np.float64)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _count(batch: Batch, query: Ints) -> Ints:
    """How often each query occurs in `query`, shape (n,)."""
    return np.bincount(query, minlength=len(batch.returned)).astype(np.int64, copy=False)


def _sum(batch: Batch, query: Ints, terms: Floats) -> Floats:
    """Sum of `terms` by query, added in their order as trec_eval adds them, shape (n,)."""
    sums = np.bincount(query, weights=terms, minlength=len(batch.returned))
    return sums.astype(np.float64, copy=False)


def _first_rank(batch: Batch) -> Floats:
    """Rank of each query's first find, infinite where there is none, shape (n,)."""
    first = batch.found.nth == 1
    ranks = np.full(len(batch.returned), np.inf)
    ranks[batch.found.query[first]] = batch.found.rank[first]
    return ranks


def recall(batch: Batch, k: int) -> Floats:
    """Found within k / all relevant."""
    return _ratio(_count(batch, batch.found.query[batch.found.rank <= k]), batch.relevant)


def recall_cap(batch: Batch, k: int) -> Floats:
    """Found within k / min(k, all relevant): 1 is always within reach."""
    found = _count(batch, batch.found.query[batch.found.place <= k])
    return _ratio(found, np.minimum(batch.relevant, k))


def hit(batch: Batch, k: int) -> Floats:
    """1 when anything relevant is within k, else 0."""
    return (_first_rank(batch) <= k).astype(np.float64)


def precision(batch: Batch, k: int) -> Floats:
    """Found within k / k, however few were returned."""
    return _count(batch, batch.found.query[batch.found.place <= k]) / float(k)


def precision_returned(batch: Batch, k: int) -> Floats:
    """Found within k / min(k, returned); 0 for an empty ranking."""
    shown = np.minimum(batch.returned, k)
    within = batch.found.place <= shown[batch.found.query]
    return _ratio(_count(batch, batch.found.query[within]), shown)


def reciprocal_rank(batch: Batch, k: int) -> Floats:
    """1 / rank of the first find; 0 when it lies beyond k."""
    ranks = _first_rank(batch)
    return np.where(ranks <= k, 1.0 / ranks, 0.0)


def average_precision(batch: Batch, k: int) -> Floats:
    """Sum over finds within k of (finds so far / rank), / all relevant."""
    within = batch.found.place <= k
    terms = batch.found.nth[within] / batch.found.place[within]
    return _ratio(_sum(batch, batch.found.query[within], terms), batch.relevant)


def r_precision(batch: Batch, k: int) -> Floats:
    """Found within R / R, where R is the number of relevant."""
    del k
    within = batch.found.place <= batch.relevant[batch.found.query]
    return _ratio(_count(batch, batch.found.query[within]), batch.relevant)


def _discounted(batch: Batch, marks: Marks, gain: Floats, k: int) -> Floats:
    """Sum of gain / log2(place + 1) within k, shape (n,)."""
    within = marks.place <= k
    terms = gain[within] / np.log2(marks.place[within] + 1.0)
    return _sum(batch, marks.query[within], terms)


def ndcg(batch: Batch, k: int) -> Floats:
    """Discounted gain / that of a perfect ranking, both cut at k; the gain is the grade."""
    got = _discounted(batch, batch.gains, batch.gains.grade.astype(np.float64), k)
    return _ratio(got, _discounted(batch, batch.ideal, batch.ideal.grade.astype(np.float64), k))


def ndcg_exp(batch: Batch, k: int) -> Floats:
    """As `ndcg` with the gain 2^grade - 1."""
    top = np.zeros(len(batch.returned), dtype=np.int64)
    first = batch.ideal.nth == 1
    top[batch.ideal.query[first]] = batch.ideal.grade[first]

    def gain(marks: Marks) -> Floats:
        # Over 2^top: a factor of both sums, exact in binary, that keeps great grades from overflowing.
        best = top[marks.query].astype(np.float64)
        return np.exp2(marks.grade - best) - np.exp2(-best)

    got = _discounted(batch, batch.gains, gain(batch.gains), k)
    return _ratio(got, _discounted(batch, batch.ideal, gain(batch.ideal), k))


def judged(batch: Batch, k: int) -> Floats:
    """Judged positions within k / min(k, returned); NaN for an empty ranking."""
    shown = np.minimum(batch.returned, k)
    share = _ratio(_count(batch, batch.judged.query[batch.judged.rank <= k]), shown)
    return np.where(shown > 0, share, np.nan)


def unjudged(batch: Batch, k: int) -> Floats:
    """Positions within k that hold something unjudged / k."""
    known = _count(batch, batch.judged.query[batch.judged.rank <= k])
    return (np.minimum(batch.returned, k) - known) / k


class Definition(Struct, frozen=True, kw_only=True):
    """One entry of `MEASURES`.

    Attributes:
        compute: (batch, cutoff or `NO_CUTOFF`) -> one value a query, shape (n,), in [0, 1].
        cutoff: whether the name takes an `@k`.
        summary: one line for people.
        source: whose definition it is.
        more_is_better: whether a rise is an improvement; of other measures a report says only that they changed.
    """

    compute: Callable[[Batch, int], Floats]
    cutoff: Literal["required", "optional", "forbidden"]
    summary: str
    source: str
    more_is_better: bool = True


MEASURES: dict[str, Definition] = {
    "recall": Definition(
        compute=recall,
        cutoff="required",
        summary="share of all relevant that is within the first k",
        source="trec_eval recall_k",
    ),
    "hit": Definition(
        compute=hit,
        cutoff="required",
        summary="1 when anything relevant is within the first k",
        source="trec_eval success_k",
    ),
    "precision": Definition(
        compute=precision,
        cutoff="required",
        summary="share of the first k that is relevant, missing positions counted as misses",
        source="trec_eval P_k",
    ),
    "precision_returned": Definition(
        compute=precision_returned,
        cutoff="required",
        summary="share of what was returned within the first k that is relevant",
        source="Anthropic's retrieval guide (claude-cookbooks, retrieval_augmented_generation)",
    ),
    "recall_cap": Definition(
        compute=recall_cap,
        cutoff="required",
        summary="found within the first k / the most that k positions can hold",
        source="BEIR R_cap (Thakur et al. 2021)",
    ),
    "mrr": Definition(
        compute=reciprocal_rank,
        cutoff="optional",
        summary="1 / rank of the first relevant",
        source="trec_eval recip_rank; @k as with its -M k",
    ),
    "ndcg": Definition(
        compute=ndcg,
        cutoff="optional",
        summary="discounted gain over that of a perfect ranking, gain = grade",
        source="trec_eval ndcg, ndcg_cut_k (Järvelin and Kekäläinen 2002, log2(rank + 1))",
    ),
    "ndcg_exp": Definition(
        compute=ndcg_exp,
        cutoff="required",
        summary="as ndcg with gain = 2^grade - 1",
        source="Burges et al. 2005; TREC gdeval.pl",
    ),
    "map": Definition(
        compute=average_precision,
        cutoff="optional",
        summary="mean over all relevant of the precision at their rank, 0 for those not found",
        source="trec_eval map, map_cut_k",
    ),
    "r-precision": Definition(
        compute=r_precision,
        cutoff="forbidden",
        summary="precision at R, the number of relevant",
        source="trec_eval Rprec",
    ),
    "judged": Definition(
        compute=judged,
        cutoff="required",
        summary="share of what was returned within the first k that has a judgment",
        source="ir-measures Judged@k, with negative grades as unjudged",
        more_is_better=False,
    ),
    "unjudged": Definition(
        compute=unjudged,
        cutoff="required",
        summary="positions within the first k that hold something unjudged / k",
        source="trec_eval unj_k",
        more_is_better=False,
    ),
}
"""Name -> definition, in the order of tables."""

ALIASES: dict[str, str] = {
    "success": "hit",
    "hit_rate": "hit",
    "p": "precision",
    "rr": "mrr",
    "recip_rank": "mrr",
    "rprec": "r-precision",
    "r_precision": "r-precision",
}
"""Names that other tools use for the same definition -> ours."""

WRITTEN = "|".join(
    name
    + {"required": "@{k}", "optional": "(?:@{k})?", "forbidden": ""}[entry.cutoff].format(k="[1-9][0-9]{0,6}")
    for name, entry in MEASURES.items()
)
"""Regular expression of every measure as `str(Measure)` spells it; sentences set these in a code face."""

DEFAULT_LADDER = ("recall@1,3,5,10", "hit@5", "mrr", "ndcg@10")


class Measure(Struct, frozen=True, order=True):
    """A name of `MEASURES` with its cutoff (0 = none); `str` spells it canonically: `recall@5`, `mrr`."""

    name: str
    cutoff: int = 0

    def __str__(self) -> str:
        return f"{self.name}@{self.cutoff}" if self.cutoff else self.name


def headline_measure(k: int) -> str:
    """The measure that everything else is judged by when the cutoff is `k`."""
    return f"recall@{k}"


def is_measure(text: str) -> bool:
    """Whether `text` is a measure as `str(Measure)` spells it."""
    return re.fullmatch(WRITTEN, text) is not None


def more_is_better(text: str) -> bool:
    """Whether a rise of the measure `text` is an improvement; taken to be one where the name is not known here."""
    entry = MEASURES.get(text.partition("@")[0])
    return entry is None or entry.more_is_better


def in_order(names: Iterable[str], first: str) -> list[str]:
    """Names of measures as tables list them: `first`, then by definition, cutoff and name; unknown ones last."""
    families = list(MEASURES)

    def place(name: str) -> tuple[bool, int, int, str]:
        family, _, cutoff = name.partition("@")
        known = families.index(family) if family in MEASURES else len(families)
        return name != first, known, int(cutoff) if cutoff.isdecimal() else 0, name

    return sorted(names, key=place)


def parse_measure(text: str) -> Measure:
    """Read one measure: `recall@5`, `mrr`, `nDCG@10`, `success@1` (an alias of `hit@1`); case does not count.

    Raises:
        ConfigError: `config.unknown-measure`, or `config.bad-cutoff` for a cutoff that is missing, out of
        place
            or no integer from 1 to 1,000,000.
    """
    written, at, cutoff = text.strip().partition("@")
    name = ALIASES.get(written.strip().lower(), written.strip().lower())
    if name not in MEASURES:
        raise _unknown(text.strip())
    rule = MEASURES[name].cutoff
    if not at:
        if rule == "required":
            raise _bad_cutoff(f'"{text.strip()}" needs a cutoff.', f"Write {name}@5, say.")
        return Measure(name)
    if rule == "forbidden":
        raise _bad_cutoff(f'"{text.strip()}": {name} takes no cutoff.', f"Write {name}.")
    return Measure(name, _cutoff(cutoff.strip(), text.strip()))


def _cutoff(digits: str, text: str) -> int:
    """The cutoff written as `digits` in `text`."""
    if re.fullmatch("[0-9]{1,9}", digits) and 1 <= int(digits) <= LARGEST_CUTOFF:
        return int(digits)
    raise _bad_cutoff(
        f'"{text}": the cutoff "{digits}" is not a whole number from 1 to {LARGEST_CUTOFF:,}.',
        "Write it as in recall@5.",
    )


def _bad_cutoff(message: str, hint: str) -> ConfigError:
    return ConfigError("config.bad-cutoff", message, hint=hint)


def _unknown(text: str) -> ConfigError:
    """The error for a measure nobody knows, with the nearest known one where one is near."""
    import difflib  # only a typing error pays for it

    known = [
        name + {"required": "@k", "optional": "[@k]", "forbidden": ""}[entry.cutoff]
        for name, entry in MEASURES.items()
    ]
    # "recall_5", "P.10" and "ndcg_cut_10" are spellings of tools that have no "@".
    spelled = re.fullmatch(r"(.*?)(?:_cut)?[ _.\-@]*([0-9]*)", text.lower(), re.DOTALL)
    name, digits = spelled.groups() if spelled else (text.lower(), "")
    near = difflib.get_close_matches(name, [*MEASURES, *ALIASES], n=1)
    guess = (
        f'Did you mean "{ALIASES.get(near[0], near[0])}{"@" + digits if digits else ""}"? ' if near else ""
    )
    return ConfigError(
        "config.unknown-measure", f'there is no measure "{text}".', hint=f"{guess}Known: {', '.join(known)}."
    )


def parse_measures(texts: Iterable[str]) -> tuple[Measure, ...]:
    """Read lists of measures: each text may hold several between commas.

    A bare number repeats the measure before it: `recall@1,3,5,10` is four measures. Duplicates count once,
    the order is kept, and an empty piece (a trailing comma) is nothing.

    Raises:
        ConfigError: as `parse_measure`; a bare number after a measure without cutoff is `config.bad-cutoff`.
    """
    found: dict[Measure, None] = {}
    for text in texts:
        last = Measure("")
        pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
        if not pieces:
            raise _unknown(text)
        for piece in pieces:
            if not piece.isdigit():
                last = parse_measure(piece)
            elif last.cutoff:
                last = Measure(last.name, _cutoff(piece, text))
            else:
                raise _bad_cutoff(
                    f'"{text}": the number {piece} follows no measure with a cutoff.', "Write recall@1,3,5."
                )
            found[last] = None
    return tuple(found)


def ladder(k: int) -> tuple[Measure, ...]:
    """The default measures when the headline cutoff is `k`; `ladder(5)` is `DEFAULT_LADDER`."""
    cutoffs: Sequence[int] = sorted({1, 3, 5, 10, k})
    return (
        *(Measure("recall", cutoff) for cutoff in cutoffs),
        Measure("hit", k),
        Measure("mrr"),
        Measure("ndcg", 10),
    )
