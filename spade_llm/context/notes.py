"""History notes: incremental analysis of a conversation (topics, questions, points), and cache."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.context.retention import blocks_oldest_first
from spade_llm.context.salience import (
    MAX_TERM_CHARS,
    PointSequence,
    is_question_sentence,
    message_text,
    summary_points_of,
    text_terms,
)
from spade_llm.context.stable_prefix import MAX_KEPT_SELECTIONS
from spade_llm.core.limits import LruDict
from spade_llm.search.language import split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.context.salience import SummaryPoint
    from spade_llm.context.stable_prefix import PrefixLimits, PrefixWalk, StableSelection
    from spade_llm.providers.model import ContextMessage, UserMessage
    from spade_llm.search.vectors import QuantizedVectors

BYTES_OF_BLOCK, BYTES_OF_CHAR = 1500, 12
"""Measured: 4 KB for a block of 150 characters."""
BYTES_OF_HISTORY = 16_000
"""Of a history of which nothing is noted yet: mostly two selections with their summaries."""
MAX_TERM_BLOCKS = 64
"""Maximum number of blocks kept per term, the latest; a more frequent term says little."""
TOPIC_WINDOW_TURNS = 2
"""Number of turns compared on each side of a turn's beginning, to detect a topic shift."""
TOPIC_SHIFT_OVERLAP = 0.04
"""Share of common words, relative to the smaller side, below which the topic has shifted."""
MAX_REFERENCE_DISTANCES = 32
"""Maximum number of reference distances kept, the latest."""
RARE_BLOCKS = 3
"""Maximum number of blocks with a term that still tells what an answer refers to."""
MAX_OPEN = 200
"""Maximum number of open questions; beyond it the oldest is dropped."""

