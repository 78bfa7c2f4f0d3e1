"""A long conversation with facts at known places, and which of them a choice of its messages still
holds. Knows no strategy.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from bench.words import ENGLISH
from spade_llm.providers.model import FunctionCall, ToolCallEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.context import ContextMessage

TOOL_SHARE = 0.15
"""Of questions that a tool is called for."""
WHOLE = 4
"""Messages of such an exchange: none is begun that the end of the conversation would cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    said: tuple[tuple[float, str], ...]
    """At which part of the conversation (below 0: so many messages before its end), and how."""
    question: str
    value: str
    """The word that answers: no other message has it. Of a correction, what holds since."""


FACTS = {
    "early": Fact(
        said=((0.05, "My new sailing boat is called Quillon."),),
        question="What is my sailing boat called?",
        value="Quillon",
    ),
    "middle": Fact(
        said=((0.5, "The landlord of our holiday house is Mr. Ostrevik."),),
        question="Who is the landlord of our holiday house?",
        value="Ostrevik",
    ),
    "late": Fact(
        said=((-12, "The dentist moved my appointment to Zeldrick Lane."),),
        question="Where is my appointment at the dentist?",
        value="Zeldrick",
    ),
    "repeated": Fact(
        said=tuple((at, "Remember: I am allergic to tamarivo nuts.") for at in (0.1, 0.35, 0.6)),
        question="Which nuts am I allergic to?",
        value="tamarivo",
    ),
    "corrected": Fact(
        said=(
            (0.2, "The alarm code of the office is the word brimolt."),
            (0.7, "I was wrong: the alarm code of the office is now fendrasol."),
        ),
        question="What is the alarm code of the office?",
        value="fendrasol",
    ),
}


def conversation(size: int, *, seed: int = 7) -> list[ContextMessage]:
    """So many messages, without the last: that is the question."""
    chance, due = random.Random(seed), _due(size)
    history: list[ContextMessage] = []
    while len(history) < size - 1:
        said = due.pop()[1] if due and due[-1][0] <= len(history) else _sentence(chance)
        history += islice(_exchange(said, len(history), size, chance), size - 1 - len(history))
    return history


def question(fact: str) -> ContextMessage:
    return {"role": "user", "content": FACTS[fact].question}


def held(kept: Sequence[ContextMessage]) -> frozenset[str]:
    """The facts whose answer stands in one of these messages."""
    text = "\n".join(_texts(kept))
    return frozenset(name for name, fact in FACTS.items() if fact.value in text)


def plain_window(
    history: Sequence[ContextMessage], tokens: int, counts: Sequence[int]
) -> Sequence[ContextMessage]:
    """The last messages that take no more than so many; the question always."""
    first = len(history)
    for count in reversed(counts):
        if (tokens := tokens - count) < 0:
            break
        first -= 1
    return history[min(first, len(history) - 1) :]


def _due(size: int) -> list[tuple[int, str]]:
    """What is said from which message on; the next is the last."""
    said = [one for fact in FACTS.values() for one in fact.said]
    places = [(size + int(at) if at < 0 else int(at * size), text) for at, text in said]
    return sorted(places, reverse=True)


def _exchange(said: str, number: int, size: int, chance: random.Random) -> Iterator[ContextMessage]:
    yield {"role": "user", "content": said}
    if chance.random() < TOOL_SHARE and number + WHOLE < size:
        yield from _tool_call(f"call_{number}", chance)
    yield {"role": "assistant", "content": _sentence(chance)}


def _tool_call(id: str, chance: random.Random) -> Iterator[ContextMessage]:
    function = FunctionCall(name="look_up", arguments=f'{{"what": "{chance.choice(ENGLISH)}"}}')
    call = ToolCallEntry(id=id, type="function", function=function)
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "content": _sentence(chance) * 5, "tool_call_id": id}


def _sentence(chance: random.Random) -> str:
    words = " ".join(chance.choice(ENGLISH) for _ in range(16))
    return f"The {words} is number {chance.randint(1, 9999)}."


def _texts(kept: Sequence[ContextMessage]) -> Iterator[str]:
    return (str(one["content"]) for one in kept if one.get("content"))
