"""Spelling: Spanish as people type and speak it, read as the Spanish that the rules know.

`q sabes d mi`, `¿qué sabés de mí?` and `¿qué sabe usted de mí?` ask the same.
"""

# Patterns are read best on long lines.
# ruff: noqa: E501

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.language import language_of
from spade_llm.search.terms import strip_accents
from spade_llm.understanding.vocabulary import (
    MONTHS,
    concepts_of,
    is_concept,
    is_function_word,
    kin,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_I = re.IGNORECASE

MIN_RESPELT_CHARS = 3
"""Minimum length of values that may differ by a slip."""
MIN_LIKENESS = 0.6
"""Minimum likeness (difflib ratio) of a name and its other spelling."""
_WORDS: Mapping[str, str] = {
    "volvi": "volví", "vendi": "vendí", "sali": "salí", "conoci": "conocí", "perdi": "perdí",
    "aprendi": "aprendí", "recibi": "recibí", "decidi": "decidí", "segui": "seguí", "corri": "corrí",
    "pedi": "pedí", "subi": "subí", "rompi": "rompí",
    "q": "que", "qe": "que", "ke": "que", "xq": "porque", "pq": "porque", "porq": "porque",
    "tb": "también", "tmb": "también", "tbn": "también", "tmbn": "también", "dnd": "donde",
    "cndo": "cuando", "xfa": "porfa", "bn": "bien", "sto": "esto", "toy": "estoy", "tamos": "estamos",
    "cn": "con", "wenas": "buenas", "wena": "buena", "weno": "bueno", "aki": "aquí", "aora": "ahora",
    "hna": "hermana", "hno": "hermano", "soi": "soy", "estoi": "estoy", "voi": "voy",
}  # fmt: skip
"""Abbreviations and spellings of chats."""
_SURE = frozenset(
    {"q", "xq", "pq", "tb", "tmb", "tbn", "tmbn", "dnd", "cndo", "xfa", "wenas", "soi", "voi"}
)
"""Those of which one tells that a text is Spanish."""
_ABBREVIATION = LazyPattern(rf"(?<![\w.'’@/-])(?:{'|'.join(_WORDS)})(?![\w'’@/-]|\.\w)", _I)
_GREETING = LazyPattern(r"^(?:h?ol+a+s?|holi+s?)(?! de)(?!\w)|^(?:wena|buena)s+(?!\w)", _I)
_AGE = LazyPattern(
    r"(?:^|(?<=[,.] )|(?<= y ))(?P<age>tengo [1-9]\d)(?=$|[,.!]| y (?:\w+o|soy|estoy|ando)\b)", _I
)
_LABELLED = r"(?<!\d )(?<!vitamina )(?<!grupo )(?<!letra )(?<!puerta )(?<!talla )(?<!piso )"
_SINGLE_LETTERS = (
    (LazyPattern(rf"(?<=\d )d(?= (?:{MONTHS})\b)", _I), "de"),
    (LazyPattern(r"^d(?= (?:que|qui[eé]n|d[oó]nde)\b)", _I), "de"),
    (LazyPattern(rf"(?<=\w ){_LABELLED}(?-i:d)(?= (?!y\b|e\b|o\b)[^\W\d_])", _I), "de"),
    (LazyPattern(r"(?<![\w'’])x (?=(?:las?|los?|el|mi|tu|su|eso|esto|ahora|cierto|favor|[^\W\d_]{2,}[aei]r)\b)", _I), "por "),
    (LazyPattern(r"(?<![\w'’])k (?=(?:te|se|me|sabes|tal|es|hace|tengo|hay|dia|hora)\b)", _I), "que "),
    (LazyPattern(r"(?<![\w'’])m (?=(?:he|ha|han|voy|gustan?|encantan?|llamo|duelen?|due|acuerdo)\b)", _I), "me "),
    (LazyPattern(r"(?<![\w'’])t (?=(?:he|dije|cont[eé]|acuerdas|llamas|acabo)\b)", _I), "te "),
    (LazyPattern(r"\b(?P<me>me|nos) case(?= (?:con|en|hace|por)\b)", _I), r"\g<me> casé"),
    (LazyPattern(r"(?<!\w)a mi (?=(?:me|no me|nos)\b)", _I), "a mí "),
    (LazyPattern(r"(?<![\w'’])pa (?=(?:el|la|los|las|mi|que|ir|eso)\b)", _I), "para "),
    (LazyPattern(r"\b(?P<have>he|has|ha|han|hemos) (?P<stem>[^\W\d_]{2,})ao\b", _I), r"\g<have> \g<stem>ado"),
)  # fmt: skip

_VOSEO: Mapping[str, str] = {
    "sabés": "sabes", "podés": "puedes", "tenés": "tienes", "querés": "quieres", "hacés": "haces",
    "acordás": "acuerdas", "recordás": "recuerdas", "conocés": "conoces", "pensás": "piensas",
    "creés": "crees", "decís": "dices", "entendés": "entiendes", "andás": "andas",
    "guardás": "guardas", "decime": "dime", "contame": "cuéntame", "mostrame": "muéstrame",
    "recordame": "recuérdame", "haceme": "hazme", "ayudame": "ayúdame", "poneme": "ponme",
    "acordate": "acuérdate", "olvidate": "olvídate",
}  # fmt: skip
"""Verbs that address somebody as `vos`."""
_FORMAL: Mapping[str, str] = {
    "sabe": "sabes", "puede": "puedes", "podría": "podrías", "podria": "podrías",
    "recuerda": "recuerdas", "acuerda": "acuerdas", "tiene": "tienes", "conoce": "conoces",
    "quiere": "quieres", "dice": "dices", "cree": "crees", "está": "estás", "es": "eres",
    "dígame": "dime", "digame": "dime", "cuénteme": "cuéntame", "cuenteme": "cuéntame",
    "recuérdeme": "recuérdame", "recuerdeme": "recuérdame", "muéstreme": "muéstrame",
    "apúnteme": "apúntame", "apunteme": "apúntame", "anóteme": "anótame", "anoteme": "anótame",
    "acuérdese": "acuérdate", "acuerdese": "acuérdate", "olvídese": "olvídate",
    "olvidese": "olvídate", "hágame": "hazme", "hagame": "hazme",
}  # fmt: skip
"""The same for `usted`."""
_VOSEO_SPELLINGS: Mapping[str, str] = {
    spelling: plain
    for form, plain in _VOSEO.items()
    for spelling in (form, strip_accents(form))
    # Without its accent it is a form of `tú`, or another word.
    if spelling not in ("sabes", "haces", "crees", "guardas", "andas", "piensas")
}
_TO_VOS = LazyPattern(
    rf"(?<!\w)(?:vos )?(?P<verb>{'|'.join(_VOSEO_SPELLINGS)})(?!\w)"
    r"|(?<!\w)vos (?P<plain>sabes|haces|crees)(?!\w)",
    _I,
)
_VERBS_OF_USTED = "|".join(_FORMAL)
_TO_USTED = tuple(
    LazyPattern(pattern, _I)
    for pattern in (
        rf"(?<!\w)(?P<verb>{_VERBS_OF_USTED}) usted(?!\w)",
        rf"(?<!\w)usted (?P<verb>{_VERBS_OF_USTED})(?!\w)",
        # Without the pronoun, where nobody else can be meant.
        r"(?<!\w)(?P<verb>sabe|recuerda)(?= (?:de|sobre) m[ií]\b)",
        r"^(?P<lead>[¿\s]*)(?P<verb>sabe)"
        r"(?= (?:d[oó]nde|qu[eé]|cu[aá]\w+|c[oó]mo|qui[eé]n|si|mis?)\b)",
        r"^(?P<lead>[¿\s]*(?:me )?)(?P<verb>puede|podr[ií]a)"
        r"(?= (?:decir|recordar|apuntar|anotar|contar|olvidar|borrar)(?:me)?\b)",
        rf"(?<!\w)(?P<verb>{'|'.join(one for one in _FORMAL if one.endswith(('me', 'se')))})(?!\w)",
    )
)
_SE_OF_USTED = LazyPattern(rf"(?<!\w)se (?=(?:{_VERBS_OF_USTED}) usted\b)", _I)
_TOLD = LazyPattern(
    r"(?<=qu[eé] )le(?= (?:dije|cont[eé]|he (?:dicho|contado))(?: yo)? (?:del?|sobre|acerca)\b)", _I
)
"""`¿Qué le dije de Ana?`: it is the assistant that was told."""
_SPANISH_ONLY = LazyPattern(
    r"\b(?:me|te|se|nos|l[ao]) (?:he|has|ha|han|hemos) [^\W\d_]+[ai]d?o\b", _I
)

_LOWER = r"(?P<name>(?-i:[a-zß-ÿ]){3,})"
_VERB = (
    r"(?:es|era|est[aá]|ha|se|tiene|vive|trabaja|estudia|va|viene|juega|toca|cumple|quiere|dice|no)"
)
_NAMES = tuple(
    LazyPattern(pattern, _I)
    for pattern in (
        rf"\b(?P<called>(?:me|se) llam(?:o|an?|aba) {_LOWER}(?!\w))",
        rf"\b(?P<called>se llaman [^\W\d_]+ y {_LOWER}(?!\w))",
        rf"\b(?:con|a|de|para|y) (?:mi|una?) (?P<noun>[^\W\d_]+) {_LOWER}(?=$|[,.;!?]| (?:y|en|de|a|con|desde|el|la|los|las|cada|todos|cuando|que)\b)",
        rf"\bmi (?P<noun>[^\W\d_]+),? {_LOWER},?(?= {_VERB}\b)",
        rf"\b(?:mi|una?) (?P<noun>[^\W\d_]+), {_LOWER}(?=,|$)",
        rf"\b(?:dos|tres|mis) (?P<noun>[^\W\d_]+), {_LOWER}(?= y )",
        rf"\b(?:dos|tres|mis) (?P<noun>[^\W\d_]+), [^\W\d_]+ y {_LOWER}(?!\w)",
        rf"^{_LOWER}(?<![aei]r)(?= (?:(?:ha|se|es|vive|trabaja|estudia|tiene|cumple)\b|y yo\b))",
    )
)
"""Places where a word without a capital is a name: behind `se llama`, or `mi novia`."""
_ENGLISH_VERB = r"(?:is|was|has|had|['’]s|lives?|works?|goes|went|does|wants?|needs?|loves?|hates?|plays?|said|says|got|had|came|comes)"
_ENGLISH_NAMES = tuple(
    LazyPattern(pattern, _I)
    for pattern in (
        rf"\b(?:called|named) {_LOWER}(?![\w'’])",
        rf"^(?:(?:hi+|hiya|hey|yo|alright|hello|so)\W+)*(?:so )?(?:i['’]m|my name(?:['’]s| is)) {_LOWER}(?=,? (?:and i|\d)|, \d|[.!]|$)",
        rf"\b(?:my|our|his|her) (?:(?:big|little|older|younger|best) )?(?P<noun>[^\W\d_]+),? {_LOWER}(?=['’]s\b| {_ENGLISH_VERB}\b)",
        rf"\b(?:with|to|for|by|from|and) (?:my|our|his|her) (?P<noun>[^\W\d_]+) {_LOWER}(?=$|[,.;!?])",
    )
)
"""The same in English: behind `called`, or `my brother`."""
_KNOWN_NAME = LazyPattern(
    r"(?<=[\w,;:] )(?-i:[A-ZÀ-Þ])[a-zß-ÿ]{2,}\b|^(?-i:[A-ZÀ-Þ])[a-zß-ÿ]{2,}(?=['’]s | (?:is|has|and I|es|ha|y yo)\b)"
)
_LOWER_WORD = LazyPattern(r"(?<![\w'’@./-])(?P<name>[a-zß-ÿ]{3,}?)(?P<owner>s)?(?![\w'’@/-])")
_NO_NAMES = frozenset({
    "tomorrow", "today", "tonight", "yesterday", "again", "too", "now", "there", "here", "soon",
    "later", "back", "round", "around", "over", "about", "off", "out", "after", "first", "once",
    "twice", "instead", "never", "always", "also", "still", "just", "only", "really", "usually",
    "often", "both", "all", "who", "that", "this", "home", "maybe", "probably", "already",
    "anyway", "though", "please", "thanks", "then", "igual", "anterior", "antigua", "antiguo",
    "actual", "asi", "así", "mucho", "como", "por", "para", "desde", "alguien", "nadie", "algo",
    "todo", "todos", "gente", "ayer", "anoche", "luego", "despues", "después", "entonces",
    "tampoco", "aunque", "mientras", "seguro", "claro", "mayor", "menor", "mediano", "mediana",
    "pequeño", "pequeña", "peque", "chico", "chica", "grande", "nuevo", "nueva", "propio",
    "propia", "casi", "siempre", "nunca", "jamás", "apenas", "encima", "menos", "ahora", "hoy",
    "mañana", "quizá", "quizás", "solo", "sólo", "también", "política", "político", "soltera",
    "casada", "viuda", "jubilada",
})  # fmt: skip


@lru_cache(maxsize=2000)
def plain_spanish(text: str) -> str:
    """A text without abbreviations and in the form of `tú`, if it is Spanish; any other text as it
    is."""
    if not _is_spanish(text):
        return text
    text = _ABBREVIATION.sub(lambda found: _like(found[0], _WORDS[found[0].lower()]), text)
    for pattern, plain in _SINGLE_LETTERS:
        text = pattern.sub(plain, text)
    text = _SE_OF_USTED.sub(lambda found: _like(found[0], "te "), _TO_VOS.sub(_as_tu, text))
    text = _AGE.sub(r"\g<age> años", _GREETING.sub(_plain_greeting, text))
    for pattern in _TO_USTED:
        text = pattern.sub(_as_tu, text)
    return _with_capitals(_TOLD.sub("te", text), _NAMES)


def plain_english(text: str) -> str:
    """A text with a capital for the names that the words around them show (`my brother dave`), and
    with the apostrophe of a verb behind its subject: `my rents 600`."""
    text = _ARE.sub("are", text)
    return _with_capitals(_WITHOUT_APOSTROPHE.sub(r"\g<subject>'s", text), _ENGLISH_NAMES)


_ARE = LazyPattern(
    r"(?<=[a-z]s )r(?= [a-z\d])|(?<=\bwho )r(?= )|(?<=\byou )r(?= )|(?<=\bwe )r(?= )"
)
"""`r` for `are`, behind a word in the plural."""


_WITHOUT_APOSTROPHE = LazyPattern(
    r"(?:^|(?<=[.!?,;] ))(?P<subject>(?:(?:my|our|the) )?(?:alarm|bank|birthday|boss|car|cat|choir|coffee|commute"
    r"|dentist|doctor|dog|employer|flat|flight|gym|haircut|job|landlord|laptop|locker|mobile|mortgage"
    r"|name|nickname|number|phone|rent|salary|school|street|surname|team|train|vet|wifi))s(?= (?:no\b"
    r"|number\b|at\b|on\b|in\b|an?\b|the\b|my\b|called\b|about\b|up\b|due\b|gone\b|[£$€]?\d"
    r"|(?-i:[A-Z])))",
    re.IGNORECASE,
)


def _with_capitals(text: str, patterns: Iterable[LazyPattern]) -> str:
    for pattern in patterns:
        text = pattern.sub(_with_capital, text)
    return text


def with_known_names(text: str, known: Iterable[str]) -> str:
    """A text without capitals, with those of names that earlier statements have: `craigs garage` as
    `Craig's garage`."""
    if text != text.lower():
        return text
    names = frozenset[str]().union(*map(_names_of, known))

    def with_capital(found: re.Match[str]) -> str:
        if found["name"] + (found["owner"] or "") in names:
            return found[0].capitalize()
        if found["name"] not in names:
            return found[0]
        owner = "'s" if found["owner"] else ""
        return found["name"].capitalize() + owner

    return _LOWER_WORD.sub(with_capital, text) if names else text


@lru_cache(maxsize=2000)
def _names_of(statement: str) -> frozenset[str]:
    """The names in a statement, in lower case: words with a capital that mean nothing else."""
    words = {found[0].lower() for found in _KNOWN_NAME.finditer(statement)} - _NO_NAMES
    return frozenset(
        one
        for one in words
        if not is_function_word(strip_accents(one)) and not any(map(is_concept, concepts_of(one)))
    )


def _with_capital(found: re.Match[str]) -> str:
    name, noun = found["name"], found.groupdict().get("noun")
    is_known = is_function_word(strip_accents(name)) or (
        # Behind "se llama" stands a name, whatever else the word means.
        not found.groupdict().get("called") and any(map(is_concept, concepts_of(name)))
    )
    is_being = noun is None or bool(concepts_of(noun) & kin())
    if is_known or not is_being or name in _NO_NAMES:
        return found[0]
    start, end = (at - found.start() for at in found.span("name"))
    return found[0][:start] + name.capitalize() + found[0][end:]


def _is_spanish(text: str) -> bool:
    # "TB" and "the Q train" are no abbreviations of chats.
    words = {
        found[0].lower()
        for found in _ABBREVIATION.finditer(text)
        if found[0].islower() or not found.start()
    }
    return (
        bool(words & _SURE)
        or language_of(text) == "es"
        or any(one.search(text) for one in (_TO_VOS, _SPANISH_ONLY, _GREETING))
    )


def _plain_greeting(found: re.Match[str]) -> str:
    return _like(found[0], "buenas" if "e" in found[0].lower() else "hola")


def _as_tu(found: re.Match[str]) -> str:
    groups = found.groupdict()
    verb = (groups["verb"] or groups.get("plain") or "").lower()
    lead = groups.get("lead") or ""
    return lead + _like(
        found[0][len(lead) :], _VOSEO_SPELLINGS.get(verb) or _FORMAL.get(verb) or verb
    )


def _like(old: str, new: str) -> str:
    """The new word with the capital of the old one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def is_respelling(value: str, old: str) -> bool:
    """Check whether two values differ by a slip: digits in another order, or a letter of a name."""
    one, other = value.casefold(), old.casefold()
    if one == other or min(len(one), len(other)) < MIN_RESPELT_CHARS:
        return False
    if one.isdigit() and other.isdigit():
        return sorted(one) == sorted(other)
    return SequenceMatcher(None, one, other).ratio() >= MIN_LIKENESS


def has_respelt_word(text: str, old: str) -> bool:
    """Check whether two texts differ by the spelling of one word only."""
    words, others = text.split(), old.split()
    pairs = [(one, other) for one, other in zip(words, others, strict=False) if one != other]
    return len(words) == len(others) and len(pairs) == 1 and is_respelling(*pairs[0])
