"""Language detection (English or Spanish), stop words and accents."""

from __future__ import annotations

import re
import unicodedata


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _word_set(
    "a an the and or but of in on at to for from with by is are was were be been am do does did "
    "have has had i you he she it we they me my mine your his her its our their this that these "
    "those what which who whom where when why how there here not no yes can could would should "
    "will shall may might must about tell know remember please some any all so if then than as "
    "hello hi thanks name"
)
SPANISH = _word_set(
    "el la los las un una unos unas y o pero de del al en con por para sin sobre es son era fue "
    "ser estar esta estan hay yo tu usted ella nosotros ellos me mi mis te tus su sus se lo le "
    "les que cual cuales quien donde cuando como cuanto cuantos cuanta cuantas porque si ya "
    "muy mas este esto estos estas ese eso esa sabes dime puedes recuerdas recuerda favor soy "
    "hola gracias vivo llamo nombre"
)
SPANISH_MARKS = _word_set(
    "he ha han hemos tengo tenemos trabajo gusta gustan tambien ahora todavia ayer hoy manana "
    "mucho nuestro nuestra nada estoy voy fui soy somos mi mis olvida"
)
"""Further words that tell the language, and mean something."""
STOP_WORDS = (ENGLISH | SPANISH) - {"name", "nombre", "vivo", "llamo"}

_SPANISH_SIGN = re.compile(r"[¿¡ñ]|\b(?:he|ha|hemos|han) \w+(?:ado|ido)\b", re.IGNORECASE)


def language_of(*texts: str) -> str:
    """`es` or `en`, by the first text that tells; English if none does."""
    for text in texts:
        words = re.findall(r"\w+", fold_accents(text))
        spanish = sum(word in SPANISH or word in SPANISH_MARKS for word in words)
        spanish += 2 * bool(_SPANISH_SIGN.search(text))
        english = sum(word in ENGLISH for word in words)
        if spanish != english:
            return "es" if spanish > english else "en"
    return "en"


def key_words(text: str) -> frozenset[str]:
    """Folded, in the singular, without stop words."""
    return frozenset(map(_singular, set(re.findall(r"\w+", fold_accents(text))) - STOP_WORDS))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def fold_accents(text: str) -> str:
    """Lower case, without accents, with single spaces."""
    bare = text.lower() if text.isascii() else _without_accents(text)
    return " ".join(bare.replace("_", " ").split())


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))
