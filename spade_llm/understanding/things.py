"""Things: which thing a text is about, and whether two texts are about two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.features import features, is_taste
from spade_llm.understanding.pronouns import noun_phrases
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    is_concept,
    light,
    phrase_concepts,
    relatives,
    typed_values,
    value_key,
    values_of_part,
    word_concepts,
)
from spade_llm.understanding.wording import FIRST_PERSON_VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.understanding.pronouns import Mention

_I = re.IGNORECASE

COPULA = LazyPattern(
    r"^(?:(?:my|our|the|his|her|mi|mis|nuestr[oa]s?|el|la|los|las|su|el usuario: su"
    r"|the user['’]s)\s++|(?=(?-i:[A-ZÀ-Þ])[^\W\d_]{2})(?!(?:she|it|there|this|that|they|these"
    r"|those|here|we|ella|est[aeo]|es[aeo])\b))(?P<noun>.{1,50}?)"
    r"\s*(?:['’]s| is| are| was|\bes\b|\bson\b|\best[aá]n?\b| se llaman?| is now)\s+(?P<tail>.+)$",
    _I,
)
"""`My dog is called Rex`: a noun (`noun`) and its complement (`tail`)."""
AT_WORK = LazyPattern(
    r"\b(?:work|office|school) (?:phone|address|e?-?mail|number)\b|\b(?:phone|address|e?-?mail"
    r"|number) at (?:work|the office|school)\b|\b(?:tel[eé]fono|n[uú]mero|direcci[oó]n|correo) "
    r"(?:de la |del? )(?:trabajo|oficina|empresa|escuela)\b",
    _I,
)
"""`My work phone`: it says nothing about the private one."""


def names_other_of_kind(new: str, old: str) -> bool:
    """Check whether a text tells of another thing of a kind than an older statement: `our home
    insurance`, `my car insurance`; `the garage's rent`, `my rent`; `dinner with Ann`, `dinner with
    Bob`; `clase de yoga`, `clase de inglés`."""
    after, before = _thing_of_kind(new), _thing_of_kind(old)
    shared = features(new).concepts & features(old).concepts
    if after.is_at_work != before.is_at_work and after.contacts & shared:
        return True
    if after.is_back != before.is_back and (after.is_back or after.is_outward):
        return True
    if any(map(_are_different, after.things, before.things)):
        return True
    if names_other_kind(new, before.qualified_subject):
        return True
    if not shared & _OF_MANY_THINGS:
        return False
    one, other = after.qualifiers, before.qualifiers
    return bool(one - other and (other - one or one - other - {"home", "work", "office"}))


# A clause is compared with each earlier statement in each turn of a conversation.
@lru_cache(maxsize=5000)
def tell_of_two_things(new: str, old: str, before: str = "") -> bool:
    """Check whether two texts are about different things: each names one of which the other does
    not speak (`my knee operation is in May`, `they moved my hip scan`), or they tell what is so at
    different places or for different things, or have expressions that exclude each other (`my left
    eye`, `my right eye`). `before`: the clause before the new one, which names what a pronoun
    means."""
    after, earlier = things_named(new), things_named(old)
    if _DONE_TO_IT.search(new) and not _ARTICLE.match(new):
        # "Vino el técnico y nos la cambió": what was spoken of.
        after = ()
    if not after and before and _CONTINUES.match(new):
        new, after = f"{before}; {new}", things_named(before)
    one_side, other_side = _sides(new), _sides(old)
    if any(one_side[pair] != other_side[pair] for pair in one_side.keys() & other_side.keys()):
        return True
    known, said = concepts_of(old), concepts_of(before) | concepts_of(new)
    unknown = [one for one in after if not _is_spoken_of(one, known, earlier)]
    if unknown and any(not _is_spoken_of(one, said, after) for one in earlier):
        return True
    are_qualified = any(
        one.noun == other.noun
        and one.qualifiers
        and other.qualifiers
        and not (one.qualifiers & known or other.qualifiers & said)
        for one in after
        for other in earlier
    )
    return are_qualified or any(
        one.noun == other.noun and not one.concepts & known and not other.concepts & said
        for one in _scopes(new)
        for other in _scopes(old)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A thing that a text names: its noun, and the concepts of its words."""

    noun: str
    concepts: frozenset[str]
    words: tuple[frozenset[str], ...] = ()
    """Concepts of each of its words."""
    whole: frozenset[str] = frozenset()
    """Concepts of the expression that its words are together."""
    qualifiers: frozenset[str] = frozenset()
    """Concepts of the words beside its noun."""


