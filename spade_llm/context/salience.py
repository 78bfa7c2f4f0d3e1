"""Salience: sentences with names, numbers or dates, and their significant terms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.search.sentences import split_sentences
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
    """`speaks_of_self`: sentences with `my` or `I am` hold something, too (a person's do)."""
    found = (_salient_sentence(part, speaks_of_self) for part in split_sentences(text))
    return [one for one in found if one.item_indexes or one.is_question]


def is_question_sentence(sentence: str) -> bool:
    return sentence.rstrip(_BEHIND_QUESTION).endswith(("?", "？", "؟"))


def strip_punctuation(word: str) -> str:
    """Strip the punctuation around the word."""
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
        own = [i for i, word in enumerate(words) if _means_something(word)]
        marked.update(own[:MAX_OWN_WORDS])
    return SalientSentence(words, tuple(sorted(marked)), is_question_sentence(text))


@lru_cache(CACHED_WORDS)
def _is_item(word: str, is_first: bool) -> bool:
    bare = strip_punctuation(word)
    if not bare:
        return False
    if any(char.isdigit() or char in "@_/\\" for char in bare):
        return True
    if any(map(_has_no_case, bare)):
        return True
    folded = strip_accents(bare.casefold())
    if any(char.isupper() for char in bare):
        is_plain = bare[0].isupper() and not any(char.isupper() for char in bare[1:])
        return not (folded in _COMMON_BEGINNINGS and (is_plain or len(bare) == 1))
    return folded in _SAID_IN_LETTERS


def _has_no_case(char: str) -> bool:
    """A letter of a script in which names look like other words."""
    return char.isalpha() and not char.islower() and not char.isupper()


def _means_something(word: str) -> bool:
    bare = strip_accents(strip_punctuation(word).casefold())
    return bool(bare) and bare not in STOP_WORDS


@lru_cache(CACHED_TERMS)
def _word_term(word: str) -> int | None:
    """Return the stem hash, the smaller of English and Spanish; None for a stop word."""
    if strip_accents(word) in STOP_WORDS:
        return None
    return min(stem_hash(word, ENGLISH), stem_hash(word, SPANISH))
