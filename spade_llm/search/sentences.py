"""Sentence splitter for any language, with abbreviations of English, Spanish and German."""

from __future__ import annotations

import re

from spade_llm.search.terms import STOP_WORDS, strip_accents

_SENTENCE_END = re.compile(
    # Followed by a space: not in 3.14 or example.org. Only from the start of a run of marks: a
    # long one would be read anew from each of them.
    r"(?<![.!?…؟۔।॥։።])[.!?…؟۔।॥։።]+[\"'”’»)\]*_]*(?=\s|$)"
    r"|[。！？｡．]+[」』”’）)\]]*"  # written without spaces
    r"|\n+"
)
_LAST_WORD = re.compile(r"(?<![^\W_])(?:(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}|\w+)$")
"""`Mr`, `J`, `3`, or several in one: `a.m`, `U.S`, `Ph.D`."""
_NEXT_WORD = re.compile(r"[\"'”’»)\]*_]*\s+[\"'“‘«(\[¡¿*_]*(\w+\.?)")
LONGEST_ABBREVIATION = 16
LONGEST_NEXT_WORD = 40

_TITLES = """
mr mrs ms mx dr dra prof sr sra srta st sto sta messrs mme rev hon capt lt sgt col gen gob lic ing
arq excmo excma ilmo ilma dña vs e.g i.e p.ej ej cf vgl bzw z.b
"""
"""Titles and abbreviations that are always followed by something: a sentence never ends with them.
"""
_ALSO_WORDS = frozenset({"col", "ej", "gen", "gob", "hon", "ing", "rev", "sta"})
"""Titles that are also words: they are titles only before a capital letter."""
_ABBREVIATIONS = """
abb abs approx aprox av avda bd ca cía co corp ctra dcha dept depto dpto ed eds ee esp etc fig geb
ggf gov gral hnos hr hrs hrsg inc izda izq jr ltd ltda lt máx mín mio nr num núm pag pág págs ph phd
pp ref str tel ud uds univ usw uu vd vds vol
jan feb mar apr jun jul aug sep sept oct okt nov dec dez ene abr ago dic
"""
"""A sentence may end with these."""
_BEFORE_NUMBERS = "no art cap fig num núm nr nº p pag pág pp sec vol"
"""Most of these are words, too."""
_BEGINNINGS = """
also anyway however maybe now please thanks today yes hoy gracias vivo trabajo hablo estudio
prefiero odio suelo
"""
"""Words that, like stop words, begin a sentence if capitalized; other capitalized words may be
names."""

_BEFORE_A_NAME = frozenset(_TITLES.split())
_MAY_END_SENTENCE = frozenset(_ABBREVIATIONS.split())
_BEFORE_A_NUMBER = frozenset(_BEFORE_NUMBERS.split())
_SENTENCE_OPENERS = STOP_WORDS | frozenset(_BEGINNINGS.split())


def split_sentences(text: str) -> list[str]:
    """Its sentences in order, without the space around them; none if it is blank."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if match.group().rstrip("\"'”’»)]*_") != "." or is_sentence_end(text, match.start()):
            found.append(text[start : match.end()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def is_sentence_end(text: str, at: int) -> bool:
    """Check whether the full stop at this position (followed by a space) ends a sentence. The full
    stop of an abbreviation, an initial, an ordinal number (German: the 3. of May) or a list mark
    does not."""
    found = _LAST_WORD.search(text, max(0, at - LONGEST_ABBREVIATION), at)
    following = _NEXT_WORD.match(text, at + 1, at + 1 + LONGEST_NEXT_WORD)
    if found is None or following is None:
        return True
    word, following_word = found.group().casefold(), following.group(1)
    if word.isdecimal():
        before = text[max(0, found.start() - LONGEST_ABBREVIATION) : found.start()]
        is_mark = not before.rpartition("\n")[2].strip()
        is_part = len(word) > 2 or before.endswith(tuple(".,:/-"))
        return is_part or (not is_mark and _begins_sentence(following_word))
    if word in _BEFORE_A_NAME:
        return word in _ALSO_WORDS and not following_word[0].isupper()
    if word in _BEFORE_A_NUMBER and following_word[0].isdecimal():
        return False
    if word in ("a.m", "p.m"):
        return following_word[0].isupper() or following_word == "i"
    is_short = "." in word or (len(word) == 1 and word.isalpha() and found.group() != "I")
    return not (is_short or word in _MAY_END_SENTENCE) or _begins_sentence(following_word)


def _begins_sentence(word: str) -> bool:
    """`My` does; `Smith` and the initial in `J. A. Smith` do not."""
    if word == "i":
        return True
    is_initial = len(word) == 2 and word.endswith(".")
    bare = strip_accents(word.rstrip(".").casefold())
    return word[0].isupper() and not is_initial and bare in _SENTENCE_OPENERS
