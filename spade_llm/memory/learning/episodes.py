"""Episode segmentation: cuts a conversation at pauses and topic shifts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from spade_llm.core.text import single_line
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.learning.learning_contract import EpisodeDraft, MessageRange
from spade_llm.memory.learning.novelty import strip_quotes, topic_overlap, topic_stems
from spade_llm.memory.summary import extractive_summary
from spade_llm.search.language import split_sentences
from spade_llm.search.memory_query import MemoryType, Origin

MAX_SUMMARY_CHARS = 1000
"""About what an embedder reads of a text."""
MAX_NAME_CHARS = 60

EPISODE_DATES = re.compile(
    r"(\d{4}-\d\d-\d\d), \d\d:\d\d(?:–\d\d:\d\d| – \d{4}-\d\d-\d\d, \d\d:\d\d)?: "
)
"""Beginning of the text of an episode; its group is the first day."""

_SENTENCE_MARK = re.compile(r":|[.!?…؟۔।॥։።]+(?=\s|$)|[。！？｡．]")

SpokenText = tuple["ObservedMessage", str]
"""A message, and what is new of its text."""

SOFT_GAP = timedelta(minutes=30)
"""Ends an episode where the talk turns to something else, or has been long; and lets the last
episode of a conversation rest."""
HARD_GAP = timedelta(hours=3)
"""Ends an episode."""

MAX_RANGE_MESSAGES = 400
"""Maximum number of messages in a range. A full range may continue, whatever its dates say."""
MAX_MESSAGES = 40
MAX_CHARS = 16_000
"""Maximum length of an episode in characters, unless a single message is longer."""
LONG_EPISODE_MESSAGES = 20
"""Messages after which a soft gap alone ends an episode."""
MIN_MESSAGES = 6
"""Minimum number of messages before a topic shift without a pause ends an episode."""

WINDOW = 4
"""Messages on each side of a possible cut that are compared."""
LOOKAHEAD = WINDOW + 2
"""Messages beyond a possible cut that must be there before it is decided."""
SOFT_SHIFT, SOFT_WORDS = 0.25, 3
"""Thresholds of a topic shift at a soft gap: a topic overlap below the first value, if each side
has at least so many words."""
HARD_SHIFT, HARD_WORDS = 0.05, 10
"""The same without a pause."""


def episode_draft(
    message_range: MessageRange, messages: Sequence[ObservedMessage], *, content: str
) -> MemoryDraft:
    return MemoryDraft(
        content=content,
        type=MemoryType.EPISODIC,
        origin=Origin.EPISODE,
        subject=message_range.subject,
        session=message_range.conversation,
        valid_at=min(message.at for message in messages),
        metadata={"messages": len(messages)},
    )


def episode_content(messages: Sequence[ObservedMessage]) -> str:
    """Format an episode: `2026-03-01, 14:05–14:32: …`, then the sentences of each person; if they
    are too long, the most important ones. What an assistant said is not part of it: it is found in
    the episode's messages."""
    said = [(one, strip_quotes(one.content)) for one in messages if one.role == "user"]
    spoken = said or [(one, "") for one in messages]
    lines = list(_summary_lines(spoken))
    text = "\n".join(lines)
    if len(text) > MAX_SUMMARY_CHARS:
        text = extractive_summary(lines, MAX_SUMMARY_CHARS)
    names = dict.fromkeys(speaker_name(message) for message, _ in spoken)
    # The names alone, for an episode without sentences of its persons.
    told = _by_speaker(text.splitlines(), names) or f"{', '.join(names)}: …"
    return f"{_dates(messages)}: {told}"


def speaker_name(message: ObservedMessage) -> str:
    """Name of the speaker as others see it, else the role; without sentence ends and colons."""
    return (
        single_line(_SENTENCE_MARK.sub(" ", message.speaker or ""), MAX_NAME_CHARS) or message.role
    )


