"""Salience: sentences with names, numbers or dates, their terms, and summary points of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.search.language import split_sentences
from spade_llm.search.terms import (
    ENGLISH,
    SPANISH,
    STOP_WORDS,
    split_words,
    stem_hash,
    strip_accents,
)

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage

_BEHIND_QUESTION = " .!\"'”’»)]*_"
_PUNCTUATION = "\"'“”‘’«»()[]{}<>,;:!?.…¿¡*`|~=。！？、，؟"
_SELF_REFERENCE = re.compile(
    r"\b(?:my|mine|i am|i'm|i’m|i live|i like|i love|i hate|i have|i need|i prefer|i work|call me|"
    r"our|we are|we have|remember|mi|mis|me llamo|soy|vivo|tengo|prefiero|trabajo|me gusta|odio|"
    r"necesito|recuerda|nuestr[oa]s?)\b",
    re.IGNORECASE,
)

_NUMBERS = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
million billion dozen half third quarter first second twice
dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis
diecisiete dieciocho diecinueve veinte veintiuno treinta cuarenta cincuenta sesenta setenta ochenta
noventa cien ciento cientos mil millon millones docena medio media tercio cuarto primero primera
segundo segunda
"""
_DATES = """
today tonight tomorrow yesterday noon midnight monday tuesday wednesday thursday friday saturday
sunday january february march april may june july august september october november december
weekend christmas easter
hoy manana ayer anoche mediodia medianoche lunes martes miercoles jueves viernes sabado domingo
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre navidad
"""
_BEGINNINGS = """
yes no ok okay please thanks thank hello hi hey sure well great good fine right maybe perhaps let
tell give show can could would also now next again sorry here there one another each every many more
most other such only even still yet after before when while because however although though instead
is are was do does did has have had it that this
si vale gracias hola claro bueno bien tal quiza quizas tambien ahora luego despues antes aunque
entonces ademas dime dame por favor puedes podrias cada otro otra muchos todas todos
"""
_SAID_IN_LETTERS = frozenset((_NUMBERS + _DATES).split())
_COMMON_BEGINNINGS = frozenset(_BEGINNINGS.split()) | STOP_WORDS
CACHED_WORDS = 20_000
MAX_OWN_WORDS = 12
"""Maximum number of marked words in a sentence about the speaker."""

MAX_TERM_CHARS = 8000
"""Maximum number of characters of a text that are searched for terms."""
CACHED_TERMS = 20_000
MAX_WHOLE_CHARS = 240
"""Maximum length of a sentence that is shown whole; of a longer one, its items and the words around
them."""
WORDS_BEFORE, WORDS_BEHIND = 3, 2
GAP = " … "
MAX_RESULT_CHARS = 2000
"""Maximum number of characters of a tool result that are searched for points."""
MAX_RESULT_POINTS = 6
LINE_TOKENS = 6
"""Tokens of the speaker, the dash and the line end."""
_DENSE = re.compile(r"[^A-Za-zÀ-ɏ\s]")
"""Each of these is most of a token."""
FULL_LENGTH, CONTEXT_LENGTH, ITEMS_LENGTH = range(3)


@dataclass(frozen=True, slots=True)
class SalientSentence:
    """Sentence with at least one item, or a question."""

    words: tuple[str, ...]
    item_indexes: tuple[int, ...]
    """Indexes of the words that must not be lost."""
    is_question: bool

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(strip_punctuation(self.words[i]) for i in self.item_indexes))


def salient_sentences(text: str, *, speaks_of_self: bool) -> list[SalientSentence]:
    """Extract the salient sentences. `speaks_of_self`: sentences with `my` or `I am` count too, as
    in messages of people."""
    found = (_salient_sentence(part, speaks_of_self) for part in split_sentences(text))
    return [one for one in found if one.item_indexes or one.is_question]


def is_question_sentence(sentence: str) -> bool:
    return sentence.rstrip(_BEHIND_QUESTION).endswith(("?", "？", "؟"))


def strip_punctuation(word: str) -> str:
    return word.strip(_PUNCTUATION)


def text_terms(text: str) -> frozenset[int]:
    return frozenset(
        term
        for word in set(split_words(text[:MAX_TERM_CHARS]))
        if (term := _word_term(word)) is not None
    )


def message_text(message: ContextMessage) -> str:
    """Return the content, with the names and arguments of tool calls."""
    content = message["content"] or ""
    calls = message.get("tool_calls") if message["role"] == "assistant" else None
    if not calls:
        return content
    functions = [call["function"] for call in calls]
    return " ".join([content, *(f"{one['name']} {one['arguments']}" for one in functions)])


def _salient_sentence(text: str, speaks_of_self: bool) -> SalientSentence:
    words = tuple(text.split())
    marked = {i for i, word in enumerate(words) if _is_item(word, is_first=i == 0)}
    if speaks_of_self and _SELF_REFERENCE.search(text):
        bare = [strip_accents(strip_punctuation(word).casefold()) for word in words]
        own = [i for i, word in enumerate(bare) if word and word not in STOP_WORDS]
        marked.update(own[:MAX_OWN_WORDS])
    return SalientSentence(words, tuple(sorted(marked)), is_question_sentence(text))


@lru_cache(CACHED_WORDS)
def _is_item(word: str, is_first: bool) -> bool:
    bare = strip_punctuation(word)
    if not bare:
        return False
    if any(char.isdigit() or char in "@_/\\" for char in bare):
        return True
    # Letters without case are of scripts in which names look like other words.
    if any(char.isalpha() and not char.islower() and not char.isupper() for char in bare):
        return True
    folded = strip_accents(bare.casefold())
    if any(char.isupper() for char in bare):
        is_plain = bare[0].isupper() and not any(char.isupper() for char in bare[1:])
        return not (folded in _COMMON_BEGINNINGS and (is_plain or len(bare) == 1))
    return folded in _SAID_IN_LETTERS


