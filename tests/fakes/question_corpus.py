"""A small made-up collection with a question for each fact, and a model that knows them: for tests of generation."""

from __future__ import annotations

import json
import re
from typing import Any

from rageval_action.core.model.types import Chunk

FACTS: dict[str, list[tuple[str, str]]] = {
    "tide.md": [
        ("The harbour gate opens two hours before high tide and closes one hour after it.", "At what time can boats enter the port?"),
        ("Vessels longer than nine metres wait at the outer pontoon until a pilot is free.", "Where must a large yacht stay before somebody guides it in?"),
    ],
    "fees.md": [
        ("Mooring costs twelve crowns a night from May to September, six in winter.", "How much is an overnight berth during summer?"),
        ("Residents of the island pay half of every charge on showing their card.", "Do locals get a discount on docking?"),
    ],
    "safety.md": [
        ("Anchoring in the fairway is forbidden because the ferry needs its full width.", "Why am I not allowed to drop the hook in the main channel?"),
        ("Every skipper keeps a listening watch on channel fourteen while under way.", "Which radio frequency should I monitor when sailing in?"),
    ],
    "fuel.md": [
        ("Diesel is sold at the northern quay on weekdays; petrol only in cans on request.", "Where do I fill up my tank?"),
        ("Spilled fuel is reported at once to the watch officer, who lays the boom.", "What happens after an oil leak?"),
    ],
    "winter.md": [
        ("Boats are lifted ashore in the second week of October by the travelling crane.", "When is the hull taken out of the water for the cold season?"),
        ("Batteries are removed before storage so that frost does not crack them.", "How can I protect my accumulators from freezing?"),
    ],
    "guests.md": [
        ("Visitors find hot showers behind the customs house, open from six to ten.", "Where may a guest wash?"),
        ("Dogs are welcome on the piers when they are kept on a lead.", "Can I bring my pet along?"),
    ],
}  # fmt: skip
"""Document -> sentences and, for each, a question in other words."""

FILLER = (
    " Further remarks of the harbour office concern matters that were settled in earlier years and are kept on file "
    "for anybody who wishes to read them in the reading room on the first floor of the old toll building."
)


def chunks() -> list[Chunk]:
    """One chunk a fact, with offsets in its document."""
    found: list[Chunk] = []
    for doc, facts in FACTS.items():
        at = 0
        for number, (sentence, _) in enumerate(facts):
            text = sentence + FILLER.replace("earlier", f"{doc} {number}")
            found.append(Chunk(id=f"{doc}#{number}", doc=doc, text=text, start=at, end=at + len(text)))
            at += len(text) + 1
    return found


QUESTIONS = {sentence: question for facts in FACTS.values() for sentence, question in facts}


class Brain:
    """Answers as a good model would; `override` maps a purpose to another answer for tests of bad ones."""

    def __init__(self) -> None:
        self.override: dict[str, Any] = {}

    def __call__(self, body: dict[str, Any]) -> str:
        schema = body["output_config"]["format"]["schema"]["properties"]
        prompt = body["messages"][0]["content"]
        purpose = self.purpose(schema, prompt)
        answer = self.override.get(purpose)
        if callable(answer):
            answer = answer(prompt)
        return (
            answer if isinstance(answer, str) else json.dumps(answer or getattr(self, f"_{purpose}")(prompt))
        )

    @staticmethod
    def purpose(schema: dict[str, Any], prompt: str) -> str:
        """Which of our prompts this is, by the shape of its answer."""
        if "questions" in schema:
            return "question"
        if "verdicts" in schema:
            return "critic"
        if "answers" in schema:
            return "also"
        if "quote_1" in schema:
            return "multi"
        return "rewrite" if "<fault>" in prompt else "unanswerable"

    @staticmethod
    def _facts(text: str) -> list[tuple[str, str]]:
        found = [(text.find(sentence), sentence) for sentence in QUESTIONS if sentence in text]
        return [(sentence, QUESTIONS[sentence]) for _, sentence in sorted(found)]

    def _question(self, prompt: str) -> Any:
        count = int(re.search(r"exactly (\d+) questions", prompt)[1])  # type: ignore[index]
        sentence, question = self._facts(prompt)[0]
        asked = [question, f"Question two, in other words: {question.lower().rstrip('?')} please"][:count]
        return {
            "questions": [
                {"style": "natural", "question": text, "quote": sentence, "language": "en"} for text in asked
            ]
        }

    def _multi(self, prompt: str) -> Any:
        (first, one), (second, two) = self._facts(prompt)[:2]
        question = f"Considering both: {one.rstrip('?').lower()} while {two.rstrip('?').lower()}?"
        return {"question": question, "quote_1": first, "quote_2": second, "language": "en"}

    def _unanswerable(self, prompt: str) -> Any:
        title = re.search(r"<title>(.*?)</title>", prompt)[1]  # type: ignore[index]
        return {"question": f"Who designed the lighthouse lens of station {title[:4]}?", "language": "en"}

    def _rewrite(self, prompt: str) -> Any:
        return {"question": self._facts(prompt)[0][1]}

    def _critic(self, prompt: str) -> Any:
        rows = re.findall(r'<question number="(\d+)"( unanswerable)?', prompt)
        verdict = {"self_contained": True, "copied": False, "reason": "fine"}
        return {"verdicts": [{"number": int(n), "answerable": not nothing, **verdict} for n, nothing in rows]}

    def _also(self, prompt: str) -> Any:
        del prompt
        return {"answers": []}