def _is_spoken_of(thing: Thing, concepts: frozenset[str], others: Sequence[Thing]) -> bool:
    """Check whether a text with these concepts, and these things, speaks of a thing."""
    if any(thing.concepts <= one and concepts & one for one in ONE_MATTER):
        return True
    if thing.whole & concepts or all(word & concepts for word in thing.words):
        return True
    return any(thing.concepts & one.concepts for one in others)


@lru_cache(maxsize=5000)
def _sides(text: str) -> Mapping[int, int]:
    """Which of the two expressions of _OPPOSITES a text has: the place of the pair, and of the
    expression in it. A text with both has none."""
    found = {
        number: [side for side, one in enumerate(pair) if one.search(text)]
        for number, pair in enumerate(_OPPOSITES)
    }
    return {number: sides[0] for number, sides in found.items() if len(sides) == 1}


_SEASON = (
    r"(?:summer|winter|autumn|spring|year|month|week|weekend|holidays?|christmas|easter|verano"
    r"|invierno|oto[ñn]o|primavera|a[ñn]o|mes|semana|finde|vacaciones|navidad(?:es)?)"
)
_SIDE = r"(?= (?:eye|ear|knee|hip|foot|leg|arm|hand|shoulder|ankle|one)\b)"
_RETURN = LazyPattern(
    r"\b(?:return|inbound|connecting) (?:flight|train|trip|journey)\b"
    r"|\b(?:flight|train|trip|journey|bus|ferry) (?:back|home)\b|\bde (?:vuelta|regreso)\b",
    _I,
)
_OUTWARD = LazyPattern(
    r"\b(?:outbound|outward) \w+|\b(?:flight|train|trip|journey) out\b|\bde ida\b"
    r"|\b(?:flight|train|coach|bus|ferry) to\b",
    _I,
)
_EXCLUDING = (
    (rf"left{_SIDE}", rf"right{_SIDE}"),
    ("izquierd[oa]", "(?<!el )derech[oa]"),
    ("mi viejo", "mi vieja"),
    ("(?:was|were) born|nac(?:í|imos|ió|ida|ido)", "gr[eo]w(?:n|ing)? up|me cri[eé]|crecí"),
    (
        rf"last {_SEASON}|{_SEASON} pasad[oa]s?",
        rf"(?:this|next) {_SEASON}|est[ea] {_SEASON}|{_SEASON} que viene",
    ),
    ("weekdays?|during the week|entre semana", "weekends?|fin(?:es)? de semana|findes?"),
    ("recycl\\w+|recicl\\w+", "(?:general )?rubbish|trash|garbage|basura"),
    (
        "at home|(?:en|de) (?:mi )?casa",
        "(?:at|in) (?:work|the office)"
        "|(?:en|del?) (?:(?:el|mi|la) )?(?:trabajo|curro|laburo|chamba|pega|oficina)",
    ),
)
_OPPOSITES = (
    (_OUTWARD, _RETURN),
    *(
        (LazyPattern(rf"\b(?:{first})\b", _I), LazyPattern(rf"\b(?:{second})\b", _I))
        for first, second in _EXCLUDING
    ),
)
"""Pairs of expressions that exclude each other."""
_DONE_TO_IT = LazyPattern(
    r"\b(?:me|nos) l[ao]s? (?:(?:he|ha|hemos|han) )?(?:cambi|sub|baj|mov|adelant|atras|retras|pas"
    r"|quit"
    r"|renov)[^\W\d_]+",
    _I,
)
"""A change of what was spoken of, by a pronoun."""
_CONTINUES = LazyPattern(
    r"(?:(?:and|so|but|y|pero|as[ií] que|now|ahora|ya) )*(?:it['’]?s|it|that|they['’]re|we['’]re"
    r"|(?:i|we) (?:pay|have|get)|(?:es|son|est[aá]n?|pago|pagamos|tengo|toma|tomo|vence|queda"
    r"|se llama|s?he['’]s|(?:his|her) name)\b)",
    _I,
)
"""A clause about the thing of the clause before it."""


