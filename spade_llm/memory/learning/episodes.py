"""A conversation cut into episodes: by pauses, and where it turns to something else. Pure.

What is cut once is cut for good: a decision looks at the messages from the episode's beginning to
a few beyond the cut, and waits until those are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from spade_llm.memory.learning.episode_text import episode_content, episode_draft
from spade_llm.memory.learning.fresh import fresh_text, topics_of
from spade_llm.memory.learning.topic import overlap, topic_of
from spade_llm.memory.store import Episode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from spade_llm.memory.learning.fresh import Topics
    from spade_llm.memory.store import ObservedMessage, Stretch

SOFT_GAP = timedelta(minutes=30)
"""Ends an episode where the talk turns to something else, or has been long; and lets the last
episode of a conversation rest."""
HARD_GAP = timedelta(hours=3)
"""Ends an episode."""

MAX_STRETCH = 400
"""Messages of one stretch; one with so many may go on, whatever its dates say."""
MAX_MESSAGES = 40
MAX_CHARS = 16_000
"""Of one episode, unless a single message is longer."""
LONG = 20
"""Messages after which a soft gap alone ends an episode."""
MIN_MESSAGES = 6
"""Before a turn of the talk without any pause ends an episode."""

WINDOW = 4
"""Messages on each side of a possible cut that are compared."""
LOOK = WINDOW + 2
"""Messages beyond a possible cut that must be there before it is decided."""
SOFT_SHIFT, SOFT_WORDS = 0.25, 3
"""After a soft gap: sharing less than this, with so many words on each side, is another topic."""
HARD_SHIFT, HARD_WORDS = 0.05, 10
"""The same without a pause."""


def cut_episodes(
    stretch: Stretch, *, now: datetime, recalled: Mapping[str, str] | None = None
) -> list[Episode]:
    """The episodes that are complete, in order; together they are the stretch's beginning.

    `recalled`: content by id of the memories that messages were written with.
    """
    points = cut_points(stretch.messages, now=now, is_over=stretch.is_over)
    return build_episodes(stretch, points, recalled or {})


def build_episodes(
    stretch: Stretch, points: Sequence[tuple[int, int]], recalled: Mapping[str, str]
) -> list[Episode]:
    """The episodes between the `points` that `cut_points` found."""
    topics = topics_of(recalled)
    return [_episode(stretch, stretch.messages[start:end], topics) for start, end in points]


def cut_points(
    messages: Sequence[ObservedMessage], *, now: datetime, is_over: bool = False
) -> list[tuple[int, int]]:
    """Begin and end (exclusive) of each complete episode; what follows the last is still open.

    `is_over`: nothing will follow, however short ago the last was said.
    """
    talk = _Talk(messages=messages, is_closed=is_over or _has_rested(messages, now))
    pieces: list[tuple[int, int]] = []
    start = 0
    while start < len(messages) and (end := _end(talk, start)) is not None:
        pieces.append((start, end))
        start = end
    return pieces


def _has_rested(messages: Sequence[ObservedMessage], now: datetime) -> bool:
    """A date far ahead is a clock that goes wrong: it must not keep an episode open for years."""
    if not messages or len(messages) >= MAX_STRETCH:
        return False
    return abs(now - messages[-1].at) >= SOFT_GAP


@dataclass(frozen=True, kw_only=True)
class _Talk:
    messages: Sequence[ObservedMessage]
    is_closed: bool
    """Nothing will follow the last message, as far as the episodes go."""

    @cached_property
    def topics(self) -> list[frozenset[int]]:
        return [topic_of(message.content) for message in self.messages]

    @cached_property
    def gaps(self) -> list[timedelta]:
        """Before each message; 0 before the first."""
        times = [message.at for message in self.messages]
        return [timedelta()] + [
            later - earlier for earlier, later in zip(times, times[1:], strict=False)
        ]

    @cached_property
    def next_pause(self) -> list[int]:
        """For each message the first one behind it that follows a hard gap; else the end."""
        following = len(self.messages)
        found = [following] * following
        for number in reversed(range(following)):
            found[number] = following
            if self.gaps[number] >= HARD_GAP:
                following = number
        return found

    def is_decidable(self, cut: int) -> bool:
        """Whether later messages could not change what is decided about this cut."""
        count = len(self.messages)
        return self.is_closed or cut + LOOK <= count or self.next_pause[cut] < count

    def is_shift(self, start: int, cut: int, *, below: float, words: int) -> bool:
        before, after = self._sides(start, cut)
        has_enough = min(len(before), len(after)) >= words
        return has_enough and overlap(before, after) < below

    def cohesion(self, start: int, cut: int) -> float:
        return overlap(*self._sides(start, cut))

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
        return frozenset().union(*map(topic_of, speakers))


def _end(talk: _Talk, start: int) -> int | None:
    """Where the episode that begins at `start` ends (exclusive); None: not decided yet."""
    longest = _longest(talk.messages, start)
    for cut in range(start + 1, longest):
        if talk.gaps[cut] >= HARD_GAP:
            return cut
        if not talk.is_decidable(cut):
            return None
        if _ends_softly(talk, start, cut) or _turns(talk, start, cut):
            return cut
    if longest < len(talk.messages):
        return _weakest(talk, start, longest) if talk.is_decidable(longest) else None
    return longest if talk.is_closed else None


def _longest(messages: Sequence[ObservedMessage], start: int) -> int:
    """The end of what may be one episode at the most; at least one message."""
    chars = 0
    for end in range(start, min(len(messages), start + MAX_MESSAGES)):
        chars += len(messages[end].content)
        if chars > MAX_CHARS and end > start:
            return end
    return min(len(messages), start + MAX_MESSAGES)


def _ends_softly(talk: _Talk, start: int, cut: int) -> bool:
    if talk.gaps[cut] < SOFT_GAP:
        return False
    return cut - start >= LONG or talk.is_shift(start, cut, below=SOFT_SHIFT, words=SOFT_WORDS)


def _turns(talk: _Talk, start: int, cut: int) -> bool:
    """The talk turns to something else here, and not better at one of the next two messages."""
    if cut - start < MIN_MESSAGES:
        return False
    if not talk.is_shift(start, cut, below=HARD_SHIFT, words=HARD_WORDS):
        return False
    here = talk.cohesion(start, cut)
    later = range(cut + 1, min(cut + 3, talk.next_pause[cut]))
    return all(here <= talk.cohesion(start, other) for other in later)


def _weakest(talk: _Talk, start: int, longest: int) -> int:
    """Where too long a talk holds together least, in its second half: pauses first, then words."""
    if talk.gaps[longest] >= HARD_GAP:
        return longest
    cuts = range(start + (longest - start + 1) // 2, longest + 1)
    return min(cuts, key=lambda cut: (-_pause(talk, cut), talk.cohesion(start, cut), -cut))


def _pause(talk: _Talk, cut: int) -> bool:
    return talk.gaps[cut] >= SOFT_GAP


def _episode(stretch: Stretch, messages: Sequence[ObservedMessage], recalled: Topics) -> Episode:
    said = [(message, fresh_text(message, recalled)) for message in messages]
    return Episode(
        draft=episode_draft(stretch, messages, content=episode_content(said)),
        first_message=messages[0].id,
        last_message=messages[-1].id,
    )
