"""Cache of history notes: finds the notes of a history that has grown, evicts the oldest."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context.notes import HistoryNotes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.notes import Block
    from spade_llm.providers.model import ContextMessage

MAX_NOTED_BYTES = 128_000_000
"""Maximum size of the notes of all histories in bytes, estimated: some 37 000 short messages. Notes
of the least recently used history are evicted, and made again if it continues."""
MAX_NOTES_PER_HISTORY = 12_000
"""Messages; then the notes are made again, of what the history holds by then. Of a history that is
long itself they may hold twice as much: else they would be made again in each turn."""
MIN_MATCHING_MESSAGES = 16
"""Messages of a history without its beginning by which it is known for the same: a program may put
one message into the histories of several people."""
MAX_SEARCHED_MESSAGES = 64
"""Maximum number of messages, counted from the end, to search for the last noted one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedHistory:
    """A history's notes, and where in it they are."""

    notes: HistoryNotes
    offset: int
    """Offset from the index among the noted messages to the index in the history; negative if the
    history has lost its beginning."""
    first: int
    """Index of the first message after the leading system messages."""

    def locate(self, block: Block) -> range | None:
        """Return the indexes of the block in the history; None if it is no longer there."""
        start = block.indexes.start + self.offset
        return range(start, block.indexes.stop + self.offset) if start >= self.first else None


class HistoryNotesCache:
    """Cache of notes, keyed by the last noted message; messages of a running turn are never
    noted."""

    def __init__(self, *, max_bytes: int = MAX_NOTED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._by_last: OrderedDict[int, HistoryNotes] = OrderedDict()
        """Keys are ids of messages that the notes hold, so that no other object can get the same
        id."""

    def notes_of(self, messages: list[ContextMessage], first: int, question: int) -> NotedHistory:
        """Return the notes of `messages[first:question]`. The cost is proportional to the new
        messages since the last call."""
        for noted in self.note_in_steps(messages, first, question, question + 1):
            return noted
        return NotedHistory(notes=HistoryNotes(), offset=first, first=first)

    def note_in_steps(
        self, messages: list[ContextMessage], first: int, question: int, size: int
    ) -> Iterator[NotedHistory]:
        """Read on by `size` messages or a little more at a time; the last step has all of it."""
        if question <= first:
            return
        notes, known = self._find(messages, first, question)
        offset = known - len(notes.messages)
        if known == question:
            yield self._keep(notes, offset, first)
        while known < question:
            stop = _whole_blocks(messages, min(known + size, question), question)
            # The key is the last noted message, which changes now.
            self._forget(notes)
            notes.extend(messages[known:stop])
            known = stop
            yield self._keep(notes, offset, first)

    def _find(
        self, messages: list[ContextMessage], first: int, question: int
    ) -> tuple[HistoryNotes, int]:
        """The notes, and up to where in the history they reach."""
        for index in range(question - 1, max(first, question - MAX_SEARCHED_MESSAGES) - 1, -1):
            notes = self._by_last.get(id(messages[index]))
            if notes is not None and _is_end(notes, messages, first, index + 1):
                return notes, index + 1
        return HistoryNotes(), first

    def _forget(self, notes: HistoryNotes) -> None:
        if notes.messages:
            self._by_last.pop(id(notes.messages[-1]), None)

    def _keep(self, notes: HistoryNotes, offset: int, first: int) -> NotedHistory:
        self._by_last[id(notes.messages[-1])] = notes
        self._by_last.move_to_end(id(notes.messages[-1]))
        total = sum(one.bytes for one in self._by_last.values())
        while total > self._max_bytes and len(self._by_last) > 1:
            total -= self._by_last.popitem(last=False)[1].bytes
        return NotedHistory(notes=notes, offset=offset, first=first)


def _is_end(notes: HistoryNotes, messages: list[ContextMessage], first: int, stop: int) -> bool:
    """Check whether the notes end with exactly these messages. Identical objects compare fast."""
    length, noted = stop - first, len(notes.messages)
    if (
        not min(noted, MIN_MATCHING_MESSAGES)
        <= length
        <= noted
        <= max(MAX_NOTES_PER_HISTORY, 2 * length)
    ):
        return False
    return notes.messages[len(notes.messages) - length :] == messages[first:stop]


def _whole_blocks(messages: list[ContextMessage], stop: int, end: int) -> int:
    """No exchange is cut in two."""
    while stop < end and messages[stop]["role"] == "tool":
        stop += 1
    return stop