def cut_episodes(message_range: MessageRange, *, now: datetime) -> list[EpisodeDraft]:
    """Complete episodes in order; together they are the beginning of the range."""
    points = cut_points(message_range.messages, now=now, is_closed=message_range.is_closed)
    return [
        _build_episode(message_range, message_range.messages[start:end]) for start, end in points
    ]


def cut_points(
    messages: Sequence[ObservedMessage], *, now: datetime, is_closed: bool = False
) -> list[tuple[int, int]]:
    """Begin and end (exclusive) of each complete episode; what follows the last is still open.

    `is_closed`: nothing will follow, however short ago the last was said.
    """
    segmenter = _TopicSegmenter(messages=messages, is_closed=is_closed or _is_idle(messages, now))
    pieces: list[tuple[int, int]] = []
    start = 0
    while start < len(messages) and (end := _episode_end(segmenter, start)) is not None:
        pieces.append((start, end))
        start = end
    return pieces


def _dates(messages: Sequence[ObservedMessage]) -> str:
    """Format the dates of an episode, in UTC."""
    first = min(message.at for message in messages)
    last = max(message.at for message in messages)
    begin = f"{first:%Y-%m-%d, %H:%M}"
    if first.date() != last.date():
        return f"{begin} – {last:%Y-%m-%d, %H:%M}"
    return begin if f"{first:%H:%M}" == f"{last:%H:%M}" else f"{begin}–{last:%H:%M}"


def _summary_lines(spoken: Iterable[SpokenText]) -> Iterable[str]:
    """Single sentences, each with its speaker: a selection still names the speakers."""
    for message, text in spoken:
        for sentence in split_sentences(text):
            yield f"{speaker_name(message)}: {' '.join(sentence.split())}"


def _by_speaker(lines: Iterable[str], names: Container[str]) -> str:
    """Each speaker's sentences in a row on one line, behind the name once."""
    turns: list[tuple[str, list[str]]] = []
    for line in lines:
        name, _, text = line.partition(": ")
        if name not in names:
            name, text = turns[-1][0] if turns else "", line
        if turns and turns[-1][0] == name:
            said = turns[-1][1]
            # Full stops are often left out at the end of a message.
            said[-1] += "." if said[-1][-1:].isalnum() else ""
            said.append(text)
        else:
            turns.append((name, [text]))
    return "\n".join(f"{name}: {' '.join(texts)}" for name, texts in turns)


def _is_idle(messages: Sequence[ObservedMessage], now: datetime) -> bool:
    """Check whether the conversation has rested for a soft gap."""
    if not messages or len(messages) >= MAX_RANGE_MESSAGES:
        return False
    # abs(): a date far ahead is a clock that goes wrong, and must not keep an episode open for
    # years.
    return abs(now - messages[-1].at) >= SOFT_GAP


@dataclass(frozen=True, kw_only=True)
class _TopicSegmenter:
    messages: Sequence[ObservedMessage]
    is_closed: bool
    """Nothing will follow the last message, as far as the episodes go."""

    @cached_property
    def topics(self) -> list[frozenset[int]]:
        return [topic_stems(message.content) for message in self.messages]

    @cached_property
    def gaps(self) -> list[timedelta]:
        """Time between each message and the previous one; 0 for the first."""
        times = [message.at for message in self.messages]
        return [timedelta()] + [
            later - earlier for earlier, later in zip(times, times[1:], strict=False)
        ]

    @cached_property
    def next_pause(self) -> list[int]:
        """Index of the next message that follows a hard gap, for each message; else the number of
        messages."""
        following = len(self.messages)
        found = [following] * following
        for number in reversed(range(following)):
            found[number] = following
            if self.gaps[number] >= HARD_GAP:
                following = number
        return found

    def is_decidable(self, cut: int) -> bool:
        """Check that later messages cannot change the decision about this cut."""
        count = len(self.messages)
        return self.is_closed or cut + LOOKAHEAD <= count or self.next_pause[cut] < count

    def is_shift(self, start: int, cut: int, *, below: float, words: int) -> bool:
        before, after = self._sides(start, cut)
        has_enough = min(len(before), len(after)) >= words
        return has_enough and topic_overlap(before, after) < below

    def cohesion(self, start: int, cut: int) -> float:
        return topic_overlap(*self._sides(start, cut))

    def _sides(self, start: int, cut: int) -> tuple[frozenset[int], frozenset[int]]:
        first = max(start, cut - WINDOW)
        last = min(cut + WINDOW, self.next_pause[cut]) if cut < len(self.messages) else cut
        names = self._names(first, last)
        before = frozenset().union(*self.topics[first:cut])
        after = frozenset().union(*self.topics[cut:last])
        return before - names, after - names

    def _names(self, first: int, last: int) -> frozenset[int]:
        """People call each other by name whatever they talk about."""
        speakers = {one.speaker for one in self.messages[first:last] if one.speaker}
        return frozenset().union(*map(topic_stems, speakers))