@lru_cache(CACHED_TERMS)
def _word_term(word: str) -> int | None:
    """Return the stem hash, the smaller of English and Spanish; None for a stop word."""
    if strip_accents(word) in STOP_WORDS:
        return None
    return min(stem_hash(word, ENGLISH), stem_hash(word, SPANISH))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPoint:
    """Summary point: one sentence at three lengths."""

    speaker: str
    """`user`, `assistant` or `tool`."""
    question: str
    """The whole sentence if it asks something; else empty."""
    forms: tuple[str, str, str]
    """Texts from the longest to the shortest, each with every item; empty strings if there is none.
    """
    items: tuple[str, ...]

    def cost(self, form: int) -> int:
        """Tokens of its line, estimated."""
        return LINE_TOKENS + upper_token_estimate(self.forms[form])

    def line(self, form: int) -> str:
        return f"- {self.speaker}: {self.forms[form]}"


def upper_token_estimate(text: str) -> int:
    """Estimate the tokens, rather too high; faster than a token counter."""
    return int(len(text) / 4 + 0.7 * len(_DENSE.findall(text)) + 0.35 * text.count(" ")) + 1


def summary_points_of(message: ContextMessage) -> list[SummaryPoint]:
    """Points of the message: all of a person or assistant, the first of a tool result."""
    text = message["content"] or ""
    speaker = message["role"]
    if speaker == "tool":
        found = salient_sentences(text[:MAX_RESULT_CHARS], speaks_of_self=False)
        return [_point(speaker, one) for one in found[:MAX_RESULT_POINTS]]
    found = salient_sentences(text, speaks_of_self=speaker == "user")
    return [_point(speaker, one) for one in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLengths:
    """Lengths at which a range of points is shown: the items only from `items_from`, with the words
    around them from `context_from`, in full from `full_from`. Points before are omitted."""

    items_from: int
    context_from: int
    full_from: int
    stop: int
    tokens: int


class PointSequence:
    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._points: list[SummaryPoint] = []
        # Prefix sums: tokens of the bare items, then what each longer form adds.
        self._bare = [0]
        self._to_near = [0]
        self._to_whole = [0]

    def add(self, block: int, point: SummaryPoint) -> None:
        whole, near, bare = map(point.cost, (FULL_LENGTH, CONTEXT_LENGTH, ITEMS_LENGTH))
        self._blocks.append(block)
        self._points.append(point)
        self._bare.append(self._bare[-1] + bare)
        self._to_near.append(self._to_near[-1] + near - bare)
        self._to_whole.append(self._to_whole[-1] + whole - near)

    def count_before(self, block: int) -> int:
        """Return the number of points from earlier blocks."""
        return bisect_left(self._blocks, block)

    def bare_tokens(self, start: int, stop: int) -> int:
        return self._bare[stop] - self._bare[start]

    def whole_tokens(self, start: int, stop: int) -> int:
        return sum(sums[stop] - sums[start] for sums in (self._bare, self._to_near, self._to_whole))

    def lengths(self, start: int, stop: int, tokens: int) -> PointLengths:
        """Choose the lengths: as many points as possible, then as much of each, newest first."""
        bare = _longest_prefix(self._bare, start, stop, tokens)
        left = tokens - self.bare_tokens(bare, stop)
        near = _longest_prefix(self._to_near, bare, stop, left)
        left -= self._to_near[stop] - self._to_near[near]
        whole = _longest_prefix(self._to_whole, near, stop, left)
        left -= self._to_whole[stop] - self._to_whole[whole]
        return PointLengths(
            items_from=bare, context_from=near, full_from=whole, stop=stop, tokens=tokens - left
        )

    def lines(self, lengths: PointLengths) -> Iterator[tuple[int, str]]:
        """Each with its block."""
        forms = (
            (ITEMS_LENGTH, lengths.items_from, lengths.context_from),
            (CONTEXT_LENGTH, lengths.context_from, lengths.full_from),
            (FULL_LENGTH, lengths.full_from, lengths.stop),
        )
        for form, start, stop in forms:
            for index in range(start, stop):
                yield self._blocks[index], self._points[index].line(form)

    def points(self, start: int, stop: int) -> list[SummaryPoint]:
        return self._points[start:stop]


def _point(speaker: str, sentence: SalientSentence) -> SummaryPoint:
    whole = " ".join(sentence.words)
    forms = "", "", ""
    if sentence.item_indexes:
        near = min(GAP.join(_item_runs(sentence)), whole, key=len)
        bare = min(", ".join(sentence.items), near, key=len)
        forms = (whole if len(whole) <= MAX_WHOLE_CHARS else near), near, bare
    return SummaryPoint(
        speaker=speaker,
        question=whole if sentence.is_question else "",
        forms=forms,
        items=sentence.items,
    )


def _item_runs(sentence: SalientSentence) -> Iterator[str]:
    """The items with some words around them."""
    start = stop = 0
    for index in sentence.item_indexes:
        if index - WORDS_BEFORE > stop:
            yield from _words(sentence, start, stop)
            start = index - WORDS_BEFORE
        stop = index + WORDS_BEHIND + 1
    yield from _words(sentence, start, stop)


def _words(sentence: SalientSentence, start: int, stop: int) -> Iterator[str]:
    if stop > start:
        yield " ".join(sentence.words[start:stop])


def _longest_prefix(sums: list[int], start: int, stop: int, tokens: int) -> int:
    """Return the first index from which the sum up to `stop` is at most `tokens`."""
    return bisect_left(sums, sums[stop] - max(tokens, 0), lo=start, hi=stop)
