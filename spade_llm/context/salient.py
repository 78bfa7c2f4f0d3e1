"""What of a text must not be lost when it is summarised: numbers, names, dates, what people say of
themselves, and questions. Pure; knows English and Spanish, and keeps more of other languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from spade_llm.text.sentences import sentences
from spade_llm.text.stop_words import STOP_WORDS
from spade_llm.text.words import without_accents

_BEHIND_QUESTION = " .!\"'”’»)]*_"
_AROUND = "\"'“”‘’«»()[]{}<>,;:!?.…¿¡*`|~=。！？、，؟"
_OF_ONESELF = re.compile(
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
"""Of a sentence in which somebody speaks of themselves."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One that holds something."""

    words: tuple[str, ...]
    marked: tuple[int, ...]
    """Which of the words must not be lost."""
    is_question: bool

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(bare_word(self.words[i]) for i in self.marked))


def salient_sentences(text: str, *, speaks_of_self: bool) -> list[Sentence]:
    """`speaks_of_self`: sentences with `my` or `I am` hold something, too (a person's do)."""
    found = (_sentence(part, speaks_of_self) for part in sentences(text))
    return [one for one in found if one.marked or one.is_question]


def is_question(sentence: str) -> bool:
    return sentence.rstrip(_BEHIND_QUESTION).endswith(("?", "？", "؟"))


def _sentence(text: str, speaks_of_self: bool) -> Sentence:
    words = tuple(text.split())
    marked = {i for i, word in enumerate(words) if _is_item(word, is_first=i == 0)}
    if speaks_of_self and _OF_ONESELF.search(text):
        own = [i for i, word in enumerate(words) if _means_something(word)]
        marked.update(own[:MAX_OWN_WORDS])
    return Sentence(words, tuple(sorted(marked)), is_question(text))


@lru_cache(CACHED_WORDS)
def _is_item(word: str, is_first: bool) -> bool:
    bare = bare_word(word)
    if not bare:
        return False
    if any(char.isdigit() or char in "@_/\\" for char in bare):
        return True
    if any(map(_has_no_case, bare)):
        return True
    folded = without_accents(bare.casefold())
    if any(char.isupper() for char in bare):
        is_plain = bare[0].isupper() and not any(char.isupper() for char in bare[1:])
        return not (folded in _COMMON_BEGINNINGS and (is_plain or len(bare) == 1))
    return folded in _SAID_IN_LETTERS


def _has_no_case(char: str) -> bool:
    """A letter of a script in which names look like other words."""
    return char.isalpha() and not char.islower() and not char.isupper()


def bare_word(word: str) -> str:
    """Without the punctuation around it."""
    return word.strip(_AROUND)


def _means_something(word: str) -> bool:
    bare = without_accents(bare_word(word).casefold())
    return bool(bare) and bare not in STOP_WORDS