def _episode_end(segmenter: _TopicSegmenter, start: int) -> int | None:
    """Find the end (exclusive) of the episode that begins at `start`; None: not decided yet."""
    longest = _max_episode_end(segmenter.messages, start)
    for cut in range(start + 1, longest):
        if segmenter.gaps[cut] >= HARD_GAP:
            return cut
        if not segmenter.is_decidable(cut):
            return None
        if _ends_at_soft_gap(segmenter, start, cut) or _is_best_shift(segmenter, start, cut):
            return cut
    if longest < len(segmenter.messages):
        return (
            _least_cohesive_cut(segmenter, start, longest)
            if segmenter.is_decidable(longest)
            else None
        )
    return longest if segmenter.is_closed else None


def _max_episode_end(messages: Sequence[ObservedMessage], start: int) -> int:
    """The end of what may be one episode at the most; at least one message."""
    chars = 0
    for end in range(start, min(len(messages), start + MAX_MESSAGES)):
        chars += len(messages[end].content)
        if chars > MAX_CHARS and end > start:
            return end
    return min(len(messages), start + MAX_MESSAGES)


def _ends_at_soft_gap(segmenter: _TopicSegmenter, start: int, cut: int) -> bool:
    if segmenter.gaps[cut] < SOFT_GAP:
        return False
    return cut - start >= LONG_EPISODE_MESSAGES or segmenter.is_shift(
        start, cut, below=SOFT_SHIFT, words=SOFT_WORDS
    )


def _is_best_shift(segmenter: _TopicSegmenter, start: int, cut: int) -> bool:
    """The talk turns to something else here, and not better at one of the next two messages."""
    if cut - start < MIN_MESSAGES:
        return False
    if not segmenter.is_shift(start, cut, below=HARD_SHIFT, words=HARD_WORDS):
        return False
    here = segmenter.cohesion(start, cut)
    later = range(cut + 1, min(cut + 3, segmenter.next_pause[cut]))
    return all(here <= segmenter.cohesion(start, other) for other in later)


def _least_cohesive_cut(segmenter: _TopicSegmenter, start: int, longest: int) -> int:
    """Cut an episode that is too long in its second half: at a pause, or the least overlap."""
    if segmenter.gaps[longest] >= HARD_GAP:
        return longest
    cuts = range(start + (longest - start + 1) // 2, longest + 1)

    def rank(cut: int) -> tuple[bool, float, int]:
        return segmenter.gaps[cut] < SOFT_GAP, segmenter.cohesion(start, cut), -cut

    return min(cuts, key=rank)


def _build_episode(
    message_range: MessageRange, messages: Sequence[ObservedMessage]
) -> EpisodeDraft:
    return EpisodeDraft(
        draft=episode_draft(message_range, messages, content=episode_content(messages)),
        first_message=messages[0].id,
        last_message=messages[-1].id,
    )