@lru_cache(maxsize=5000)
def things_named(text: str) -> tuple[Thing, ...]:
    """The things of which a text speaks as known (`the gate`) or as the next of their kind (`a new
    gate`), and for which it tells a price; neither values nor places."""
    copula = COPULA.match(text)
    end = copula.start("tail") if copula else len(text)
    phrases = [one for one in noun_phrases(text) if one.start < end and not one.is_named]
    objects = [one for one in phrases if one.start and _OBJECT.match(text, one.start)]
    found = [
        thing_of(one.text, is_spanish=not _ENGLISH_ARTICLE.match(text, one.start))
        for one in phrases
        if _is_thing(text, one) and not (one.start == 0 and _is_agent(text, one, objects))
    ]
    if not any(one.start == 0 for one in phrases) and (first := _FIRST_THING.match(text)):
        thing = thing_of(first["thing"], is_spanish=first["spanish"] is not None)
        # "Mine is …", "Ann's …": no thing that is known.
        found += [thing] if first["article"] or any(map(is_concept, thing.concepts)) else []
    if paid := _PAID_FOR.search(text):
        found.append(thing_of(paid["thing"]))
    return tuple(one for one in found if one.concepts)


def _is_thing(text: str, phrase: Mention) -> bool:
    """Check whether a noun phrase of a text names a thing that is known, or new; not a value, nor
    the place where something is."""
    article = text[phrase.start :].split(maxsplit=1)[0].lower()
    # "Odio la coliflor": what is liked is a value.
    known = _OWN_ARTICLES if is_taste(text) else _DEFINITE
    is_bare = phrase.start == 0 and text.startswith(phrase.text)
    # "A new girl" takes the place of no other.
    is_relative = bool(concepts_of(phrase.text) & relatives())
    is_new = article in _INDEFINITE and bool(_NEW.search(phrase.text)) and not is_relative
    if not (article in known or is_bare or is_new):
        return False
    values = typed_values(phrase.text)
    # "Ahora es el turquesa" names no thing, "the red bag" does.
    is_colour = any(
        _ARTICLE.sub("", phrase.text) == phrase.text[slice(*one)]
        for one in values.get(ValueType.COLOUR, ())
    )
    if is_colour or values.keys() - {ValueType.COLOUR} or _NAME.search(phrase.text, 1):
        return False
    behind = phrase.start + len(phrase.text)
    is_scope = phrase.start <= PREPOSITION_CHARS and _CLAUSE.match(text, behind)
    return bool(is_scope) or not _TO_PLACE.search(text[: phrase.start])


_NAME = LazyPattern(r"[A-ZÀ-Þ][a-zß-ÿ]")
_FIRST_THING = LazyPattern(
    r"(?P<article>(?:(?:the|my|our)|(?P<spanish>el|la|mi|nuestr[oa])) )?"
    r"(?P<thing>(?:[a-zß-ÿ]+ )?[a-zß-ÿ]+)(?: (?:on|of|for|at|de|del|para|con) .{1,30}?)?"
    r"(?: now| these days| ahora)?(?:['’]s(?! \w+ed\b)| (?:is|are|es|son|now|takes|needs|gets|goes"
    r"|lives|costs))\b",
    _I,
)
"""The subject of a sentence, with an adjective: `the red bag is …`, `my van takes …`."""
_OBJECT = LazyPattern(r"(?:the|my|our|an?|el|la|los|las|mis?|nuestr[oa]s?|una?)\b", _I)


def _is_agent(text: str, subject: Mention, objects: Sequence[Mention]) -> bool:
    """Check whether the subject that a text begins with does something to what the text is about:
    `the council moved the bins`."""
    end = len(subject.text)
    verbs = (text[end : text.find(one.text, one.start)] for one in objects[:1])
    return bool(_ACTS.match(text, end)) or any(not _NO_OBJECT.search(one) for one in verbs)