_POSTPONED = re.compile(
    r"\b(?:don'?t know|not sure|no idea|let me (?:check|see|look|think)|later|not yet|unknown|"
    r"i(?:'ll| will) (?:check|look|see|get back|tell you|let you know|find out)|try again|"
    r"no (?:lo )?s[eé]|ni idea|luego|m[aá]s tarde|todav[ií]a no|a[uú]n no|"
    r"lo (?:miro|consulto|averiguo)|d[eé]jame)\b",
    re.IGNORECASE,
)
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
class Block:
    """A message, or an exchange of tool calls."""

    indexes: range
    """Among the noted messages."""
    role: str
    """Role of its first message."""
    turn: int
    terms: frozenset[int]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    block: int
    speaker: str
    text: str
    terms: frozenset[int]
    is_postponed: bool = False
    """True if a reply came that did not answer it."""

    def postpone(self) -> OpenQuestion:
        return self if self.is_postponed else replace(self, is_postponed=True)

    def is_answered_by(self, terms: frozenset[int]) -> bool:
        return not self.is_postponed or len(self.terms & terms) * 2 >= max(len(self.terms), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """Summary that a model wrote of the first `blocks` blocks, with all that had to be in it."""

    blocks: int
    text: str


class HistoryNotes:
    """Notes of one history, extended at its end."""

    def __init__(self) -> None:
        self.messages: list[ContextMessage] = []
        """Followed messages: all of finished turns. Those before `noted` are noted."""
        self.noted = 0
        self.blocks: list[Block] = []
        self.bytes = BYTES_OF_HISTORY
        """Estimated size in RAM, including the messages."""
        self.counted_bytes = 0
        """Bytes that the cache has counted."""
        self.starts: list[int] = []
        """Indexes of the first message of each block."""
        self.turns = 0
        self.open_questions: list[OpenQuestion] = []
        self.blocks_by_term: defaultdict[int, list[int]] = defaultdict(list)
        """Latest blocks with each term."""
        self.block_counts: defaultdict[int, int] = defaultdict(int)
        """Number of all blocks with each term."""
        self.turn_starts: list[int] = []
        """Index of the first block of each turn."""
        self.last_topic_start = 0
        """Latest turn that opened a topic, among those with two later turns noted."""
        self.reference_distances: list[int] = []
        """Distances in turns of the latest answers that referred to an earlier turn."""
        self.points = (PointSequence(), PointSequence())
        """Summary points of people, and those of assistants and tools."""
        self.model_summary: ModelSummary | None = None
        self.summary_tried_until = 0
        """Number of leading blocks for which a model was asked for a summary."""
        self.vectors: QuantizedVectors | None = None
        self.embedded_blocks = 0
        """Number of leading blocks that have vectors."""
        self.question_vector: tuple[str, NDArray[np.float32]] | None = None
        self.walks: LruDict[PrefixLimits, PrefixWalk] = LruDict(MAX_KEPT_SELECTIONS)
        self.selections: LruDict[tuple[PrefixLimits, int], StableSelection] = LruDict(
            MAX_KEPT_SELECTIONS
        )
        """Selections by their limits and the index of the question for which they were made."""
        self.quotations: LruDict[tuple[PrefixLimits, int, int, str], UserMessage | None] = LruDict(
            1
        )
        """Quotation for the latest question, by limits, selection, place and text."""
        self._said: set[str] = set()
        self._last_turn_of: dict[int, int] = {}

    def note(self, stop: int) -> None:
        """Note the blocks that begin before message `stop` and are not noted yet."""
        for indexes in blocks_oldest_first(self.messages, self.noted):
            if indexes.start >= stop:
                return
            self._note(indexes)
            self.noted = indexes.stop

    def _note(self, indexes: range) -> None:
        messages = self.messages[indexes.start : indexes.stop]
        role, index = messages[0]["role"], len(self.blocks)
        if role == "user" or not self.blocks:
            # By now all turns that it is compared with are noted.
            if self.opens_topic(self.turns - TOPIC_WINDOW_TURNS):
                self.last_topic_start = self.turns - TOPIC_WINDOW_TURNS
            self.turn_starts.append(index)
            self.turns += 1
        text = " ".join(map(message_text, messages))
        self.bytes += BYTES_OF_BLOCK + BYTES_OF_CHAR * min(len(text), MAX_TERM_CHARS)
        terms = text_terms(text)
        # Before its own questions are added, which it does not answer.
        self._answer_questions(messages[0])
        # Before its terms are indexed, or it would refer to itself.
        self._record_reference_distance(messages, terms)
        points = [point for message in messages for point in summary_points_of(message)]
        self._open_questions(points, index)
        self._index(terms, index)
        for point in filter(self._is_new, points):
            self.points[point.speaker != "user"].add(index, point)
        self.starts.append(indexes.start)
        self.blocks.append(Block(indexes=indexes, role=role, turn=self.turns - 1, terms=terms))

    def terms_of_turns(self, start: int, stop: int) -> frozenset[int]:
        start, stop = max(start, 0), min(stop, self.turns)
        if start >= stop:
            return frozenset()
        first = self.turn_starts[start]
        last = self.turn_starts[stop] if stop < self.turns else len(self.blocks)
        return frozenset[int]().union(*(block.terms for block in self.blocks[first:last]))

    def opens_topic(self, turn: int) -> bool:
        """Check whether this turn and the next share almost no words with the two turns before."""
        before = self.terms_of_turns(turn - TOPIC_WINDOW_TURNS, turn)
        return is_topic_shift(before, self.terms_of_turns(turn, turn + TOPIC_WINDOW_TURNS))

    def _is_new(self, point: SummaryPoint) -> bool:
        """Check whether the point is new; a repeated sentence is not summarised twice."""
        key = f"{point.speaker}:{point.forms[0]}"
        if not point.forms[0] or key in self._said:
            return False
        self._said.add(key)
        return True

    def _answer_questions(self, message: ContextMessage) -> None:
        """Close the open questions that this message answers: all of the other side that were not
        postponed, and postponed ones with the same terms."""
        text, role = message["content"] or "", message["role"]
        if not text.strip() or role not in ("user", "assistant"):
            return
        is_statement = not _POSTPONED.search(text) and not all(
            map(is_question_sentence, split_sentences(text))
        )
        if not is_statement:
            self.open_questions = [
                one if one.speaker == role else one.postpone() for one in self.open_questions
            ]
            return
        terms = text_terms(text)
        self.open_questions = [
            one
            for one in self.open_questions
            if one.speaker == role or not one.is_answered_by(terms)
        ]

    def _open_questions(self, points: Sequence[SummaryPoint], index: int) -> None:
        self.open_questions += [
            OpenQuestion(index, point.speaker, point.question, text_terms(point.question))
            for point in points
            if point.question and point.speaker != "tool"
        ]
        del self.open_questions[:-MAX_OPEN]

    def _record_reference_distance(
        self, messages: Sequence[ContextMessage], terms: frozenset[int]
    ) -> None:
        """Record how far back an answer refers: to the last earlier turn with its rare words."""
        if len(messages) > 1 or messages[0]["role"] != "assistant":
            return
        here = self.turns - 1
        back = [
            here - self._last_turn_of[term]
            for term in terms
            if 0 < self.block_counts.get(term, 0) <= RARE_BLOCKS
        ]
        if any(back):
            self.reference_distances = [*self.reference_distances, max(back)][
                -MAX_REFERENCE_DISTANCES:
            ]

    def _index(self, terms: frozenset[int], index: int) -> None:
        for term in terms:
            places = self.blocks_by_term[term]
            places.append(index)
            self.block_counts[term] += 1
            # Cut at twice the bound, so that many additions share one deletion.
            if len(places) > 2 * MAX_TERM_BLOCKS:
                del places[:-MAX_TERM_BLOCKS]
            self._last_turn_of[term] = self.turns - 1


def is_topic_shift(before: frozenset[int], behind: frozenset[int]) -> bool:
    if not before or not behind:
        return False
    return len(before & behind) < TOPIC_SHIFT_OVERLAP * min(len(before), len(behind))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedHistory:
    """Notes of a history, with their position in it."""

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
    """Cache of notes by the last noted message; messages of a running turn are never noted."""

    def __init__(self, *, max_bytes: int = MAX_NOTED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._by_last: OrderedDict[int, HistoryNotes] = OrderedDict()
        """Keys are ids of messages that the notes hold: no other object can get the same id."""

    def follow(self, messages: list[ContextMessage], first: int, question: int) -> NotedHistory:
        """Return the notes that belong to `messages[first:question]`, with nothing more noted."""
        return self.extend(self.find(messages, first, question), messages, first, question)

    def extend(
        self,
        found: tuple[HistoryNotes, int],
        messages: list[ContextMessage],
        first: int,
        question: int,
    ) -> NotedHistory:
        """`follow` with what `find` has just returned."""
        notes, known = found
        offset = known - len(notes.messages)
        if known < question:
            # The key is the last followed message, which changes now.
            self._forget(notes)
            notes.messages.extend(messages[known:question])
        if notes.messages:
            self._keep(notes)
        return NotedHistory(notes=notes, offset=offset, first=first)

    def note_in_steps(self, noted: NotedHistory, stop: int, size: int) -> Iterator[None]:
        """Note the messages before index `stop` of the history, about `size` at a time."""
        notes = noted.notes
        while notes.noted < stop - noted.offset:
            notes.note(min(notes.noted + size, stop - noted.offset))
            # Unless they were discarded meanwhile.
            if self._by_last.get(id(notes.messages[-1])) is notes:
                self._keep(notes)
            yield

    def discard(self, messages: Sequence[ContextMessage]) -> None:
        """Drop the notes of the history with these messages."""
        for message in messages:
            notes = self._by_last.get(id(message))
            if notes is not None:
                self._forget(notes)

    def find(
        self, messages: list[ContextMessage], first: int, question: int
    ) -> tuple[HistoryNotes, int]:
        """Return the notes, and the index up to which they reach; new notes if there are none."""
        for index in range(question - 1, max(first, question - MAX_SEARCHED_MESSAGES) - 1, -1):
            notes = self._by_last.get(id(messages[index]))
            if notes is not None and _is_end(notes, messages, first, index + 1):
                return notes, index + 1
        return HistoryNotes(), first

    def _forget(self, notes: HistoryNotes) -> None:
        if notes.messages and self._by_last.get(id(notes.messages[-1])) is notes:
            del self._by_last[id(notes.messages[-1])]
            self._bytes -= notes.counted_bytes

    def _keep(self, notes: HistoryNotes) -> None:
        key = id(notes.messages[-1])
        known = self._by_last.get(key)
        if known is not None:
            # Possibly of another history that ends with the same message.
            self._bytes -= known.counted_bytes
        self._by_last[key] = notes
        self._by_last.move_to_end(key)
        notes.counted_bytes = notes.bytes
        self._bytes += notes.bytes
        while self._bytes > self._max_bytes and len(self._by_last) > 1:
            self._bytes -= self._by_last.popitem(last=False)[1].counted_bytes


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
