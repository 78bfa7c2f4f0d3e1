"""What is new in a message: without what it quotes and what it repeats of memories. Pure.

Otherwise a recalled memory would come back as an episode, be recalled again, and grow for ever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.memory.learning.topic import topic_of
from spade_llm.providers.quoted import DOCUMENTS, FIRST_LINE, MEMORIES, UNAVAILABLE
from spade_llm.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.store import ObservedMessage

REPEATED = 0.8
"""A sentence with so much of its words in what was recalled says nothing new."""

_NOTHING: frozenset[int] = frozenset()
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
"""As chat clients and mail quote what they answer."""


Topics = Mapping[str, frozenset[int]]
"""What memories are about, by id."""


def fresh_messages(
    messages: Sequence[ObservedMessage], recalled: Mapping[str, str]
) -> tuple[ObservedMessage, ...]:
    """With their own words only. `recalled`: content by id of what they were written with."""
    topics = topics_of(recalled)
    return tuple(replace(one, content=fresh_text(one, topics)) for one in messages)


def topics_of(recalled: Mapping[str, str]) -> Topics:
    """Once for all messages: the same memory is recalled again and again."""
    return {id: topic_of(text) for id, text in recalled.items()}


def fresh_text(message: ObservedMessage, recalled: Topics) -> str:
    """The message's own words; may be empty. Only an assistant repeats what it recalled: what a
    person says is said by them.

    `recalled`: of these, the memories that the message was written with are looked at.
    """
    text = without_quotes(message.content)
    if message.role == "user" or not message.recalled:
        return text
    known = _NOTHING.union(*(recalled.get(id, _NOTHING) for id in message.recalled))
    return "\n".join(one for one in sentences(text) if not _repeats(one, known)) if known else text


def without_quotes(text: str) -> str:
    """Without quoted lines, and without the context that a prompt carries."""
    if FIRST_LINE in text:
        text = text.replace(FIRST_LINE, "")
        for name in (MEMORIES, DOCUMENTS, UNAVAILABLE):
            text = _without_section(text, name)
    return _QUOTED_LINE.sub("", text).strip()


def _without_section(text: str, name: str) -> str:
    """By searching, not by a pattern: one that backtracks takes seconds for sections left open."""
    kept: list[str] = []
    while True:
        before, opened, rest = text.partition(f"<{name}>")
        _, closed, after = rest.partition(f"</{name}>")
        if not (opened and closed):
            return "".join([*kept, text])
        kept.append(before)
        text = after


def _repeats(sentence: str, known: frozenset[int]) -> bool:
    words = topic_of(sentence)
    return bool(words) and len(words & known) >= REPEATED * len(words)
