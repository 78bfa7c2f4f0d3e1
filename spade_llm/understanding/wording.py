"""Wording: a statement in the first person, told back in the second person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.language import language_of
from spade_llm.understanding.clause_kinds import CALL_ME, THIRD_SPANISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENGLISH: Mapping[str, str] = {
    "i": "you", "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "im": "you're",
    "ive": "you've", "my": "your", "mine": "yours", "me": "you", "myself": "yourself", "am": "are",
    "we": "you", "we're": "you're", "we've": "you've", "we'd": "you'd", "we'll": "you'll",
    "our": "your", "ours": "yours", "us": "you",
}  # fmt: skip
_ENGLISH_WORDS = LazyPattern(
    # "At six am" is a time, "the US" a country, "a mine" a place, and an address is not reworded.
    r"(?<![\w.@/-])(?!(?-i:US)\b)(?<!\ba (?=mine))(?<!\bthe (?=mine))"
    r"(?:(?:i|we)'(?:m|ve|d|ll|re)|(?<=\bi )am|(?<!\d )am(?= (?:not )?i\b)|"
    + "|".join(k for k in _ENGLISH if k.isalpha() and k != "am")
    + r")\b(?![@/])",
    re.I,
)
_WAS = LazyPattern(r"\byou was\b", re.I)
"""Forms of `I was` in the second person."""

_SPANISH: Mapping[str, str] = {
    "yo": "tú", "mi": "tu", "mis": "tus", "me": "te", "mí": "ti", "conmigo": "contigo",
    "mío": "tuyo", "mía": "tuya", "míos": "tuyos", "mías": "tuyas", "soy": "eres",
    "estoy": "estás", "tengo": "tienes", "voy": "vas", "hago": "haces", "sé": "sabes", "he": "has",
    "puedo": "puedes", "quiero": "quieres", "prefiero": "prefieres", "juego": "juegas",
    "conduzco": "conduces", "conozco": "conoces", "salgo": "sales", "pongo": "pones",
    "vengo": "vienes", "digo": "dices", "doy": "das", "suelo": "sueles", "duermo": "duermes",
    "pienso": "piensas", "empiezo": "empiezas", "vivo": "vives", "bebo": "bebes", "como": "comes",
    "leo": "lees", "corro": "corres", "aprendo": "aprendes", "escribo": "escribes",
    "puse": "pusiste", "moví": "moviste", "metí": "metiste", "encuentro": "encuentras",
    "fui": "fuiste", "tuve": "tuviste", "estuve": "estuviste", "hice": "hiciste", "mido": "mides",
    "nací": "naciste", "conocí": "conociste", "viví": "viviste", "vendí": "vendiste",
    "rompí": "rompiste", "nuestro": "vuestro", "nuestra": "vuestra", "nuestros": "vuestros",
    "nuestras": "vuestras", "tenemos": "tenéis", "somos": "sois", "hemos": "habéis",
    "vamos": "vais", "estamos": "estáis", "nos": "os", "vivimos": "vivís", "debo": "debes",
    "creo": "crees", "veo": "ves", "trabajo": "trabajas", "estudio": "estudias", "hablo": "hablas",
    "toco": "tocas", "odio": "odias", "adoro": "adoras", "detesto": "detestas", "uso": "usas",
    "llamo": "llamas", "levanto": "levantas", "acuesto": "acuestas", "dedico": "dedicas",
    "caso": "casas", "peso": "pesas", "calzo": "calzas", "tomo": "tomas", "fumo": "fumas",
    "cumplo": "cumples", "compro": "compras", "guardo": "guardas", "necesito": "necesitas",
    "llevo": "llevas", "viajo": "viajas", "nado": "nadas", "practico": "practicas",
    "entreno": "entrenas", "gano": "ganas", "cobro": "cobras", "aparco": "aparcas",
    "soporto": "soportas", "mudo": "mudas", "comparto": "compartes", "ceno": "cenas",
    "desayuno": "desayunas", "almuerzo": "almuerzas", "recojo": "recoges", "cojo": "coges",
    "entro": "entras", "termino": "terminas", "acabo": "acabas", "vuelvo": "vuelves",
    "quedo": "quedas", "pago": "pagas", "debía": "debías", "traigo": "traes", "busco": "buscas",
    "espero": "esperas", "ayudo": "ayudas", "cuido": "cuidas", "cocino": "cocinas",
    "planto": "plantas", "riego": "riegas", "alquilo": "alquilas", "pagamos": "pagáis",
    "quedamos": "quedáis", "salimos": "salís", "trabajamos": "trabajáis",
    "compartimos": "compartís", "dormimos": "dormís", "cenamos": "cenáis",
    "necesitamos": "necesitáis", "damos": "dais", "vemos": "veis", "vimos": "visteis",
    "fuimos": "fuisteis", "dimos": "disteis", "éramos": "erais", "íbamos": "ibais",
    "curro": "curras", "casé": "casaste",
    "mudé": "mudaste", "compré": "compraste", "dejé": "dejaste",
    "empecé": "empezaste", "cambié": "cambiaste", "aparqué": "aparcaste", "guardé": "guardaste",
    "era": "eras", "tenía": "tenías", "vivía": "vivías", "fumaba": "fumabas",
    "laburo": "laburas", "chambeo": "chambeas", "manejo": "manejas", "rento": "rentas",
    "platico": "platicas", "pierdo": "pierdes", "entiendo": "entiendes", "siento": "sientes",
    "sigo": "sigues", "pido": "pides", "sirvo": "sirves", "repito": "repites", "visto": "vistes",
    "elijo": "eliges", "atiendo": "atiendes", "devuelvo": "devuelves", "vendo": "vendes",
    "subo": "subes", "abro": "abres", "recibo": "recibes", "sufro": "sufres", "rompo": "rompes",
    "coso": "coses", "asisto": "asistes", "traduzco": "traduces", "oigo": "oyes",
    "cierro": "cierras", "reparto": "repartes", "enseño": "enseñas", "limpio": "limpias",
    "canto": "cantas", "bailo": "bailas", "pinto": "pintas", "monto": "montas", "saco": "sacas",
    "dirijo": "diriges", "preparo": "preparas", "tardo": "tardas", "madrugo": "madrugas",
    "ando": "andas", "echo": "echas", "pincho": "pinchas", "rezo": "rezas", "meto": "metes",
    "cuelgo": "cuelgas", "colaboro": "colaboras", "participo": "participas", "libro": "libras",
    "paso": "pasas", "hacemos": "hacéis", "descanso": "descansas",
    "trabajaba": "trabajabas", "solía": "solías", "jugaba": "jugabas", "estudiaba": "estudiabas",
}  # fmt: skip
_NOT_VERBS = frozenset({"como", "caso", "peso", "libro", "paso", "uso", "desayuno"})
"""Words of the table that are rather nouns behind `y` than verbs."""
_SPANISH_IDIOMS = (
    (LazyPattern(r"\byo (?P<verb>debería|tendría|podría|sería|quisiera)\b", re.I), r"tú \g<verb>s"),
    (LazyPattern(r"\bsueño (?=con\b)", re.I), "sueñas "),
    (LazyPattern(r"\b(?P<it>l[ao]) paso(?= )", re.I), r"\g<it> pasas"),
    # A filler, no journey.
    (LazyPattern(r",? pero vamos(?=,)", re.I), ", pero"),
)
"""Verbs that the table cannot have, since their words mean something else elsewhere."""
_BEHIND_INFINITIVE = LazyPattern(
    r"(?<!\w)(?!(?:con|a|re)?firme\b|informe\b|alarme\b|enferme\b|duerme\b)(?P<verb>[^\W\d_]+[aeií]r|ir)me(?!\w)",
    re.I,
)
"""`Tomarme`: the pronoun is part of the word."""
_SPANISH_PERFECT = LazyPattern(r"\b(?:he|has|ha|hemos|han) \w+(?:ado|ido|cho|sto|to)\b", re.I)
_OTHERWISE = frozenset({
    "como", "he", "desayuno", "pago", "riego", "libro", "paso", "descanso", "canto", "saco",
    "monto", "limpio", "pinto", "pincho", "reparto",
})  # fmt: skip
"""Verbs of the table that are rather nouns, adjectives or English anywhere else in a sentence."""
SPANISH_FIRST_PERSON = frozenset(_SPANISH) - _OTHERWISE
"""Spanish words that are about the speaker."""
_NOUNS_IN_THIRD = frozenset({
    "soy", "ceno", "nado", "rento", "mudo", "compro", "planto", "echo", "monto",
})  # fmt: skip
"""Verbs of which the third person is rather a noun (`la cena`), or another word."""
FIRST_PERSON_VERBS = frozenset(
    one
    for one, of_you in _SPANISH.items()
    if one[-1] in "oy" and of_you[-1] == "s" and one not in _NOT_VERBS
)
"""Spanish verbs of the present in the first person: `trabajo`."""
THIRD_PERSON_VERBS = frozenset(
    _SPANISH[one].removesuffix("s") for one in FIRST_PERSON_VERBS - _NOUNS_IN_THIRD
)
"""The same verbs in the third person: `trabaja`."""
_SPANISH_NOUN_BEFORE = LazyPattern(
    r"\b(?:mi|mis|el|la|los|las|un|una|se|de|del|al?|en|por|con|su|tu|otr[oa]|este|ese|nuevo|buen|cada"
    r"|ning[uú]n|primer|alg[uú]n|encontrado|buscando|sin|comen?|com[ií]an?)\s+$",
    re.I,
)
_PRONOUN_BEFORE = LazyPattern(r"\b(?:la|los|las)\s+$", re.I)
NEAR_CHARS = 8
"""Characters before a word among which its article or preposition is looked for."""
_SPANISH_VERB = LazyPattern(
    r"^(?:no |ya no |ya |también |siempre |ahora |hoy |me |nos )*(?P<verb>[^\W\d_]+)(?=\s|$)", re.I
)
_WORD = LazyPattern(r"[^\W\d_]+")
_POSSESSIVES = frozenset({"mi", "mis", "mí", "mío", "mía"})
_NOT_FIRST = frozenset({"como", "era", "caso", "debía", "visto", "pienso"})
"""Verbs as the first verb of a text only: behind it they mean `like` and `was`, or are nouns or of
another person (`le hago caso`, `lo que me debía`)."""
_PAST_VERB = LazyPattern(r"(?P<stem>[a-zñ]{2,}?)(?P<ending>(?<![aeid]r)é|í)$")
"""A verb in the past of the first person; `-aré` may be of the future as well."""
_ENDS_AT_ONCE = LazyPattern(
    r"(?:cambi|compr|mud|cancel|adopt|contrat|regal|encontr|firm|reserv|cas|separ|divorci|olvid)$"
)
"""Stems of verbs that are seldom said of what goes on: `compramos` tells of the past."""
_NOT_PAST = LazyPattern(
    r"(?:as|aqu|all|ah|cas|tamb|colibr|esqu|jabal|rub|maniqu|frenes|marroqu|iran|iraqu|israel"
    r"|caf|beb|pur|chal|comit|porqu|consom|clich"
    r"|qu|est|jos|josu|no|zo|salom|bartolom|ren|noem|desir|chlo)(?:é|í)$"
)
"""Nouns, adverbs and names with the same endings: `café`, `así`, `José`."""
_NAMED_FIRST = LazyPattern(
    r"(?:Leo|Mía)(?:,| (?:y|e|es|está|tiene|se|le|ha|no (?:es|está|tiene|se|le|ha)|va|vive|cumple"
    r"|juega|trabaja|estudia|come|duerme|viene)\b)"
)
"""Names that are also words of the table, before a verb that says so."""
_FIRST_PERSON = LazyPattern(r"(?:o|é|í)$")
"""The ending of a Spanish verb in the first person."""
_OF_NAMED = LazyPattern(
    rf"[A-ZÀ-Þ][^\W\d_]+ (?:(?:no|ya|tambi[eé]n|ahora|siempre|se|les?|l[ao]s?) )*"
    rf"(?:(?i:{THIRD_SPANISH})(?!\w)|(?:y|e) (?:yo\b|mis?\b|[A-ZÀ-Þ]))"
)
"""A name before a verb or another one: `Hugo va`; a verb in `-o` has neither behind it."""
_PLURAL_VERB = LazyPattern(r"(?P<stem>[a-zñü]{2,}?)(?P<ending>ábamos|íamos|[aei]mos)$")
"""A verb of `we`: an accent before another ending makes a noun (`próximos`)."""
_ENDINGS = {"ábamos": "abais", "íamos": "íais", "amos": "áis", "emos": "éis", "imos": "ís"}
_NOT_PLURAL_VERBS = frozenset({
    "tramos", "gramos", "miligramos", "microgramos", "kilogramos", "extremos", "primos", "mimos",
    "timos", "racimos", "reclamos", "supremos", "enfermos", "ramos", "remos", "amos",
})  # fmt: skip
_ONLY_PAST = LazyPattern(
    r".*(?:tuv|hic|pud|estuv|quis|dij|vin|pus|sup|traj|com|beb|conoc|nac|crec|perd|vend|corr|mov"
    r"|aprend|cog|romp|met|volv)$"
)
"""Stems of verbs whose `-imos` is of the past: `comimos`."""
_PAST = LazyPattern(
    r"\b(?:ayer|anteayer|anoche|pasad[oa]|hace (?!.*\bque )\w+|en \d{4}|antes)\b", re.I
)
_FUTURE = LazyPattern(
    r"\b(?:(?:la semana|el mes|el a[ñn]o) que viene|pr[oó]xim[oa]s?|dentro de|pasado ma[ñn]ana)\b",
    re.I,
)
_ENGLISH_ONLY = frozenset({"i", "my", "am", "our", "we", "is", "are", "the", "and", "has", "was"})
"""Words that no Spanish statement has."""


def in_second_person(text: str, language: str) -> str:
    """A statement of a person, as it is told back to them: `My name is Ada` → `your name is Ada`.

    `language`: of the answer, `en` or `es`. What cannot be reworded is quoted as it was said, «…»:
    Spanish text with a verb that is not in the table, and English text in a Spanish answer.
    """
    words = {found[0].lower() for found in _WORD.finditer(text)}
    is_spanish = not words & _ENGLISH_ONLY and bool(
        words & SPANISH_FIRST_PERSON - _ENGLISH.keys() - {"era"}
        or _SPANISH_PERFECT.search(text)
        or language_of(text) == "es"
    )
    if language == "es" and words & _ENGLISH_ONLY:
        return f"«{text}»"
    if language == "es" or is_spanish:
        return _to_second_spanish(text)
    return _to_second_english(text)


def uses_ustedes(texts: Iterable[str]) -> bool:
    """Check whether a person writes the Spanish of America, where `you` of several is `ustedes`."""
    return any(_AMERICAN.search(text) for text in texts)


def speaks_of_us(text: str) -> bool:
    """Check whether a Spanish statement is about the speaker and others."""
    words = (found[0].lower() for found in _WORD.finditer(text))
    return any(
        _SPANISH.get(one, "") in _OF_SEVERAL or _plural_verb(one, is_past=False) != one
        for one in words
    )


_AMERICAN = LazyPattern(
    r"\b(?:carros?|celular|computadora|laburo|laburamos|chamba|chambeo|che|vos|sos|ten[eé]s|pod[eé]s"
    r"|sab[eé]s|quer[eé]s|and[aá]s|acord[aá]s|decime|contame|pesos|lucas|plata|colegiatura|plati[cq]\w+"
    r"|ahorita|departamento|depa|pib[ea]s?|ustedes|manejo|rento|jugos?|boliche|heladera|birra"
    r"|fíjate que|mij[oa]|apúrate|alberca|recámara|cuate|güey|weón|cachai|parce|chévere)\b",
    re.I,
)
_OF_SEVERAL = frozenset({
    "vuestro", "vuestra", "vuestros", "vuestras", "tenéis", "sois", "habéis", "vais", "estáis",
    "os", "vivís",
})  # fmt: skip


def _to_second_english(text: str) -> str:
    bare = CALL_ME.sub("I want to be called ", text.replace("’", "'"))
    told = _ENGLISH_WORDS.sub(lambda found: _ENGLISH[found[0].lower()], bare)
    return _lower_first(_WAS.sub("you were", told))


def _to_second_spanish(text: str) -> str:
    text = CALL_ME.sub("quieres que te llame ", text)
    for pattern, plain in _SPANISH_IDIOMS:
        text = pattern.sub(plain, text)
    verb = _SPANISH_VERB.match(text)
    is_own = verb and _FIRST_PERSON.search(verb["verb"]) and not _OF_NAMED.match(text)
    lower = verb["verb"].lower() if is_own and verb else ""
    is_known = lower in _SPANISH or bool(past_verb(lower) or _NOT_PAST.match(lower))
    if lower and not is_known:
        return f"«{text}»"
    words = [found[0].lower() for found in _WORD.finditer(text)]
    is_past = bool(_PAST.search(text) or any(map(_is_only_past, words)))
    is_past = is_past and not _FUTURE.search(text)
    is_past = is_past or any(map(past_verb, words))
    first = _WORD.search(text)
    # "Curro tiene …" is a name, "me gusta …" has none.
    may_be_name = first and (
        first[0].lower() not in _SPANISH or _FIRST_PERSON.search(first[0].lower())
    )
    is_named = bool(may_be_name and _OF_NAMED.match(text))
    is_named = is_named or bool(_NAMED_FIRST.match(text))

    def told(found: re.Match[str]) -> str:
        word = found[0].lower()
        start = found.start()
        is_name = found[0] != word and (start > 0 or is_named)
        if is_name:
            return found[0]
        has_article = bool(_SPANISH_NOUN_BEFORE.search(text, max(0, start - NEAR_CHARS), start))
        if word not in _SPANISH:
            if has_article:
                return found[0]
            return past_verb(word) or _plural_verb(found[0], is_past=is_past)
        if word in _NOT_FIRST and not (verb and verb.start("verb") == start):
            return found[0]
        # Behind an article it is a noun (`el trabajo`); possessives stand there as well, and verbs
        # behind a pronoun (`las tengo`).
        is_pronoun = bool(_PRONOUN_BEFORE.search(text, max(0, start - NEAR_CHARS), start))
        is_noun = has_article and not is_pronoun and word not in _POSSESSIVES
        return found[0] if is_noun else _SPANISH[word]

    return _lower_first(_WORD.sub(told, _BEHIND_INFINITIVE.sub(r"\g<verb>te", text)))


def past_verb(word: str) -> str:
    """`Pintaste` for `pinté`; empty for another word."""
    found = None if _NOT_PAST.match(word) else _PAST_VERB.match(word)
    if not found:
        return ""
    if found["ending"] == "í":
        return f"{found['stem']}{'í' if found['stem'][-1] in 'aeo' else 'i'}ste"
    stem = found["stem"]
    for ending, plain in (("qu", "c"), ("gu", "g"), ("c", "z")):
        if stem.endswith(ending):
            stem = stem.removesuffix(ending) + plain
            break
    return f"{stem}aste"


def _is_only_past(word: str) -> bool:
    """Check whether a verb of `we` can only tell of the past: `vendimos`, `cambiamos`."""
    found = _PLURAL_VERB.match(word)
    if not found:
        return False
    if found["ending"] == "imos":
        return bool(_ONLY_PAST.match(found["stem"]))
    return found["ending"] == "amos" and bool(_ENDS_AT_ONCE.match(found["stem"]))


def _plural_verb(word: str, *, is_past: bool) -> str:
    """A Spanish verb of `we` as one of `vosotros`; another word as it is."""
    lower = word.lower()
    found = None if lower in _NOT_PLURAL_VERBS else _PLURAL_VERB.match(lower)
    if not found:
        return word
    stem, ending = found["stem"], found["ending"]
    if ending == "imos" and (is_past or _ONLY_PAST.match(stem)):
        return f"{stem}isteis"
    if ending == "amos" and is_past:
        return f"{stem}asteis"
    return stem + _ENDINGS[ending]


def _lower_first(text: str) -> str:
    """Names keep their capital."""
    first = text.split(" ", 1)[0]
    is_plain = first.lower().strip("'’") in _LOWERED or first.lower().replace("’", "'") in _LOWERED
    return text[:1].lower() + text[1:] if is_plain else text


_LOWERED = frozenset({
    "you", "you're", "you've", "you'd", "you'll", "your", "yours", "the", "a", "an", "there",
    "it", "it's", "this", "that", "these", "those", "he", "she", "they", "his", "her", "their",
    "both", "all", "on", "in", "at", "since", "every", "when", "today", "tomorrow", "yesterday",
    "next", "last", "one", "two", "some", "and", "also", "now", "currently", "usually",
    "sometimes", "tu", "tus", "tú", "te", "eres", "tienes", "estás", "vives", "el", "la", "los",
    "las", "un", "una", "por", "le", "les", "han", "dice", "hay", "es",
    "son", "está", "su", "sus", "nuestro", "vuestro",
    "vuestra", "no", "ya", "en", "mañana", "hoy", "ayer", "desde", "cuando", "todos", "también",
    "siempre", "nunca", "ahora", "antes", "trabajas", "estudias", "hablas", "prefieres",
    "odias", "has", "vas", "haces", "juegas", "fuiste", "naciste", "mides", "pesas", "calzas",
    "sueles", "bebes", "comes", "sois", "tenéis", "vivís",
})  # fmt: skip
