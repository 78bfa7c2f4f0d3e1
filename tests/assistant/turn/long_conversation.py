"""A talk of 500 turns with 60 tool calls, and a model's server that knows only what it is sent.

The server has no script of answers: what it says of a fact it finds in the messages of the request,
by the words of the question, as anybody would who reads them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.openai_server import Call, OpenAIServer, Say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TURNS = 500
FACTS = {
    3: "By the way, the code of my locker at the station is 7316-K.",
    50: "My sister Marlene lands in Porto on 2027-03-14.",
    250: "We agreed that the blue kayak belongs to Ismael Quintero.",
}
QUESTIONS = {
    "Which code has my locker at the station?": "7316-K",
    "When does my sister Marlene land in Porto?": "2027-03-14",
    "To whom does the blue kayak belong?": "Ismael Quintero",
}
TOPICS = (
    "the {n} chairs of the terrace, which Mr. Abel wants painted by May",
    "order {n}, whose code is {n}-X, and which the courier lost in Leeds",
    "a film of {n} minutes about the harbour, and a sister who sails",
    "the garden: {n} tulips, two apple trees and a blue gate",
    "train {n} to Zaragoza, which leaves platform 4 at {h}:15",
    "soup for {h} people, with leeks from Inés and no salt at all",
)
LARGE_EVERY, LARGE_LINES = 7, 220
_WORD = re.compile(r"\w+")
_SMALL_WORDS = """
a an and at the my me is in of on to has have do does did it which when whom what who by belongs
belong remind was said earlier i we you that way
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def lines() -> list[str]:
    """What the person says, turn by turn; the last is still to be said."""
    return [FACTS.get(turn) or _line(turn) for turn in range(1, TURNS)]


def _line(turn: int) -> str:
    if turn % 9 == 0:
        return f"Look up parcel {turn}" + (f" and parcel {turn + 1}" if turn % 45 == 0 else "")
    topic = TOPICS[(turn // 11) % len(TOPICS)].format(n=turn * 13 % 997, h=turn % 12 + 8)
    return f"Let me tell you about {topic}. It goes on, as such things do, for the {turn}th time."


def found(what: str) -> str:
    """The tool's result: of some parcels it is far too long."""
    number = int(what)
    size = LARGE_LINES if number % LARGE_EVERY == 0 else 3
    return "\n".join(f"{number}: stop {n} at depot {n * 7 % 31}, scanned" for n in range(size))


class Reader(OpenAIServer):
    """Answers from what it was sent, and from nothing else."""

    def unscripted(self, body: dict[str, object]) -> Say:
        messages = body["messages"]
        assert isinstance(messages, list)
        return answer(messages)


def answer(messages: Sequence[Mapping[str, object]]) -> Say:
    last = messages[-1]
    text = str(last["content"])
    if last["role"] == "tool":
        return Say(text=f"It says: {text.splitlines()[0]}.")
    if parcels := re.findall(r"parcel (\d+)", text):
        return Say(calls=tuple(_call(parcel) for parcel in parcels))
    if text.endswith("?"):
        said = [str(one["content"]) for one in messages[:-1] if one["content"]]
        parts = [part for part in re.split(r"[?;]\s*", text) if part]
        return Say(text=" ".join(nearest(part, said) for part in parts))
    return Say(text=f"I see: {' '.join(text.split()[5:12])}.")


def nearest(question: str, said: Sequence[str]) -> str:
    """The sentence that shares most words with the question."""
    wanted = _words(question)
    sentences = [one for text in said for one in re.split(r"(?<=[.!?])\s|\n", text) if one]
    best = max(sentences, key=lambda one: len(wanted & _words(one)), default="")
    return best if len(wanted & _words(best)) > 1 else "I do not know."


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _SMALL


def _call(parcel: str) -> Call:
    return Call(name="look_up", arguments=json.dumps({"parcel": parcel}), id=f"call_{parcel}")
