"""Commands on what was learned across conversations: `/learn` (consent, patterns), `/learned`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.memory import (
    MAX_ITEM_CHARS,
    MAX_REMEMBERED_LISTS,
    MIN_NUMBER_CHARS,
    NO_MEMORY,
    NUMBER_CHARS,
    find_by_number,
    numbered_line,
)
from spade_llm.core.limits import LruDict
from spade_llm.core.text import single_line
from spade_llm.core.translations import load_texts
from spade_llm.memory.contract import ReflectionKind
from spade_llm.search.memory_query import Category, MemoryFilter, Origin

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.command_registry import CommandRegistry
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.memory.contract import LearnedChange, MemoryEntry, OwnedMemory

LISTED = 50
"""A person's newest patterns."""
SHOWN_CHARS = 200
"""Maximum length of the excerpt of a conversation in which a pattern was found, in characters."""
LEARN_USAGE = (
    "/learn on lets me remember what several of our conversations have in common; /learn off"
    " removes that and ends it; /learn NUMBER shows where one was seen;"
    " /learned what else I have changed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedTexts:
    """Texts of `/learned` in one language. `closed`, `merged` and `summary` are given the date, the
    memory, and the other memory or the number of sources."""

    listed: str
    closed: str
    merged: str
    summary: str
    forgotten: str
    how: str
    nothing: str
    no_single: str
    undone: str


UNDO_WORDS = frozenset({"undo", "deshacer", "deshaz"})
_TEXTS = load_texts(LearnedTexts, __file__, "learning.toml")
LEARNED_TEXTS = {"learned": _TEXTS["en"], "aprendido": _TEXTS["es"]}


def _change_line(change: LearnedChange, say: LearnedTexts) -> str:
    date, text = f"{change.at:%Y-%m-%d}", single_line(change.content, MAX_ITEM_CHARS)
    if change.kind is ReflectionKind.SUMMARY:
        return say.summary.format(date, text, change.sources)
    form = say.closed if change.kind is ReflectionKind.CLOSED else say.merged
    because = single_line(change.because, MAX_ITEM_CHARS) or say.forgotten
    return form.format(date, text, because)


class LearningCommands:
    """Commands about what is learned of a person, and consent."""

    def __init__(self, memory: MemoryBehaviour) -> None:
        self._memory = memory
        self._changes: LruDict[str, Sequence[str]] = LruDict(MAX_REMEMBERED_LISTS)
        """Ids of the list of changes that each person was shown last."""

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "learn",
            self._learn,
            "/learn on, /learn off – whether I remember what our conversations have in common",
            "/learn – what that is; /learn NUMBER – in which conversations it was seen",
        )
        commands.add(
            "learned",
            self._learned,
            "/learned – how I have tidied what I remember; /learned undo NUMBER – undo one of it",
        )

    async def _learned(self, argument: str, turn_input: ChatTurnInput) -> str:
        # In the language of the command that was written.
        word = turn_input.text.strip().lstrip("/").partition(" ")[0].lower()
        say = LEARNED_TEXTS.get(word, LEARNED_TEXTS["learned"])
        memory, peer = self._memory.memory, turn_input.peer
        if memory is None:
            return NO_MEMORY
        changes = await memory.learned(peer)
        word, _, number = argument.partition(" ")
        if word.lower() in UNDO_WORDS:
            return await self._undo(memory, changes, number.strip(), peer, say)
        if not changes:
            return say.nothing
        self._changes[peer] = [one.id for one in changes]
        lines = [f"{at}. {_change_line(one, say)}" for at, one in enumerate(changes, start=1)]
        return "\n".join([say.listed, *lines, say.how])

    async def _undo(
        self,
        memory: OwnedMemory,
        changes: Sequence[LearnedChange],
        number: str,
        peer: str,
        say: LearnedTexts,
    ) -> str:
        """Undo a change by its place in the list shown last, or in the current one."""
        ids = self._changes.get(peer) or [one.id for one in changes]
        place = number.strip("#.()")
        at = int(place) if place.isdecimal() and len(place) < MIN_NUMBER_CHARS else 0
        if not 1 <= at <= len(ids):
            return say.no_single
        found = next((one for one in changes if one.id == ids[at - 1]), None)
        if found is None or not await memory.undo_learned(peer, [found.id]):
            return say.no_single
        return f"{say.undone} {_change_line(found, say)}"

    async def _learn(self, argument: str, turn_input: ChatTurnInput) -> str:
        memory = self._memory.memory
        if memory is None:
            return NO_MEMORY
        match argument.lower():
            case "" | "status":
                return await _status(memory, turn_input.peer)
            case "on":
                await memory.set_consent(turn_input.peer, is_given=True)
                return (
                    "From now on I remember what several of our conversations have in common, those"
                    " that I still have among them. /learn shows it, /learn off removes it."
                )
            case "off":
                await memory.set_consent(turn_input.peer, is_given=False)
                return "I no longer do that, and what I had learned that way is removed."
            case number:
                return await _provenance(memory, turn_input.peer, number)


async def _status(memory: OwnedMemory, peer: str) -> str:
    consent = await memory.consent(peer)
    if consent.since is None:
        return f"I do not compare our conversations with each other. {LEARN_USAGE}"
    patterns = await _patterns(memory, peer)
    allowed = f"You have allowed it since {consent.since:%Y-%m-%d}."
    if not patterns:
        return f"{allowed} I have found nothing in common yet. {LEARN_USAGE}"
    return "\n".join([f"{allowed} What I have found:", *map(_line, patterns), LEARN_USAGE])


async def _provenance(memory: OwnedMemory, peer: str, number: str) -> str:
    pattern = find_by_number(await _patterns(memory, peer), number)
    if pattern is None:
        return f"There is nothing with the number {number[:NUMBER_CHARS]!r}. {LEARN_USAGE}"
    episodes = await memory.peek(pattern.sources)
    lines = [f"- {single_line(one.content, SHOWN_CHARS)}" for one in episodes]
    return "\n".join([_line(pattern), "It was seen in these conversations:", *lines])


async def _patterns(memory: OwnedMemory, peer: str) -> list[MemoryEntry]:
    which = MemoryFilter(subject=peer, category=Category.PATTERN)
    page = await memory.list(which, limit=LISTED)
    # A tool may store a memory of this category, too; only the learner's have sources.
    return [one for one in page.entries if one.origin is Origin.PATTERN]


def _line(pattern: MemoryEntry) -> str:
    """`of`, `first` and `last` are what the learner wrote (learning/pattern_rules.py)."""
    known = pattern.metadata
    seen = f"in {known.get('conversations')} of {known.get('of')} conversations"
    return f"{numbered_line(pattern)} ({seen}, {known.get('first')} to {known.get('last')})"
