"""Sentences, language and key words of a text.

Sentences are split in any language, with abbreviations of English, Spanish and German; the language
is English or Spanish.
"""

from __future__ import annotations

import re
import unicodedata

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
        # "My shoe size is 6. Ana is coming": no ordinal number stands behind these.
        is_part = is_part or (following_word[0].isupper() and _counts(before))
        return is_part or (not is_mark and _begins_sentence(following_word))
    if word in _BEFORE_A_NAME:
        return word in _ALSO_WORDS and not following_word[0].isupper()
    if word in _BEFORE_A_NUMBER and following_word[0].isdecimal():
        return False
    if word in ("a.m", "p.m"):
        return following_word[0].isupper() or following_word == "i"
    is_short = "." in word or (len(word) == 1 and word.isalpha() and found.group() != "I")
    return not (is_short or word in _MAY_END_SENTENCE) or _begins_sentence(following_word)


def _counts(before: str) -> bool:
    """Check whether the word before a number shows that it is a size, an age or a count."""
    words = before.rpartition("\n")[2].casefold().replace("’", "'").split()
    return bool(words) and (words[-1] in _BEFORE_A_COUNT or words[-1].endswith(("'s", "'m")))


_BEFORE_A_COUNT = frozenset({
    "is", "are", "size", "at", "take", "has", "have", "to", "un", "una", "las", "el", "es", "tengo",
    "tiene", "calzo", "calza", "de",
})  # fmt: skip


def _begins_sentence(word: str) -> bool:
    """`My` does; `Smith` and the initial in `J. A. Smith` do not."""
    if word == "i":
        return True
    is_initial = len(word) == 2 and word.endswith(".")
    bare = strip_accents(word.rstrip(".").casefold())
    return word[0].isupper() and not is_initial and bare in _SENTENCE_OPENERS


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _word_set(
    "a an the and or but of in on at to for from with by is are was were be been am do does did "
    "have has had i you he she it we they me my mine your his her its our their this that these "
    "those what which who whom where when why how there here not no yes can could would should "
    "will shall may might must about tell know remember please some any all so if then than as "
    "hello hi thanks name"
)
_SPANISH = _word_set(
    "el la los las un una unos unas y o pero de del al en con por para sin sobre es son era fue "
    "ser estar esta estan hay yo tu usted ella nosotros ellos me mi mis te tus su sus se lo le "
    "les que cual cuales quien donde cuando como cuanto cuantos cuanta cuantas porque si ya "
    "muy mas este esto estos estas ese eso esa sabes dime puedes recuerdas recuerda favor soy "
    "hola gracias vivo llamo nombre"
)
_SPANISH_MARKS = _word_set(
    "he ha han hemos tengo tenemos trabajo gusta gustan tambien ahora todavia ayer hoy manana "
    "mucho nuestro nuestra no salgo llevo hago quiero puedo tomo uso pongo vengo "
    "nada estoy voy fui soy somos mi mis olvida buenos buenas dias tardes "
    "noches adios vale"
)
"""Further words that tell the language, and mean something."""
_STOP_WORDS = (_ENGLISH | _SPANISH) - {"name", "nombre", "vivo", "llamo"}

_SPANISH_SIGN = re.compile(r"[¿¡ñ]|\b(?:he|ha|hemos|han) \w+(?:ado|ido)\b", re.IGNORECASE)
_SPANISH_ACCENT = re.compile(
    r"(?<!\w)[a-zñ]*[áíóú][a-zñ]*(?!\w)|^[A-ZÑ][a-zñ]+[íéó](?!\w)"
    r"|(?<!\w)(?!caf|clich|fianc|pass|pat|ros|saut|touch)[a-zñ]{2,}é(?!\w)"
)
"""`Natación`, `empecé`; not names, nor English words from French (`café`)."""
_SPANISH_A = re.compile(r"\b[aA] (?=(?:las?|los|el|mis?|sus?|tus?|una?)\b|[A-ZÀ-Þ][a-zß-ÿ])")
"""The preposition, which looks like the English article."""


_ENGLISH_NAME = re.compile(
    r"^(?:Ella|Una|Di|Al)(?=['’]s\b| (?:is|was|has|gave|got|went|came|took|quit"
    r"|\w{2,}[^aious]s|\w{2,}ed)\b)"
)
"""Names before an English verb, which are Spanish words, too."""


def language_of(*texts: str) -> str:
    """`es` or `en`, by the first text that tells; English if none does."""
    for text in texts:
        text = _ENGLISH_NAME.sub("", text)
        words = re.findall(r"\w+", fold_accents(text))
        if words == ["yo"]:
            # A greeting: nobody writes only `I` in Spanish.
            continue
        spanish = sum(word in _SPANISH or word in _SPANISH_MARKS for word in words)
        spanish += 2 * bool(_SPANISH_SIGN.search(text) or _SPANISH_ACCENT.search(text))
        english = sum(word in _ENGLISH for word in words) - len(_SPANISH_A.findall(text))
        if spanish != english:
            return "es" if spanish > english else "en"
    return "en"


def key_words(text: str) -> frozenset[str]:
    """Folded, in the singular, without stop words."""
    words = set(re.findall(r"\w+", fold_accents(text))) - _STOP_WORDS
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)


def fold_accents(text: str) -> str:
    """Lower case, without accents, with single spaces."""
    if text.isascii():
        bare = text.lower()
    else:
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(bare.replace("_", " ").split())