def thing_of(phrase: str, *, is_spanish: bool = False) -> Thing:
    """The thing that a noun phrase names; in Spanish the noun stands first."""
    phrase = _NEW.sub("", _ARTICLE.sub("", phrase)).strip().lower()
    spare = general() | light() | _UNSPECIFIC
    words = phrase.split()
    at = 0 if is_spanish else -1
    concepts = [concepts_of(word) - spare for word in words]
    whole = phrase_concepts(phrase) - spare
    of_noun = concepts[at] if concepts else frozenset[str]()
    return Thing(
        noun=words[at] if words else "",
        concepts=concepts_of(phrase) - spare,
        words=tuple(filter(None, concepts)),
        whole=whole,
        # "Spare key" has a concept of its own, "spare" that of "key".
        qualifiers=(frozenset().union(*concepts) - of_noun) or whole - of_noun,
    )


PREPOSITION_CHARS = 6
"""A preposition at the beginning of a sentence ends before: `in my book club we …` is no move."""
_CLAUSE = LazyPattern(r"\w*,? (?!(?:perd[oó]n|sorry|not?)\b)\w+")
"""Behind the place that a sentence begins with."""
_UNSPECIFIC = frozenset({"room", "bill", "price", "like", "haircolour"})
"""Concepts of which the members are different things, or which say nothing of a thing."""
_ENGLISH_ARTICLE = LazyPattern(r"(?:the|my|our|an?)\b", _I)
_OWN_ARTICLES = frozenset({"my", "our", "mi", "mis", "nuestro", "nuestra"})
_DEFINITE = _OWN_ARTICLES | {"the", "el", "la", "los", "las", "al", "del"}
_INDEFINITE = frozenset({"a", "an", "un", "una", "tengo", "tenemos"})
_ARTICLE = LazyPattern(r"^(?:the|my|our|el|la|los|las|mis?|nuestr[oa]s?) ", _I)
_NEW = LazyPattern(r"\b(?:new|nuev[oa]|current|old|actual)(?: |$)", _I)
_ACTS = LazyPattern(
    r" (?:me|nos|les?) (?:l[ao]s?|han?)\b|(?: (?:has|have)|['’](?:s|ve))? \w+ (?:me|us|it|them)\b"
    r"|(?: has| ha)? (?:says?|said|dice|dijo|dicho)\b",
    _I,
)
"""Behind a subject: what it does to the speaker or to what was spoken of."""
_NO_OBJECT = LazyPattern(
    r"\b(?:has|have|had|gets?|got|is|tiene|lleva|to|in|into|at|as|on|of|for|with|en|al?|de|con|por"
    r"|para)\b|['’]s (?!\w+ed\b)|[,;]",
    _I,
)
"""Behind a subject: no verb with an object that it changes."""
_TO_PLACE = LazyPattern(
    r"\b(?:to|in|into|at|as|on|near|under|behind|inside|beside|by|en|al?|de|hacia|dentro del?"
    r"|debajo del?|detr[aá]s del?|junto al?|jug\w+|toc(?:o|a|amos)) $",
    _I,
)


@lru_cache(maxsize=5000)
def _scopes(text: str) -> tuple[Thing, ...]:
    """The things for which, or the places at which, something is so, with the noun before them:
    `code` and `gate` of `the code for the gate`; without one at the beginning of a sentence."""
    found = [*_NOUN_IN_SCOPE.finditer(text), *_FOR_THING.finditer(text)]
    if first := _SCOPE_FIRST.match(text):
        found.append(first)
    copula = COPULA.match(text)
    # A question asks for no place that it names.
    end = len(text) if text.endswith("?") else copula.start("tail") if copula else 0
    scopes = (
        Thing(
            noun=(one.groupdict().get("noun") or "").lower(),
            concepts=thing_of(one["thing"]).concepts,
        )
        for one in found
        # "We play cards at the club": it is the place that may change.
        if not (_AT.search(one[0]) and one.start() and one.end() > end and not _NEW.search(one[0]))
        and not values_of_part(one["thing"])
    )
    return tuple(
        one
        for one in scopes
        # "Estoy en urgencias": a verb.
        if one.concepts
        and one.noun not in FIRST_PERSON_VERBS
        and not concepts_of(one.noun) & _AT_VALUES
    )


