"""One salient sentence at three lengths: whole, what is around its items, its items alone. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context.salient import salient_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.salient import Sentence
    from spade_llm.providers.messages import ContextMessage

MAX_WHOLE_CHARS = 240
"""A longer sentence is told by what is around its items."""
WORDS_BEFORE, WORDS_BEHIND = 3, 2
GAP = " … "
MAX_RESULT_CHARS = 2000
"""Of a tool's result only the beginning is gone through."""
MAX_RESULT_POINTS = 6
LINE_TOKENS = 6
"""Of the speaker, the dash and the line's end."""

_DENSE = re.compile(r"[^A-Za-zÀ-ɏ\s]")
"""Each of these is most of a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a summary says of one sentence."""

    speaker: str
    """`user`, `assistant` or `tool`."""
    question: str
    """The whole sentence if it asks something; else empty."""
    forms: tuple[str, str, str]
    """From the longest to the shortest; each has every item. Empty where there is none."""
    items: tuple[str, ...]

    def cost(self, form: int) -> int:
        """Tokens of its line, estimated."""
        return LINE_TOKENS + tokens_in(self.forms[form])

    def line(self, form: int) -> str:
        return f"- {self.speaker}: {self.forms[form]}"


def tokens_in(text: str) -> int:
    """On the large side, and quicker than to count them."""
    return int(len(text) / 4 + 0.7 * len(_DENSE.findall(text)) + 0.35 * text.count(" ")) + 1


def points_of(message: ContextMessage) -> list[Point]:
    """Of people and assistants everything, of a tool's result the first."""
    text = message["content"] or ""
    speaker = message["role"]
    if speaker == "tool":
        found = salient_sentences(text[:MAX_RESULT_CHARS], speaks_of_self=False)
        return [_point(speaker, one) for one in found[:MAX_RESULT_POINTS]]
    found = salient_sentences(text, speaks_of_self=speaker == "user")
    return [_point(speaker, one) for one in found]


def _point(speaker: str, sentence: Sentence) -> Point:
    whole = " ".join(sentence.words)
    return Point(
        speaker=speaker,
        question=whole if sentence.is_question else "",
        forms=_forms(whole, sentence) if sentence.marked else ("", "", ""),
        items=sentence.items,
    )


def _forms(whole: str, sentence: Sentence) -> tuple[str, str, str]:
    near = min(GAP.join(_runs(sentence)), whole, key=len)
    bare = min(", ".join(sentence.items), near, key=len)
    return (whole if len(whole) <= MAX_WHOLE_CHARS else near), near, bare


def _runs(sentence: Sentence) -> Iterator[str]:
    """The items with some words around them."""
    start = stop = 0
    for index in sentence.marked:
        if index - WORDS_BEFORE > stop:
            yield from _words(sentence, start, stop)
            start = index - WORDS_BEFORE
        stop = index + WORDS_BEHIND + 1
    yield from _words(sentence, start, stop)


def _words(sentence: Sentence, start: int, stop: int) -> Iterator[str]:
    if stop > start:
        yield " ".join(sentence.words[start:stop])
