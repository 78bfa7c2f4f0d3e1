"""`/learn`: whether what several conversations of a person have in common is remembered; theirs to
say, and theirs to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.memory_numbers import NUMBER_CHARS, numbered_line, with_number
from spade_llm.memory.one_line import one_line
from spade_llm.memory.store import Category, MemoryFilter, Origin

if TYPE_CHECKING:
    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.memory.backend import OwnedMemory
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.services.chat import Utterance

LISTED = 50
"""A person's newest patterns."""
SHOWN_CHARS = 200
"""Of one conversation that a pattern was seen in."""
NO_MEMORY = "I have no memory agent."
HOW = (
    "/learn on lets me remember what several of our conversations have in common; /learn off"
    " removes that and ends it; /learn NUMBER shows where one was seen."
)


class LearningCommands:
    def __init__(self, memory: MemoryBehaviour) -> None:
        self._memory = memory

    def add_to(self, commands: Commands) -> None:
        commands.add(
            "learn",
            self._learn,
            "/learn on, /learn off – whether I remember what our conversations have in common",
            "/learn – what that is; /learn NUMBER – in which conversations it was seen",
        )

    async def _learn(self, argument: str, utterance: Utterance) -> str:
        memory = self._memory.memory
        if memory is None:
            return NO_MEMORY
        match argument.lower():
            case "" | "status":
                return await _status(memory, utterance.peer)
            case "on":
                await memory.set_consent(utterance.peer, is_given=True)
                return (
                    "From now on I remember what several of our conversations have in common, those"
                    " that I still have among them. /learn shows it, /learn off removes it."
                )
            case "off":
                await memory.set_consent(utterance.peer, is_given=False)
                return "I no longer do that, and what I had learned that way is removed."
            case number:
                return await _provenance(memory, utterance.peer, number)


async def _status(memory: OwnedMemory, peer: str) -> str:
    consent = await memory.consent(peer)
    if consent.since is None:
        return f"I do not compare our conversations with each other. {HOW}"
    patterns = await _patterns(memory, peer)
    allowed = f"You have allowed it since {consent.since:%Y-%m-%d}."
    if not patterns:
        return f"{allowed} I have found nothing in common yet. {HOW}"
    return "\n".join([f"{allowed} What I have found:", *map(_line, patterns), HOW])


async def _provenance(memory: OwnedMemory, peer: str, number: str) -> str:
    pattern = with_number(await _patterns(memory, peer), number)
    if pattern is None:
        return f"There is nothing with the number {number[:NUMBER_CHARS]!r}. {HOW}"
    episodes = await memory.peek(pattern.sources)
    lines = [f"- {one_line(one.content, SHOWN_CHARS)}" for one in episodes]
    return "\n".join([_line(pattern), "It was seen in these conversations:", *lines])


async def _patterns(memory: OwnedMemory, peer: str) -> list[MemoryEntry]:
    which = MemoryFilter(subject=peer, category=Category.PATTERN)
    page = await memory.list(which, limit=LISTED)
    return [one for one in page.entries if one.origin is Origin.PATTERN]


def _line(pattern: MemoryEntry) -> str:
    """`of`, `first` and `last` are what the learner wrote (learning/pattern_rules.py)."""
    known = pattern.metadata
    seen = f"in {known.get('conversations')} of {known.get('of')} conversations"
    return f"{numbered_line(pattern)} ({seen}, {known.get('first')} to {known.get('last')})"