_AT = LazyPattern(r" (?:at|in|en) ", _I)
_AT_VALUES = frozenset({"work", "home", "job"})
"""Concepts of nouns behind which a place is their value: `my job at the bakery`."""
_SCOPE = (
    r" (?:(?:the|my|our|an?|el|la|los|las|mis?|nuestr[oa]) )?"
    r"(?P<thing>(?-i:[a-zß-ÿ])[a-zß-ÿ]{2,}"
    r"(?: (?!(?:i|we|is|it|are|has)\b)[a-z]+(?= is\b|['’]s\b|:|$| (?:i|we|it)\b))?)"
)
_PREPOSITION = "(?:at|in|on|for|of|with|para|en|del?|al|con)"
_SCOPE_FIRST = LazyPattern(
    rf"^(?:(?:and|y|but|pero) )?(?:{_PREPOSITION}|a(?= (?:la|los|las|mis?) )){_SCOPE}", _I
)
_FOR_THING = LazyPattern(
    r"(?<!^)\b(?:for|para) (?:the|my|our|el|la|mi|nuestr[oa]) (?P<thing>(?-i:[a-z])\w{2,})", _I
)
_NOUN_IN_SCOPE = LazyPattern(
    r"(?:^|^new |\b(?:the|my|our|an? new|el|la|mi|nuestr[oa]|una? nuev[oa]) )"
    r"(?:(?!new )[a-zß-ÿ-]+ )?"
    rf"(?!(?:is|are|was|es|son|est[aá])\b)(?P<noun>[a-zß-ÿ-]+) {_PREPOSITION}{_SCOPE}",
    _I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ThingOfKind:
    """The words that tell the thing of a statement from others of its kind."""

    is_at_work: bool
    contacts: frozenset[str]
    """Concepts of _AT_PLACES that its words have: not `0698 765 432`, which only has the form of a
    telephone number."""
    is_back: bool
    is_outward: bool
    things: tuple[Thing | None, ...]
    """Matches of _TOLD_APART: a noun, with words and concepts of what follows it."""
    qualifiers: frozenset[str]
    qualified_subject: Mapping[str, frozenset[str]]
    """`qualified_nouns` of the subject: `I work at the shop of my aunt` is about no shop."""


@lru_cache(maxsize=5000)
def _thing_of_kind(text: str) -> _ThingOfKind:
    """Cached: each clause is compared with many statements."""
    found = (one.search(text) for one in _TOLD_APART)
    subject = _QUALIFIED.match(text)
    return _ThingOfKind(
        is_at_work=bool(AT_WORK.search(text)),
        contacts=word_concepts(text) & _AT_PLACES,
        is_back=bool(_RETURN.search(text)),
        is_outward=bool(_OUTWARD.search(text)),
        things=tuple(map(_told_apart, found)),
        qualifiers=features(text).concepts & _QUALIFIERS,
        qualified_subject=qualified_nouns(subject[0]) if subject else {},
    )


@lru_cache(maxsize=5000)
def qualified_nouns(text: str) -> Mapping[str, frozenset[str]]:
    """The nouns of a text that another word tells from others of their kind, each with these words:
    `key` with `garage` for `the garage key`, `vuelo` with `Lima` for `el vuelo a Lima`. Cached,
    since questions and changes are compared with many statements."""
    found: dict[str, frozenset[str]] = {}
    for one in _QUALIFIED.finditer(text):
        kind = next(filter(None, (one["kind"], one["kind2"], one["kind3"])))
        if values_of_part(kind).keys().isdisjoint({ValueType.DAY, ValueType.TIME}):
            nouns = (one[name] for name in one.re.groupindex if name.startswith("noun"))
            noun = next(filter(None, nouns)).lower()
            found[noun] = found.get(noun, frozenset()) | frozenset(kind.split())
    return found


def names_other_kind(text: str, kinds: Mapping[str, frozenset[str]]) -> bool:
    """Check whether a text names another thing of a kind than one of `kinds` (`qualified_nouns` of
    another text): they have a noun in common, each with other words beside it."""
    named = qualified_nouns(text) if kinds else {}
    return any(_are_told_apart(named[noun], kinds[noun]) for noun in named.keys() & kinds.keys())


def _are_told_apart(new: frozenset[str], old: frozenset[str]) -> bool:
    # "Physics" and "chemistry" are of one class.
    if concepts_of(" ".join(new)) & concepts_of(" ".join(old)) - general() - _OF_UNSPECIFIC:
        return False
    # A name may be that of the being that the other text calls by its role.
    are_names = [any(map(str.istitle, words)) for words in (new, old)]
    return are_names[0] == are_names[1]


_OF_UNSPECIFIC = frozenset({"exercise", "instrument", "medicine", "sport", "study", "subject"})
"""Concepts of classes, which several things of a kind share."""
_QUALIFIED = LazyPattern(
    r"\b(?:el|la|al|del|mi|una?) (?:(?P<noun>[^\W\d_]{3,}) (?:de|del|para)"
    r"|(?P<noun2>vuelo|viaje|tren|billete|avión|autobús|excursión|visita) a) (?:(?:el|la|los|las"
    r"|mis?|nuestr[oa]s?) )?(?P<kind>[^\W\d_]{3,}(?: (?-i:[A-ZÀ-Þ])[^\W\d_]+)?)"
    r"|\b(?:the|my|our) (?:(?P<noun3>[a-z]{3,}) (?:for|of)|(?P<noun4>flight|train|trip|key|door"
    r"|ticket|visit) to) (?:(?:the|my|our) )?(?P<kind2>[^\W\d_]{3,}(?: (?-i:[A-Z])[^\W\d_]+)?)"
    r"|\b(?:the|my|our) (?!(?:new|old|current|latest|last|next|first|second|same|right|wrong|other"
    r"|only|own|whole|big|small|little) )(?P<kind3>[a-z]{3,}) (?P<noun5>key|code|password|pin"
    r"|card|appointment|meeting|class|lesson|room|flight|bag|account|number|door|alarm|session"
    r"|course|exam|ticket|combination|combo)(?![\w'’])",
    _I,
)


def _told_apart(found: re.Match[str] | None) -> Thing | None:
    if found is None:
        return None
    thing = found["thing"]
    concepts = value_key(thing) | concepts_of(thing)
    return Thing(noun=(found["noun"] or "").lower(), concepts=concepts)


def _are_different(one: Thing | None, other: Thing | None) -> bool:
    """Check whether two statements use the same noun for different things."""
    if one is None or other is None or one.noun != other.noun:
        return False
    return not one.concepts & other.concepts


_AT_PLACES = frozenset({"phone", "email", "address", "number"})
_THING = r"(?P<thing>(?:(?:my|our|the|mi|el|la|nuestr[oa]) )?[\w-]+)"
_COMPANION_OF = LazyPattern(
    r"\b(?P<noun>meeting|dinner|lunch|call|date|appointment|class|lesson|interview|reuni[oó]n|cena"
    rf"|comida|cita|llamada|clase|entrevista) (?:with|con) {_THING}",
    _I,
)
"""An occasion with another person: `the meeting with Tom`."""
_KIND_OF = LazyPattern(
    rf"\b(?P<noun>clases?|curso|examen|cita|seguro|recibo|c[oó]digo|clave) de (?:la |el )?{_THING}",
    _I,
)
_PAID_FOR = LazyPattern(
    r"\b(?P<noun>)(?:pay(?:ing)?|spend(?:ing)?|pag(?:o|amos)|gasto) [^,;]*?\b(?:for|on|de|por|en) "
    rf"(?!(?:it|them|that|a|an|per|the month|year|month|euros?|d[oó]lares)\b){_THING}",
    _I,
)
"""The thing that is paid for: `I pay £30 for the gym`."""
_TOLD_APART = (_COMPANION_OF, _KIND_OF, _PAID_FOR)
_OF_MANY_THINGS = frozenset({
    "insurance", "rent", "bill", "price", "code", "password", "key", "rubbish",
})  # fmt: skip
_QUALIFIERS = frozenset({
    "car", "home", "travel", "trip", "phone", "pet", "dog", "cat", "health", "gas", "office",
    "work", "school", "child", "son", "daughter", "parking", "garage", "storage", "garden",
})  # fmt: skip
"""Concepts that tell two of a kind apart: the insurance of the car and of the house."""
ONE_MATTER = (
    frozenset({"work", "shift"}),
    frozenset({"birthday", "age"}),
    frozenset({"doctor", "surgery"}),
    frozenset({"work", "fire"}),
    frozenset({"record", "run"}),
    frozenset({"bestfriend", "friend"}),
    frozenset({"trip", "flight"}),
)
"""Concepts that imply each other: a fact about one is a fact about the other."""
