"""Pronouns: clauses and questions that name their subject in an earlier message."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import FINITE, THIRD_SPANISH
from spade_llm.understanding.features import PUT_ELSEWHERE, features, is_changed
from spade_llm.understanding.vocabulary import (
    WEEKDAYS,
    ValueType,
    concepts_of,
    general,
    has_count,
    is_concept,
    is_function_word,
    kin,
    sex_of,
    things,
    typed_values,
    value_key,
    values_of_part,
)
from spade_llm.understanding.wording import SPANISH_FIRST_PERSON, past_verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_I = re.IGNORECASE

MAX_BACK = 4
"""Number of earlier statements in which the noun for a pronoun is looked for."""
MAX_BACK_THING = 2
"""The same for a thing: `it` seldom reaches as far back as `she`."""
_MAX_BACK_OF = {"female": MAX_BACK, "male": MAX_BACK, "any": MAX_BACK, "implied": 1}
MAX_ANTECEDENT_CHARS = 150
"""Maximum length in characters of a statement that is repeated before what refers to it."""
MAX_PHRASE_WORDS = 4
"""Maximum length in words of a noun phrase behind its article."""
MAX_SUBJECT_WORDS = 3
"""The same for a subject without one."""
MAX_BARE_WORDS = 5
"""Maximum length in words of a statement that has a number, but no topic of its own."""

_SUBJECT_PRONOUN = LazyPattern(
    r"^(?P<pronoun>she|he(?! \w+(?:ado|ido|echo|uesto|isto|ito)\b)|his|her|[ée]l(?= (?:es|vive"
    r"|tiene|trabaja|se)\b)|él|(?-i:ella)"
    rf"|(?-i:Ella)(?!['’]s?\b| {FINITE}\b))(?P<rest>['’](?:s|ll)\b.*| .*)$",
    _I,
)
_THIRD_VERB = LazyPattern(
    r"^(?!est[ae]s? (?:semana|ma[ñn]ana|tarde|noche|fin|mes|a[ñn]o|verano|invierno|oto[ñn]o"
    r"|primavera|ve[cz]|curso|d[ií]a|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo))"
    r"(?:no |ya |tambi[eé]n |ahora )?"
    rf"(?:(?:se )?(?!gusta|encanta|hay|toca|queda|llueve|van?\b){THIRD_SPANISH}"
    r"|va a (?!llover|haber|nevar|ser\b|hacer)|va al (?=cole\w*|insti\w*|guarde\w*|jard[ií]n"
    r"|m[eé]dico|gimnasio)"
    r"|se (?:va|vuelve|muda|casa|queda|jubila|separa|viene|marcha|traslada)"
    r"|les? (?:gusta|encanta)n?)\b",
    _I,
)
_OF_LAST = LazyPattern(
    r"^(?:(?:no|ya|tambi[eé]n|ahora|siempre|nunca) )*(?:toca (?:el|la|los|las) (?:piano|guitarra"
    r"|viol[ií]n|flauta|bater[ií]a|bajo|saxo\w*|trompeta|chelo|violonchelo|clarinete|arpa|ukelele"
    r"|acorde[oó]n|tambor|teclado|[oó]rgano)"
    r"|saca (?:muy )?(?:buen|mal)[oa]s|(?:fuma|colecciona|monta|anda|nada|corre|lee|baila|pinta"
    r"|cocina|usa|vende|ronca|ladra|entrena|dibuja|teje|cose|viaja|conduce|maneja|adora|detesta"
    r"|padece|sufre|calza|toma|reparte|arregla|pesca|patina|esqu[ií]a|vota|reza)(?:$| (?!l[ao]s? "
    r"(?!lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados|domingos)|el |est[eao]|nota))"
    r"|(?:se )?(?:aprob|suspend|gan|perd|vend|compr|romp|dej|cambi|mud|cas|divorci|licenci|gradu"
    r"|sac|encontr|consigu|adopt|empez|conoc|estudi|trabaj|jubil|apunt|torc|promet|separ|fich|public"
    r"|oper|tatu)i?ó \w)",
    _I,
)
"""Spanish verb without a subject: the being that the last statement begins with is meant."""
_OF_BEFORE = LazyPattern(
    r"^(?:no |ya |tambi[eé]n |ahora |luego )?(?:se )?(?:entra|(?:gan|consigui|compr|dej|empez"
    r"|encontr|aprob|vendi|pidi|abri|termin|acab|sac|firm|alquil|adopt)ó|[^\W\d_]{3,}(?<!r)ó"
    r"(?! (?:el|la|los|las|una?|mis?|nuestr)))(?!\w)"
    r"|^(?:no |ya )?(?:le|l[ao]) (?:han? )?[^\W\d_]+(?:aron|ieron|ado|ido|ó|an|en)\b",
    _I,
)
"""Spanish verb without a subject: the clause before it in the message names that, or the object."""
_PLURAL_VERB = LazyPattern(r"^(?:no |ya |tambi[eé]n |ahora |se |les? )*[^\W\d_]+n\b", _I)
_SUBJECT_BEHIND = LazyPattern(
    r"^(?:no |ya |tambi[eé]n |ahora )?(?:se )?(?:(?:ha|han) )?(?:muert|muri|ven(?!d)|vin|lleg|nac"
    r"|march|ido|vuelt|volv|escap|perd|ca[ií]d|cay|jubil|cas|va|viene)\w*"
    r" (?:(?-i:[A-ZÀ-Þ])|mis? |nuestr|el (?!\d)|la |los |las )"
    r"|^(?:no |ya )?se (?:ha|han) (?:suspend|aplaz|posterg|cancel|anul|retras|adelant|acab|termin"
    r"|rot"
    r"|abiert|cerrad)\w* (?:el|la|los|las|lo|mis?|un|una) "
    r"|^(?:ya |ahora )*(?:est[aá]|vive|va|viene|trabaja|duerme) (?-i:[A-ZÀ-Þ])"
    r"|^(?:ya |ahora )*(?:me|nos|les?) [^\W\d_]+[aen] (?:el|la|los|las|mis?) [\w-]+"
    r" (?-i:[A-ZÀ-Þ])[\w-]+$"
    r"|^(?:me )?(?:dice|dijo|cuenta) (?!que\b)(?:\w+ ){1,4}que\b",
    _I,
)
"""A verb before its subject: `se ha muerto Trasto`."""
_IS_NAME = LazyPattern(r"^(?:no |ahora |ya )*(?:es|se llama) (?-i:[A-ZÀ-Þ])", _I)
_IMPERSONAL = LazyPattern(
    r"^(?:no |tambi[eé]n |ahora )?(?:ha|est[aá]|es) (?:muy |ya |todo )*(?:llov|nev|granizad|tronad"
    r"|hech|habid|sid|nublad|oscur|tarde|temprano|pronto|hora|verdad|cierto|igual|mejor|que|lunes"
    r"|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo|(?:el |la )?\d)"
    r"|^(?:ahora )?qued[oóa] (?:en )?\S*\d",
    _I,
)
"""`Ha llovido`: a verb without a subject, which is not said of what was spoken of before."""
_PRONOUN = LazyPattern(
    r"\b(?:(?P<female>she|hers?|(?-i:ella))"
    r"|(?P<male>(?<!me )(?<!nos )(?<!lo )he(?! \w+(?:ado|ido|echo|uesto|isto|ito)\b)|him|his"
    r"|[eé]l(?= (?:es|vive|tiene|trabaja|se)\b)|^él)"
    rf"|(?P<plural>they|them|theirs?|ell[ao]s|les|(?<!\w )l[ao]s(?= {PUT_ELSEWHERE}\b)"
    r"|(?<=dónde )l[ao]s(?= (?:he|hemos|\w+[ée])\b))"
    r"|(?P<thing>(?<!of )(?-i:[Ii]ts?)(?! (?:takes|turns|looks|seems|rain|snow|doing\b|done\b))"
    r"|(?<!\w )l[ao](?= (?:han?|he|hemos) (?:aplaz|posterg|anul|cancel|pospu|adelant|retras))"
    rf"|(?<!\w )la(?= {PUT_ELSEWHERE}\b)|(?<=dónde )l[ao](?= (?:he|hemos|\w+[ée])\b))"
    r"|(?P<any>sus?|le|\w{2,}[aeiáéí]r(?:sel[aoe]s?|l[aoe])|(?<!\w )lo(?! (?:que"
    r"|del?|m[ií]o|mismo)\b| (?:han?|he|hemos) (?:aplaz|posterg|anul|cancel|pospu|adelant|retras))"
    r"|(?<=^me )l[ao]|(?<=^se )l[ao]|(?<=^la )(?:vamos|\w+[óé])(?= ))"
    r"|(?P<implied>^we (?:met|meet|(?:know|see) each other)|^i go(?= (?:every|once|twice|on)\b)"
    r"|^(?:voy|vamos)(?= (?:los|el|cada|todos|una|dos|a las)\b)"
    r"|^nos (?:conoc(?:emos|imos)|v(?:emos|imos))))(?!\w)",
    _I,
)
"""Pronouns for another being or thing; `it rains` and `half of it` have none. What a verb without
its object implies is taken for one, too: `my sister is called Ana, we meet on Sundays`."""
_TO_THEM = LazyPattern(r"^(?:(?:ya|ahora|tambi[eé]n|no) )*(?P<le>le) ", _I)
_DOUBLED = LazyPattern(
    r"le \w.*? a (?:(?-i:[A-ZÀ-Þ])|(?:mi|la|el|nuestr[oa]|un|una|don|do[ñn]a)\b"
    r"|(?!l[ao]s\b)[^\W\d_]{4,}\b)|le \w.*? al \w",
    _I,
)
"""Spanish names the person behind the verb as well: `le pago 30 euros a Ana`."""
_DOUBLED_FIRST = LazyPattern(
    r"al? (?!m[ií]\b|ti\b|[eé]l\b|ell[ao]s?\b)[\w-]+(?: [\w-]+){,3}? les? [^\W\d_]{2,}", _I
)
"""… and before it: `a Ana le compré un reloj`."""
MAX_WORDS_BEFORE = 6
"""Maximum number of words before a pronoun that means something in an earlier statement."""
_APART = LazyPattern(
    r"^(?:\S+ ){2,}\S+,.* $|^\S+,? (?:says|said|reckons|thinks) $"
    r"|^an? [\w-]+ (?:told|tells|said|says|claims?) |^(?:el|la) (?:del?|que) ",
    _I,
)
"""The words of another clause before the one with the pronoun."""
_GIVEN = LazyPattern(
    r"\b(?:gave|paid|told|lent|sent|showed|owe|give|pay|tell|lend|send|show) "
    r"(?!(?:me|us|back|it|them|out|off|up|the|my|our)\b)[^\W\d_]{3,} $",
    _I,
)
_OBJECT_BEFORE = LazyPattern(
    r"(?P<object>[\w-]+)(?:\s*[,;:–—]|,? (?:because|as|since|and|but|so))\s+$", _I
)
"""The last word of the clause before a pronoun."""
_NULL_PLURAL = LazyPattern(
    r"^(?:no |ya |tambi[eé]n |siempre |se )*(?!son\b|est[aá]n\b)[^\W\d_]{2,}(?:an|en) (?:en|con|a"
    r"|al|de|juntos)\b",
    _I,
)
"""A Spanish verb in the plural without a subject: `duermen en el patio`."""
_ARTICLE = LazyPattern(
    r"(?:(?P<own>my|our|mis?|nuestr[oa]s?)|his|her|their|the|an?|another|two|three|four|some|sus?|el|la"
    r"|los|las|un[oa]?s?|dos|tres|cuatro)$",
    _I,
)
_STOPS = LazyPattern(
    rf"(?:{FINITE}|at|in|on|for|with|from|to|by|who|that|which|because|so|but|and|then|as|of"
    r"|en|con|por|para|al?|que|porque|pero|y|e|i|i['’]\w+|we|me|called|named|llamad[oa]|cada|se|te"
    r"|le|lo|nos|ya|no|siempre|nunca|a[uú]n|todav[ií]a|ahora|tampoco|esta|sustituy\w+|reemplaz\w+|cubre|just|also|up|down|again|after|before|yesterday|today|tonight|last|ayer|hoy"
    r"|anoche|otra)$",
    _I,
)
"""Words at which a noun phrase ends."""
_FINITE = LazyPattern(rf"{FINITE}$", _I)
_SINGULAR_VERB = LazyPattern(
    r"(?:['’]s|is|was|has|lives|works|se|ha|es|est[aá]|era|tiene|vive|trabaja|me|nos|le|ya)$", _I
)
_THIRD = LazyPattern(rf"{THIRD_SPANISH}$", _I)
_TO_THE = LazyPattern(r"al$", _I)
_PARENT = LazyPattern(r"(?:mam[aá]|pap[aá]|mami|papi)$", _I)
"""Nouns that need no article: `a mamá la operaron`."""
_SPANISH = LazyPattern(
    r"\b(?:el|la|los|las|mi|que|se|ha|han|es|son|nos|una|con|por|muy|su|ya|de|del|al|le|lo)\b"
    r"|[áíóúñ]",
    _I,
)
_INDEFINITE = LazyPattern(r"(?:an?|another|una?|otr[oa]) ", _I)
_CALLED = LazyPattern(r"\b(?:called|named|llamad[oa]|llama) $", _I)
_WE = LazyPattern(r"^we\b", _I)
_WILL = LazyPattern(r"^['’]ll\b", _I)
_NAMES = LazyPattern(r"(?:['’]s| is) (?:called|named)\b|['’]s name\b| se llama\b", _I)
_CLITIC = LazyPattern(r"l[ao]s?$", _I)
_OBJECT_PRONOUN = LazyPattern(r"(?:l[aeo]s?|se|nos|me)$", _I)
_TITLE = LazyPattern(r"(?:mr|mrs|ms|miss|dr|prof|sir|rev|sr|sra|srta|don|do[ñn]a)$", _I)
_BEFORE_PLACE = LazyPattern(r"(?:at|in|on|to|near|into|from|en|st|san|santa|al|de|del)$", _I)
_MOTION = LazyPattern(
    r"(?:mudad|ido|fu[ei]|voy|va|viaj|vuel|lleg|vin|traslad|regres|volv|march)\w*$", _I
)
"""Spanish verbs behind which `a` leads to a place, and not to a person."""
_WORD = LazyPattern(r"[\w'’-]+|[^\w\s]")
_NAME = LazyPattern(
    r"(?<![\w'’])(?!(?:My|We|It|He|In|On|At|To|Of|Or|If|As|By|An|So|No|Is|Do|Me|Us|Up|Dr|Mr|Ms|El"
    r"|La|Mi|Se|Te|Yo|Tu|Su|En|De|Al|Un|Lo|Le|Ya|S[ií]|Es|Va|Ha|Ni|Él|Tú|OK)\b)"
    r"[A-ZÀ-Þ][a-zß-ÿ]+"
)
_ABOUT_IT = LazyPattern(r"^(?:its|it['’]s|it is)\b(?!.*\b(?:i|my|we|our)\b)", _I)
_UNRESOLVED = LazyPattern(
    r"^(?:they|their|ell[ao]s)(?:\s|['’])(?!.*\b(?:my|our|me|us|mis?|nuestr[oa]s?|nos)\b)", _I
)
_ROLES = tuple(
    LazyPattern(pattern, _I)
    for pattern in (
        r"\b(?:my|our|mi|nuestr[oa]) (?:(?:little|big|old(?:er|est)?|young(?:er|est)?|eld(?:er|est)"
        r"|best|new|twin) )?(?P<noun>[\w-]+)"
        r"(?: (?:mayor|menor|median[oa]|peque[ñn][oa]))?,? NAME\b",
        r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>[\w-]+)(?:['’]s(?: called| named)?"
        r"| (?:is|es)(?: called| named)?| se llama) NAME\b",
        r"\b(?:have|has|had|got|adopted|bought|teng?o|ten[eé]mos|adopt\w+|compr\w+) (?:\w+ )?"
        r"(?:an?|una?|one) (?P<noun>[\w-]+),?(?: called| named| llamad[oa]"
        r"| que se llama)? NAME\b",
    )
)
"""Nouns of a named being: `my dog NAME`, `my dog is called NAME`, `a dog, NAME`."""
_TITLE_BEFORE = r"(?:(?:Dr|Dra|Prof|Professor|Doctor|Doctora|Profesora?|Mr|Mrs|Ms|Sr|Sra)\.? )"
_ROLES_WITH_TITLE = frozenset({"boss", "dentist", "doctor", "landlord", "teacher", "vet"})
"""Concepts of people who are called by a title: `my supervisor is Professor Haddad`."""
_ROLES_OF_PEOPLE = frozenset({"profession", "landlord", "lodger"})
"""Concepts of people beside those of the vocabulary's beings."""
_SINGULAR = frozenset({"a", "an", "el", "la", "un", "una", "mi", "nuestro", "nuestra"})
"""Articles of one thing: `el doctor Salinas` is no plural."""
_SPANISH_ARTICLE = LazyPattern(r"(?:el|la|los|las|un[oa]?s?|mis?|sus?|nuestr[oa]s?)$", _I)
_ADVERBS = frozenset({
    "ayer", "anteayer", "anoche", "luego", "despues", "entonces", "encima", "tampoco", "yesterday",
    "tonight", "hoy", "today", "then", "maybe", "perhaps", "quizas", "quiza",
})  # fmt: skip
"""Words that begin a statement with a capital and are no names."""
_PLACES = frozenset({
    "employer", "exercise", "home", "hospital", "hotel", "nursery", "restaurant", "school",
})  # fmt: skip
"""Concepts of places: `there`."""
_NAMED_THINGS = _PLACES | {"address", "boat", "book", "car", "film", "team", "website"}
"""Concepts of places and things that have names of their own: `our gym is called Fit Zone`."""
_OCCASIONS = frozenset({
    "anniversary", "appointment", "birthday", "exam", "interview", "meeting", "party", "surgery",
    "visit", "wedding",
})  # fmt: skip
"""Concepts of nouns that stand behind the noun of a being: `the vet appointment`."""
_NOT_MEANT = LazyPattern(
    r"\b(?:day|week|weekend|month|year|hour|minute|night|morning|evening|afternoon|time|moment|bit"
    r"|d[ií]a|semana|mes|meses|a[ñn]o|hora|minuto|noche|tarde|vez|momento|rato|thing|cosa)s?$"
    r"|^(?:yesterday|today|tomorrow|tonight|ayer|anoche|hoy|m[ií])$"
    r"|^(?:i|we)['’]ve$",
    _I,
)
"""Words that no pronoun means: `once a day`."""
_HAVE = LazyPattern(r"(?:tengo|tenemos|tiene|hay)$", _I)
_PERSON = LazyPattern(
    r"(?:man|lady|guy|bloke|chap|lad|lass|kid|girl|boy|hombre|mujer|chic[oa]|señora?|tip[oa])"
    r"(?: (?-i:[A-ZÀ-Þ])\w+)?$",
    _I,
)
"""Nouns of people of whom nothing else is known: `the boiler man`."""
_BARE_ADVERB = LazyPattern(r"\w+(?:ly|mente)$", _I)
_SPANISH_OWNER = LazyPattern(r"\b(?:mi|nuestr[oa]|(?-i:una?)|llama|tengo|tenemos)\b", _I)
_OWN_NOUN = LazyPattern(r"\b(?:my|our|mi|nuestr[oa]) [\w-]+", _I)
_SPECIFIED = LazyPattern(
    r",? (?:(?:el|la) (?:del?|que)|(?:from|at) [\w'’ ]+ (?:is|has|was|got)|next door|upstairs"
    r"|downstairs)\b",
    _I,
)
"""Says which bearer of a name is meant: rather another one than the one that was spoken of."""
_THERE = LazyPattern(r"(?<=[a-zß-ÿ] )(?:there|all[ií]|ah[ií])\b(?! (?:is|are|was))", _I)
_PLACE_NAME = LazyPattern(
    r"\b(?:in|at|from|en|de) (?-i:[A-ZÀ-Þ])[\w'’-]+(?: (?-i:[A-ZÀ-Þ])[\w'’-]+)*", _I
)
_FROM = LazyPattern(r"^(?:from|(?P<es>de)) ", _I)
_FOLLOW_UP = LazyPattern(
    r"^[¿\s]*(?:and|but|y|pero),? (?:(?:at|in|on|for|with|a|de|en|con|desde|por) )?"
    r"(?:wh\w+|how|qu[eé]|qui[eé]n|cu\w+|d[oó]nde|c[oó]mo)(?: [\w'’]+){0,2}[\s?]*$"
    # Of these, the conjunction may be missing.
    r"|^[¿\s]*(?:at )?what time[\s?]*$|^[¿\s]*a qu[eé] hora[\s?]*$"
    r"|^[¿\s]*(?:since |with |desde |con |de |a )?(?:when|where|whom?|why|cu[aá]ndo|d[oó]nde"
    r"|qui[eé]n)[\s?]*$"
    # Spanish needs no pronoun: "¿de qué color es?", but "¿qué día es?" asks for today.
    r"|^[¿\s]*(?!qu[eé] (?:d[ií]a|hora|fecha|mes|a[ñn]o) es\b)(?:y )?"
    r"(?:(?:a|de|en|con|para|por|desde) )?"
    r"(?:qu[eé]|cu[aá]l|cu[aá]ndo|cu[aá]nt[oa]s?|d[oó]nde|c[oó]mo|qui[eé]n)"
    r"(?: (?:raza|color|a[ñn]o|marca|modelo|talla|d[ií]a|hora|piso|tama[ñn]o|edad|fecha|mes|ciudad"
    r"|tipo))? (?:es|fue|era|son|est[aá]|queda|vale|cuesta|mide|pesa|dura|le pasa|le duele|vence"
    r"|caduca|empieza|termina|sale|llega|abre|cierra)[\s?]*$",
    _I,
)
"""A question that only asks for more of what was spoken of last."""
_AT_ANOTHER_TIME = LazyPattern(
    r"^[¿\s]*(?:(?:and|but|y|pero),? )?(?:what about )?"
    r"(?P<then>before(?: that)?|previously|antes(?: de eso)?|now|ahora)[\s?]*$",
    _I,
)
"""The question before it, asked of another time: `and before?`."""
_THEN = LazyPattern(r"\b(?:before(?: that)?|previously|antes(?: de eso)?|now|ahora)\b", _I)
_OF_ANOTHER = LazyPattern(
    r"^[¿\s]*(?:(?:and|but|y|pero),? )?(?:(?:what|how) about |qu[eé] (?:hay|me dices) de )?"
    r"(?:(?:on|los|el|a|con|with|de) )?(?P<other>(?!(?:wh\w+|how|qu[eé]|qui[eé]n\w*|cu\w+|d[oó]nde"
    r"|c[oó]mo|ok|really|sure|vale|seguro|right|s[ií]|yes|no)\b)"
    r"(?:[\w'’]+(?: [\w'’]+)?|(?:my|our|the|mi|nuestr[oa]|el|la) [\w'’]+(?: [\w'’]+){0,3}))"
    r"[\s?]*\?\s*$",
    _I,
)
"""The question before it, asked of somebody else or of another day: `and Emma?`."""
_WEEKDAY = LazyPattern(rf"\b(?:{WEEKDAYS})\b", _I)
_ASKED_NAME = LazyPattern(r"(?<=[\w,] )(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+\b")
MAX_FOLLOWED = 5
"""Maximum number of questions in a row of which each follows the one before it."""
_ASKED_IT = LazyPattern(
    r"\b(?:it|that|this|they|lo|eso)\b|^¿?(?:y )?(?:cu[aá]l|cu[aá]nto|d[oó]nde) (?:es|era|est[aá])",
    _I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A noun phrase of a statement, to which a later pronoun may refer."""

    text: str
    """The noun phrase; without its article if it is a thing of others: `pressure washer`."""
    start: int
    is_named: bool
    """It is a name, maybe with a title."""
    is_being: bool
    is_sure: bool
    """It is known to be a being, or not the first word, which has a capital anyway."""
    is_animal: bool
    is_plural: bool
    is_unknown: bool
    """The vocabulary knows no such thing, so that it may be a person."""
    is_value: bool
    """It is a day, a number or the like."""
    is_new: bool
    """Subject of the statement, or introduced by it: `the` is said of things that are known."""
    sex: str
    """`female`, `male`, or empty: not known."""

    def fits(self, kind: str) -> bool:
        """Check whether a pronoun (a group of `_PRONOUN`) may mean it."""
        if kind in ("female", "male"):
            return self.is_being and not self.is_plural and self.sex in ("", kind)
        if kind in ("any", "implied"):
            return self.is_being and not self.is_plural
        is_thing = not self.is_being or self.is_animal
        return self.is_new and self.is_plural == (kind == "plural") and (self.is_plural or is_thing)


@lru_cache(maxsize=2000)
def noun_phrases(statement: str) -> tuple[Mention, ...]:
    """The noun phrases of a statement, in order. Cached: each pronoun looks at several."""
    found = list(_noun_phrases(statement))
    if end := _end_of_profession(statement, found[0]) if found else 0:
        # "Mark is a plumber": a name, and no other being.
        person = replace(found[0], is_named=True, is_being=True, is_sure=True)
        found = [person, *(one for one in found[1:] if one.start >= end)]
    for number, (thing, name) in enumerate(pairwise(found), 1):
        is_thing = not thing.is_being and concepts_of(thing.text) & _NAMED_THINGS
        if is_thing and _CALLED.search(statement[thing.start : name.start]):
            # "Our gym is called Fit Zone" names no person.
            found[number] = replace(name, is_being=False)
        elif (
            thing.is_being and not name.sex and _CALLED.search(statement[thing.start : name.start])
        ):
            found[number] = replace(name, sex=thing.sex)
    return tuple(found)


def _end_of_profession(statement: str, first: Mention) -> int:
    """The end of what a person is, if a statement begins with a word that is a name here, since it
    says that; 0 if it does not."""
    is_word = not (first.start or first.is_being) and first.text.isalpha()
    told = _IS_A_ONE.match(statement, len(first.text)) if is_word else None
    is_profession = told is not None and "profession" in concepts_of(told["noun"])
    return told.end() if told and is_profession and first.text[0].isupper() else 0


_IS_A_ONE = LazyPattern(
    r"(?:['’]s| is| was| es| era)(?: an?| una?)? (?P<noun>\w+(?: \w+)?)(?![\w'’])", _I
)


def leading_noun(statement: str) -> Mention | None:
    """The noun phrase that a statement begins with, mostly its subject; None if there is none."""
    first = next(iter(noun_phrases(statement)), None)
    return first if first is not None and first.start == 0 else None


@lru_cache(maxsize=5000)
def subject_name(statement: str) -> frozenset[str]:
    """Words of the name of the being that a statement begins with, in lower case: `my friend Ann`,
    `Dr Hill`; none if it has no name."""
    subject = leading_noun(statement)
    if subject is None:
        return frozenset()
    words = subject.text.split()
    names = words if subject.is_named else words[1:]
    return frozenset(
        # "Tom's dentist": Tom.
        re.split("['’]", one.lower())[0]
        for one in names
        if one[:1].isupper() and not _TITLE.match(one)
    )


def is_noun_phrase(text: str) -> bool:
    """Check whether a text has nothing but nouns and names: `my niece Ann`."""
    rest = text.lower()
    for one in noun_phrases(text):
        rest = rest.replace(one.text.lower(), "", 1)
    return not rest.strip(" ,")


def _noun_phrases(statement: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(statement))
    # Spanish `a Ana` has no article.
    is_spanish = bool(_SPANISH.search(statement))
    number = behind = 0
    while number < len(words):
        article = _article_at(words, number, is_spanish=is_spanish)
        first = number + 1 if article else number
        # "They've" is one, too.
        bare = re.split("['’]", strip_accents(words[number][0].lower()))[0]
        is_word = is_function_word(bare) or bare in _ADVERBS
        if number and number == behind and _CLITIC.match(words[number][0]):
            # "A Ana la cuida Eva": a pronoun, not an article.
            number += 1
            continue
        if article:
            last = _phrase_end(words, first)
        elif _PARENT.match(words[number][0]):
            last = first + 1
        else:
            last = _name_end(words, first)
            if number == 0 and last == first and not is_word:
                last = _subject_end(words)
        if number < last < len(words) and _is_possessed(words[last - 1][0], words[last][0]):
            last += 1
        if last > first:
            behind = last
            yield _mention(
                statement[words[first].start() : words[last - 1].end()],
                start=words[number].start(),
                article=_TO_THE.sub("el", article[0].lower()) if article else "",
                is_subject=number == 0,
            )
        number = max(last, number + 1)


def _article_at(
    words: Sequence[re.Match[str]], number: int, *, is_spanish: bool
) -> re.Match[str] | None:
    """The word at this place, if a noun phrase begins behind it."""
    word = words[number][0]
    following = words[number + 1][0] if number + 1 < len(words) else ""
    if word in ("a", "A") and is_spanish and (_NAME.match(following) or _PARENT.match(following)):
        return None
    behind = words[number + 2][0] if number + 2 < len(words) else ""
    if is_spanish and (number or _OBJECT_PRONOUN.match(behind)) and (to_the := _TO_THE.match(word)):
        # "Llama al fontanero", "al perro le damos pienso".
        return to_the
    # "Tengo reunión con Ana": a noun without its article.
    is_bare = bool(following) and not _ARTICLE.match(following)
    return _ARTICLE.match(word) or (_HAVE.match(word) if is_bare else None)


def _is_possessed(owner: str, word: str) -> bool:
    """Check whether a word is the being of an owner: `Kate's mum`, not `Kate's ill`."""
    return owner.endswith(("'s", "’s")) and bool(concepts_of(word) & (kin() | {"pet"}))


def _phrase_end(words: Sequence[re.Match[str]], first: int) -> int:
    last = first
    while last < min(len(words), first + MAX_PHRASE_WORDS):
        word = words[last][0]
        if word == "in" and words[last + 1 : last + 2] and words[last + 1][0] == "law":
            last += 2
            continue
        is_behind_name = last > first and _NAME.match(words[last - 1][0]) and word[0].islower()
        # "My son": the Spanish verb stands behind a noun.
        is_son = word.lower() == "son" and last == first
        # "My sister Una", "my son Ned": no article, and no verb.
        is_name = last > first and bool(_NAME.match(word)) and word[0] != "I"
        is_verb = (_STOPS.match(word) and not is_son) or word.endswith(("n't", "n’t"))
        is_article = _ARTICLE.match(word)
        if not is_name and (is_verb or not word[0].isalnum() or is_article or is_behind_name):
            break
        last += 1
        if word.endswith(("'s", "’s")):
            break
    if first < last < len(words) and words[last - 1][0] == "de" and _ARTICLE.match(words[last][0]):
        # "La profe de mi hija": the second noun belongs to the first.
        return _phrase_end(words, last + 1)
    return last


def _subject_end(words: Sequence[re.Match[str]]) -> int:
    """The end of a subject without an article: `boiler man's coming`; 0 if there is none."""
    for last, word in enumerate(words[:MAX_SUBJECT_WORDS], 1):
        if not word[0][0].isalnum():
            # "'s moved": the rest of a clause behind its subject.
            break
        if word[0].endswith(("'s", "’s")) and len(word[0]) > len("'s"):
            return last
        if last < len(words) and _FINITE.match(words[last][0]):
            return last
        if not word[0].isalpha() or _STOPS.match(word[0]):
            break
    return 0


def _name_end(words: Sequence[re.Match[str]], first: int) -> int:
    """The end of a person's name that begins here; `first` if none does. The first word of a
    statement has a capital anyway: it is a name only if it has no other meaning."""
    last = first
    if _TITLE.match(words[first][0]) and len(words) > first + 1:
        last = first + 1 + (words[first + 1][0] == ".")
        return min(last + 1, len(words))
    while last < len(words) and _NAME.match(words[last][0]):
        last += 1
    word = re.sub(r"['’]\w+$", "", strip_accents(words[first][0].lower()))
    # "Mía" is a pronoun, "Mia" hardly ever.
    is_word = is_function_word(word) and not words[first][0].startswith("Mia")
    is_word = is_word or any(map(is_concept, concepts_of(word) - {"origin"}))
    is_word = is_word or word in _ADVERBS
    is_verb = word in SPANISH_FIRST_PERSON or bool(past_verb(words[first][0].lower()))
    if first == 0 and is_verb and last == 1 and last < len(words):
        # "Curro tiene …": a verb in the first person has no other verb behind it.
        is_word = not _THIRD.match(words[last][0])
    before = [one[0] for one in words[max(0, first - 2) : first]]
    is_place = bool(before and _BEFORE_PLACE.match(before[-1]))
    is_place = is_place or (before[-1:] == ["a"] and bool(_MOTION.match(before[0])))
    # The second word of a place: "at Oak Hospital".
    is_behind = len(before) == 2 and bool(_NAME.match(before[1]))
    is_place = is_place or (is_behind and bool(_BEFORE_PLACE.match(before[0])))
    # "Rehearsals are …", but "Blas ha …".
    following = words[last][0] if last < len(words) else ""
    is_plural = word.endswith("s") and not _SINGULAR_VERB.match(following)
    # "Memory clinic is on Friday": a noun before another one.
    behind = words[last + 1][0] if last + 1 < len(words) else ""
    is_compound = last == 1 and following.islower() and bool(_FINITE.match(behind))
    is_compound = is_compound and not (_FINITE.match(following) or _NAMED_BEFORE.match(following))
    is_word = is_word or is_plural or is_compound
    return first if is_place or (first == 0 and is_word) else last


_NAMED_BEFORE = LazyPattern(
    r"(?:and|y|e|se|me|te|nos|les?|l[ao]s?|no|ya|also|just|never|\w{3,}(?:s|ly|o|a|e))$", _I
)
"""Word behind a name: a conjunction, a pronoun, a verb or an adverb."""


def _mention(text: str, *, start: int, article: str, is_subject: bool) -> Mention:
    text = re.sub(r"['’]s$", "", text)
    head = re.split(r"['’]s ", text)[-1]
    concepts = concepts_of(head)
    # "Finn", "Scott": a nationality is rather an adjective than a subject.
    is_unknown = (
        not any(map(is_concept, concepts - {"origin"})) or text.lower() in SPANISH_FIRST_PERSON
    )
    # A capital inside a statement makes a name, whatever else the word means.
    has_capital = bool(_NAME.match(text)) and (is_unknown or (start > 0 and _is_name(text)))
    is_value = bool(values_of_part(text).keys() - {ValueType.NAME})
    is_named = not article and (
        (has_capital and not is_value) or bool(_TITLE.match(text.split()[0]))
    )
    is_own = article.startswith(("my", "our", "mi", "nuestr"))
    beings = kin() | _ROLES_OF_PEOPLE
    words = text.split()
    # "The vet appointment" is no vet: the noun is the last word, in Spanish the first.
    noun = concepts_of(words[0] if _SPANISH_ARTICLE.match(article) else words[-1])
    is_of_being = bool(noun & beings) or not noun & (things() | _OCCASIONS)
    is_of_being = is_of_being and not _JOB.search(head)
    if _SPANISH_ARTICLE.match(article) and _THING_OF.match(text):
        # "El coche de mi hermana" is no sister.
        is_of_being, head = bool(noun & (beings | {"pet"})), words[0]
    is_known_being = bool(concepts & beings and is_of_being) or bool(_PERSON.search(text))
    return Mention(
        text=f"{article} {text}" if is_own or article in ("the", "el", "la") else text,
        start=start,
        is_named=is_named,
        is_being=is_known_being or is_named,
        is_sure=is_known_being or start > 0,
        is_animal="pet" in concepts,
        is_plural=text.endswith("s")
        and not is_named
        and article not in _SINGULAR
        and (article.endswith("s") or not sex_of(head) or bool(_RELATIVES.search(head))),
        is_unknown=not concepts & things(),
        is_value=is_value,
        is_new=is_subject or article not in ("the", "el", "la", "los", "las", ""),
        sex=sex_of(head),
    )


_THING_OF = LazyPattern(r"(?!(?:mayor|menor|median|peque|beb)\w*)[\w-]+ (?:del?|de (?:la|mi)) ", _I)
_JOB = LazyPattern(r"\b(?:job|career|occupation|trabajo|oficio|profesi[oó]n)$", _I)
"""A job is no being, as a plumber is."""
_RELATIVES = LazyPattern(
    r"\b(?:boy|girl|lad|son|daughter|brother|sister|nephew|niece|uncle|aunt)s$", _I
)
"""Several beings of one sex."""


def _is_name(text: str) -> bool:
    return values_of_part(text).keys() == {ValueType.NAME}


def antecedent(text: str, known: Sequence[str], clause: str = "") -> tuple[str, str]:
    """The noun for the first pronoun of a text that its own words do not explain, and the statement
    with this noun; empty if there is none. Of several, the one with most in common with the clause
    is meant (`clause`; by default the text): a word, the type of a value, the sex; then the latest
    of `known`."""
    is_treated = bool(_TREATED.match(clause or text))
    for pronoun in _PRONOUN.finditer(text):
        kind = str(pronoun.lastgroup)
        if kind == "any" and _DOUBLED.match(text, pronoun.start()):
            continue
        if any(
            # "The car needs its MOT": the car's.
            (one.fits(kind) or _OWNED.search(one.text) or pronoun[0].lower() == "its")
            and one.start < pronoun.start()
            and not _is_subject_of_object(one, pronoun)
            for one in noun_phrases(text)
        ):
            continue
        if _is_meant_inside(kind, text[: pronoun.start()]) or _is_of_subject(text, pronoun):
            continue
        back = _MAX_BACK_OF.get(kind, MAX_BACK_THING)
        latest = known[-back:][::-1]
        # "She calls it Bo": rather the rabbit that has a name than the dog that was fed.
        likeness = {one: _likeness(clause or text, one) for one in latest}
        fitting = [
            (found, one)
            for one in latest
            for found in noun_phrases(one)
            if found.fits(kind)
            # "My brother sits with him": not the brother, who was named before, too.
            and not (_OBJECT.match(pronoun[0]) and found.text in text)
            and not (_NOT_MEANT.search(found.text) or _is_own_name(found, one))
            and not (found.is_named and (_TASTE.match(one) or _is_used(found, one)))
            # "The vet rang, she's to get two": the patient.
            and not (is_treated and _DOCTOR.match(found.text))
        ]
        age = {one: number for number, one in enumerate(reversed(latest))}
        fitting.sort(
            key=lambda one: (*likeness[one[1]], age[one[1]], one[0].sex == kind), reverse=True
        )
        # The first word of a statement may be an unknown thing instead of a name.
        names = {each.text for one in latest for each in noun_phrases(one) if each.start}
        sure = [
            (found, one)
            for found, one in fitting
            if found.is_sure or not found.is_being or found.text in names
        ]
        for found, one in (sure or fitting)[:1]:
            return _with_name(found.text, one), one
        if kind in ("female", "male") and known:
            return _perhaps_person(known[-1], kind)
    if known and _NULL_PLURAL.match(text):
        several = next((one for one in noun_phrases(known[-1]) if one.is_plural), None)
        return (several.text, known[-1]) if several else ("", "")
    return "", ""


_TASTE = LazyPattern(
    r"^(?:(?:my|our|[\w-]+['’]s) )?(?:my [\w-]+['’]s )?favou?rite (?:whisky|drink|beer|wine|food"
    r"|dish"
    r"|meal|band|film|movie|book|song|show|series|game|team|colour|color|place|city|brand|perfume)\b"
    r"|^(?:mi|nuestr[oa]|el|la) (?:whisky|bebida|cerveza|vino|comida|plato|grupo|banda|pel[ií]cula"
    r"|libro|canci[oó]n|serie|juego|equipo|color|sitio|lugar|ciudad|marca|perfume) "
    r"(?:favorit|preferid)[oa]\b",
    _I,
)
"""The name behind it is that of no being: `my favourite whisky is Jura`."""


def _is_used(mention: Mention, statement: str) -> bool:
    """Check whether a name is that of something taken or used: `mum takes Plavix`, not `mum takes
    Ann to school`."""
    end = mention.start + len(mention.text)
    return bool(_USING.search(statement[: mention.start])) and not _TAKEN_ALONG.match(
        statement, end
    )


_USING = LazyPattern(
    r"\b(?:takes?|taking|drinks?|smokes?|uses?|wears?|eats?|drives?|rides?|toma|tomando|bebe|fuma|usa"
    r"|conduce)(?: (?:\d+ ?\w+ (?:of|de)|a|an|un|una))? $"
    r"|(?:\b(?:am|is|are|was|been|put)|['’](?:m|s|re))(?: \w+)? on $",
    _I,
)
_TAKEN_ALONG = LazyPattern(r" (?:to|out|home|with|along|from|back|a|al|con)\b", _I)


def _perhaps_person(statement: str, sex: str) -> tuple[str, str]:
    """The owner of a thing, or an unknown noun, which may be a person of this sex (`we have an au
    pair`), and the statement; empty if it has neither."""
    if owner := _OWNER_NAMED.search(statement):
        # "Yesterday was Anika's birthday": she.
        return owner["owner"], statement
    unknown = next(
        (
            one
            for one in noun_phrases(statement)
            if one.is_unknown
            and one.sex in ("", sex)
            and not (one.is_value or _NOT_MEANT.search(one.text))
        ),
        None,
    )
    return (unknown.text, statement) if unknown else ("", "")


_OWNER_NAMED = re.compile(r"(?<=\w )(?P<owner>[A-ZÀ-Þ][\w-]+)['’]s ")


def _is_of_subject(text: str, pronoun: re.Match[str]) -> bool:
    """Check whether `its` means the thing that is the subject of its clause: `Deano's van failed
    its MOT`."""
    if pronoun[0].lower() != "its":
        return False
    first = next(iter(noun_phrases(text)), None)
    if first is None or _OTHER_PART.search(text[: pronoun.start()]):
        return False
    behind = text[first.start + len(first.text) :]
    is_thing = not first.is_being or bool(_OWNED.match(behind))
    return is_thing and first.start < pronoun.start() and not text[: first.start].count(" ") > 1


_OTHER_PART = LazyPattern(r"[,;:]| (?:and|but|so|because) ", _I)


def _is_subject_of_object(mention: Mention, pronoun: re.Match[str]) -> bool:
    """Check whether a mention is the subject of the clause of which a pronoun is the object, which
    is another being then: `my brother sits with him`, `Ana viene a bañarla`."""
    is_object = bool(_OBJECT.match(pronoun[0])) and not mention.start
    return is_object and not _OWNED.search(mention.text)


_OWNED = LazyPattern("['’]s ")
"""A being of another one: `Tim's boss`."""
_OBJECT = LazyPattern(r"him$|\w{2,}[aeiáéí]r(?:sel[ao]|l[ao])$", _I)
"""A pronoun that is never the subject."""


def _is_own_name(mention: Mention, statement: str) -> bool:
    """Check whether a mention is the name that the speaker tells as their own, or their work."""
    own = _OWN_NAME.match(statement)
    is_own = mention.text.startswith(("my ", "our ", "mi ", "nuestr"))
    is_work = "profession" in concepts_of(mention.text) and not is_own
    return own is not None and (mention.start == own.end() - 1 or is_work)


def _topic_being(statement: str) -> Mention | None:
    """The one being that a statement begins with, also as its object: `a mamá la operaron`."""
    first = next(iter(noun_phrases(statement)), None)
    return first if first and _is_topic(first, statement) and first.fits("any") else None


def _is_topic(mention: Mention, statement: str) -> bool:
    """Check whether a statement begins with a mention, maybe as its object."""
    return statement[: mention.start].lower() in ("", "a ")


def _is_meant_inside(kind: str, before: str) -> bool:
    """Check whether a pronoun rather means something in the words before it, although no noun
    phrase is known there: `I can't have shellfish, it makes me ill`, `I paid dan his share`."""
    if _APART.match(before) or len(before.split()) > MAX_WORDS_BEFORE:
        return True
    if kind == "thing":
        found = _OBJECT_BEFORE.search(before)
        return found is not None and any(map(is_concept, concepts_of(found["object"])))
    return kind in ("male", "female") and bool(_GIVEN.search(before))


def _likeness(clause: str, statement: str) -> tuple[bool, bool]:
    """Features that a clause and a statement share: a word, the type of a value."""
    has_word = bool(concepts_of(clause) & concepts_of(statement) - general())
    return has_word, bool(values_of_part(clause).keys() & typed_values(statement).keys())


def _with_name(noun: str, statement: str) -> str:
    """A being's noun with the name that the statement tells of it, and with its owner: `my sister
    Ana`, `my aunt's husband Ralph` for `my aunt lives with her husband Ralph`."""
    named = _named(noun, statement)
    owner = leading_noun(statement)
    is_owned = re.search(rf"\b(?:her|his) {re.escape(noun)}\b", statement, _I)
    return f"{owner.text}'s {named}" if is_owned and owner and owner.is_being else named


def _named(noun: str, statement: str) -> str:
    if not noun.islower():
        # "Mi hermana Gloria, se llama La Espiga": she has a name.
        role = _NAMED_ROLE.match(statement)
        return f"{role['role'].lower()} {noun}" if role and role["name"] == noun else noun
    noun_there = re.escape(noun)
    one = rf"{_TITLE_BEFORE}?[A-ZÀ-Þ][\wáéíóúñ-]+(?: [A-ZÀ-Þ][\wáéíóúñ-]+)*(?: \(\d{{1,2}}\))?"
    more = rf"(?: (?:and|y|e) {one})?" if noun.endswith("s") else ""
    name = rf"(?P<name>(?-i:{one}{more}))(?!['’\w])"
    found = re.search(
        rf"{noun_there}(?: (?:from|at|del?) (?:the |my |la )?[a-z]+)?(?:['’]s|,| is"
        rf"| es)*(?: (?:called|named|se llama|llamad[oa]"
        rf"|name(?:['’]s| is| was)))? {name}"
        rf"|^{name.replace('name', 'name2')}(?:['’]s| is| es|,) {noun_there}\b",
        statement,
        _I,
    )
    if not found:
        return noun
    # "Two kids, Sam (7) and Ella (4)": without their ages.
    return re.sub(r" \(\d+\)", "", f"{noun} {found['name'] or found['name2']}")


def with_person(text: str, known: Sequence[str], before: str = "") -> str:
    """The statement with a noun in the place of the personal pronoun that is its subject, if the
    clause before it (`before`) or one of the latest of `known` names it. A Spanish verb without a
    subject gets the last one's."""
    if named := _with_introduced(text, before or "".join(known[-1:])):
        return named
    pronoun = _SUBJECT_PRONOUN.match(text)
    is_resolved = pronoun and not _SUBJECT_PRONOUN.match(before)
    subject = leading_noun(before) if is_resolved and not _WE.match(before) else None
    said = _PRONOUN.search(text)
    born = _BIRTHDAY_OF.match(before)
    if pronoun and (same := _same_subject(pronoun, before, known)):
        noun = same
    elif pronoun and born and born["owner"] and _SHE_OR_HE.match(pronoun["pronoun"]):
        noun = _with_name(born["owner"], before)
    elif (
        pronoun
        and subject
        and said
        and subject.sex in ("", said.lastgroup)
        and not (_DOCTOR.match(before) and _TREATED.match(text))
        # "My lesson's with Ben, he's patient": not the lesson.
        and (said.lastgroup not in ("female", "male") or subject.fits(said.lastgroup))
    ):
        noun = _with_name(subject.text, before)
    elif pronoun:
        kind = str(said.lastgroup) if said else ""
        noun = antecedent(pronoun["pronoun"], _told_before(text, before, kind, known), text)[0]
    else:
        owned = _with_owner(text, _told_before(text, before, "any", known))
        return owned or _with_null_subject(text, before, known)
    if not noun or _is_speaking_thing(text, noun):
        return text
    noun = noun[:1].upper() + noun[1:]
    is_owner = pronoun["pronoun"].lower() in ("his", "her")
    rest = _WILL.sub(" will", pronoun["rest"])
    if noun.endswith("s") or _AGED.match(rest):
        # "Tess's a nurse" would read as hers.
        rest = _IS.sub(" is", _HAS.sub(" has", rest))
    return f"{noun}'s{rest}" if is_owner else f"{noun}{rest}"


_AGED = LazyPattern(r"['’]s \d")
_SHE_OR_HE = LazyPattern(r"s?he$", _I)
_BIRTHDAY_OF = LazyPattern(
    r"(?:it(?:['’]s| is| was)|yesterday was|today(?:['’]s| is)) "
    r"(?P<owner>(?:(?:my|our) [\w-]+(?: (?-i:[A-Z])\w+)?"
    r"|(?-i:[A-Z])\w+))['’]s (?:\d+\w* )?birthday"
    r"|(?:(?:ayer|hoy|el \w+) )?(?:fue|es) el cumple(?:años)? de (?P<owner_es>(?:mi [^\W\d_]+ )?"
    r"(?-i:[A-ZÀ-Þ])\w+|mi [^\W\d_]+)",
    _I,
)
"""`It was Ellie's birthday yesterday, she's 7 now`: Ellie."""
_HAS = LazyPattern(r"^['’]s(?= (?:got|had|been|gone|left|become|\w{2,}ed)\b)", _I)
_IS = LazyPattern(r"^['’]s\b", _I)
_SPEAKS = LazyPattern(r"^s?he (?:said|says|told|tells|thinks?|thought|asked|asks|texted)\b", _I)


def _is_speaking_thing(text: str, noun: str) -> bool:
    """Check whether a statement would make a thing speak: `he said the code is 32`."""
    subject = leading_noun(f"{noun} is") if _SPEAKS.match(text) else None
    return subject is not None and not subject.is_being


def _with_null_subject(text: str, before: str, known: Sequence[str]) -> str:
    """The statement with the subject of the clause before it, or of one of the latest of `known`,
    if it begins with a Spanish verb in the third person."""
    if since := _SINCE_FIRST.match(text):
        # "Desde el lunes está en Zaragoza"
        told = f"{text[since.end() :]} {since['since'].lower()}"
        named = _with_null_subject(told, before, known)
        return text if named == told else named
    is_of_before = bool(before and _OF_BEFORE.match(text))
    is_of_earlier = bool(_THIRD_VERB.match(text))
    if _IMPERSONAL.match(text) or _SUBJECT_BEHIND.match(text):
        return text
    if not before and known and not is_of_earlier and is_said_of_last(text, known[-1]):
        return _joined(_with_name(noun_phrases(known[-1])[0].text, known[-1]), text)
    if not (is_of_before or is_of_earlier):
        return text
    if (born := _BIRTHDAY_OF.match(before)) and born["owner_es"] and is_of_earlier:
        return _joined(born["owner_es"], text)
    subject = leading_noun(before) or _topic_being(before)
    # "Ahora es Ana": what has a name is not another name.
    is_name = bool(_IS_NAME.match(text))
    is_subject = subject and subject.is_being and not (is_name and subject.is_named)
    is_plural = bool(_PLURAL_VERB.match(text))
    # "Le concedieron el traslado": Ángela is the object, not the subject.
    is_object = is_of_before and bool(_TO_THEM.match(text))
    if subject and is_subject and (is_object or subject.is_plural == is_plural):
        return _joined(_with_name(subject.text, before), text)
    if not is_of_earlier:
        return text
    others = [one for one in known[-MAX_BACK:] if not _OWN_NAME.match(one)]
    # Whom the last statement introduces by name is meant; of equal ones, the latest.
    latest = sorted(
        reversed(others),
        key=lambda one: (bool(one == others[-1] and _NAMED_ROLE.match(one)), _likeness(text, one)),
        reverse=True,
    )
    first = (
        (one, told)
        for told in latest
        for one in noun_phrases(told)[:1]
        if one.is_named or _is_topic(one, told)
    )
    # "Han cambiado el pin": they, not the neighbour.
    fitting = (
        each
        for each in first
        if each[0].is_being
        and not (is_name and each[0].is_named)
        and each[0].is_plural == is_plural
    )
    noun = next((_with_name(one.text, told) for one, told in fitting), "")
    return _joined(noun, text) if noun else text


def _with_owner(text: str, known: Sequence[str]) -> str:
    """`El novio de mi hija Ana …` for `su novio …`; empty if no owner is known."""
    owned = _OWNED_SPANISH.match(text)
    owner = antecedent(owned["su"], known, text)[0] if owned else ""
    if not owned or not owner:
        return ""
    is_female = sex_of(owned["noun"]) == "female" or (
        _FEMININE.search(owned["noun"]) and not _MASCULINE.search(owned["noun"])
    )
    owner = owner if owner[1:2].isupper() else owner[:1].lower() + owner[1:]
    # "Tengo un perro": of mine.
    owner = f"mi {owner}" if owner.isalpha() and owner.islower() else owner
    article = "La" if is_female and sex_of(owned["noun"]) != "male" else "El"
    return f"{article} {owned['noun']} {_OF_THE.sub('del', f'de {owner}')}{owned['rest']}"


_OWNED_SPANISH = LazyPattern(r"^(?P<su>su) (?P<noun>[a-zß-ÿ]+)(?P<rest> .+)$", _I)
_FEMININE = LazyPattern(r"(?:a|i[oó]n|dad|tud|mano|moto|foto|radio|clase|calle|llave)$", _I)
_MASCULINE = LazyPattern(r"(?:mapa|problema|programa|idioma|d[ií]a|pijama|sof[aá]|cami[oó]n)$", _I)
_NAMED_ROLE_OF = LazyPattern(r"\bse llama (?P<name>(?-i:[A-ZÀ-Þ])\w+)", _I)
_SINCE_FIRST = LazyPattern(
    r"^(?P<since>(?:desde|a partir de) (?!que\b)[^,;]{3,25}?),? "
    r"(?=(?:es|est[aá]|vive|trabaja|va|estudia|tiene|toma)\b)",
    _I,
)


def is_said_of_last(text: str, last: str) -> bool:
    """Check whether a text without a subject tells more of the being that the last statement begins
    with: `colecciona sellos` after `mi hija se llama Ana`."""
    is_told = _OF_LAST.match(text) is not None and "?" not in text
    is_told = is_told and _SPANISH.search(last) is not None and not _OWN_NAME.match(last)
    topic = _topic_being(last) if is_told else None
    if topic is None or topic.is_plural or not (topic.is_sure or topic.is_named):
        return False
    # "Rompió con Tomás" after "su novio se llama Tomás": not Tomás.
    named = _NAMED_ROLE_OF.search(last)
    name = named["name"] if named else topic.text
    return not value_key(name) & value_key(text)


def _joined(subject: str, text: str) -> str:
    # "Le gusta el té": to whom.
    subject = f"a {subject}" if _TO_THEM.match(text) else subject
    return f"{subject[:1].upper()}{subject[1:]} {text[0].lower()}{text[1:]}"


def _with_introduced(text: str, before: str) -> str:
    """`La gata de mi hija se llama Nube` for `se llama Nube`, or `le ha puesto Nube`, if the
    statement before it introduces a being or thing without its name: `mi hija tiene una gata`."""
    naming = _NAMING.match(text)
    said = _INTRODUCED.match(before) if naming else None
    if not naming or not said or _NAME.search(said["noun"]):
        return ""
    noun, name = said["noun"], (naming["name"] or naming["name2"]).rstrip(" .!")
    subject = leading_noun(before)
    owner = subject.text if subject and subject.is_being else ""
    if naming["en"]:
        whose = f"{owner[:1].upper()}{owner[1:]}'s" if owner else "The"
        return f"{whose} {noun} {'are' if noun.endswith('s') else 'is'} called {name}"
    is_plural = noun.split()[0].endswith("s")
    is_female = (said["article"] or noun.split()[0]).lower().rstrip("s").endswith("a")
    article = ("Las" if is_female else "Los") if is_plural else ("La" if is_female else "El")
    whose = f" {_OF_THE.sub('del', f'de {owner}')}" if owner else ""
    return f"{article} {noun}{whose} se {'llaman' if is_plural else 'llama'} {name}"


_NAMING = LazyPattern(
    r"^(?:y |ya |al final )*(?:se llaman?|(?:(?:mis?|nuestr[oa]s?|el|la) [^\W\d_]+ )?"
    r"l(?:e|o|a|es) (?:(?:ha|han|he|hemos) (?:puesto|llamado)"
    r"|puso|pusieron|puse|pusimos|llam(?:ó|aron|amos)|va[mn]?(?:os)? a (?:llamar|poner)"
    r"|pondr[áé]n?)(?: de nombre)?)"
    r" (?P<name>(?-i:[A-ZÀ-Þ])[^,;]{1,30})$"
    r"|^(?P<en>(?:(?:he|she|they|we|i)(?:['’](?:ve|s)| have| has)?(?: just| finally)?"
    r" (?:named|called) (?:it|him|her|them)|(?:it|they|s?he)['’](?:s|re) (?:called|named)))"
    r" (?P<name2>(?-i:[A-Z])[^,;]{1,30})$",
    _I,
)
_INTRODUCED = LazyPattern(
    r"^.*\b(?:tengo|tenemos|tiene|tuvo|tuvieron|tenido|comprado|compr(?:é|ó|amos|aron)|adoptado"
    r"|adopt(?:é|ó|amos|aron)|echado|nacido|va(?: todos los \w+)? a|espera(?:mos)?|have|has|['’]s"
    r"|['’]ve|had|got|bought|adopted|expecting) (?:a )?(?P<article>un|una|unos|unas|dos|tres|an?"
    r"|two|three|(?:the|la|el|al)(?= (?:baby|beb[eé]|niñ[oa]|nen[ea])\b))? ?(?P<noun>(?!un "
    r"|una )[^\W\d_]{3,}(?: [^\W\d_]{3,}){0,2})$",
    _I,
)
"""`Mi hija tiene una gata`: the last words tell of a being or thing for the first time."""
_OF_THE = LazyPattern(r"^de el\b", _I)


def _told_before(text: str, before: str, kind: str, known: Sequence[str]) -> Sequence[str]:
    """The statements in which a pronoun's noun is looked for: the clause before it, if that has
    one; not a doctor's, since the patient is meant."""
    if _DOCTOR.match(before) and _TREATED.match(text):
        rest = _DOCTOR.sub("", before)
        return [*(one for one in known if not _DOCTOR.match(one)), rest]
    return [before] if any(one.fits(kind) for one in noun_phrases(before)) else known


_DOCTOR = LazyPattern(
    r"^(?:(?:the|my|our|his|her) )?(?:vet|doctor|gp|nurse|midwife|consultant|specialist"
    r"|hospital)\b",
    _I,
)
_TREATED = LazyPattern(
    r"^s?he(?:['’]s| is| was| has)(?: been)? (?:now )?(?:on|off|taking|getting|having|better"
    r"|finished|stopped|due|done|to (?:get|have|take|go|be))\b",
    _I,
)
"""`The vet stopped it, she's on something else now`: the patient."""
_OWN_NAME = LazyPattern(
    r"^(?:(?:yo )?soy|me llamo|mi nombre es|i['’]?m|i am|my name(?:['’]s| is)|call me)"
    r" (?-i:[A-ZÀ-Þ])",
    _I,
)
"""A statement about the speaker that begins with a name, which no `he` means."""


def _same_subject(pronoun: re.Match[str], before: str, known: Sequence[str]) -> str:
    """What the pronoun that begins a clause means, if the clause before it begins with the same one
    and is the latest of `known`, with a noun in its place: `He ate a sock. He's on a diet`."""
    earlier = _SUBJECT_PRONOUN.match(before)
    if not earlier or not known or earlier["pronoun"].lower() != pronoun["pronoun"].lower():
        return ""
    noun = known[-1].removesuffix(earlier["rest"])
    return noun if noun != known[-1] else ""


def names_introduced(text: str, before: str) -> bool:
    """Check whether a clause tells the name of what the clause before it speaks of for the first
    time: `we got a collie, she's called Fay`."""
    pronoun = _SUBJECT_PRONOUN.match(text)
    if text.startswith("se llama "):
        # "Pepe se ha echado novia, se llama Ana": Pepe has a name.
        subject = leading_noun(before)
        return subject is not None and subject.is_named and bool(concepts_of(before) & kin())
    if not pronoun or not _NAMES.match(pronoun["rest"]):
        return False
    if _IS_A.match(before):
        # "My hamster's a girl": it was known before.
        return False
    new = (one for one in noun_phrases(before) if _INDEFINITE.match(before, one.start))
    return any(not one.is_named for one in new)


_IS_A = LazyPattern(
    r"^(?:my|our|mi|nuestr[oa]) [\w-]+(?:['’]s| is| es| era| was) (?:an?|una?) ", _I
)
"""Tells what a being is that is known."""


def with_role(text: str, earlier: Sequence[str]) -> str:
    """The statement with what a named being is to the speaker before its name, if one of the
    earlier statements tells: `Rex is ill` → `my dog Rex is ill`."""
    # "My boss Anna" is another Anna than "my sister Anna".
    names = [
        found[0]
        for found in _NAME.finditer(text)
        if not _OWN_NOUN.search(text) and not _SPECIFIED.match(text[found.end() :])
    ]
    for name in dict.fromkeys(names):
        for one in reversed(earlier):
            noun = _role_of(name, one)
            if noun and not concepts_of(noun) <= features(text).concepts:
                return re.sub(
                    rf"(?<!\w)(?:[Ee]l |[Ll]a )?(?P<title>{_TITLE_BEFORE})?{re.escape(name)}(?!\w)",
                    rf"{noun} \g<title>{name}",
                    text,
                    count=1,
                )
    return text


def with_role_first(text: str, earlier: Sequence[str]) -> str:
    """The text with what a being is to the speaker before its name, if it begins with a name that
    has another meaning, and one of the earlier statements tells of a being called so: `my son Will
    takes …`, after `my son is called Will`, is no question."""
    found = _NAME_FIRST.match(text)
    name = found["name"] if found else ""
    known = (role for one in reversed(earlier) if name and (role := _role_of(name, one)))
    subject = leading_noun(text)
    is_clear = subject is not None and subject.is_named
    return text if is_clear or not (role := next(known, "")) else f"{role} {text}"


_NAME_FIRST = LazyPattern(
    rf"(?P<name>(?-i:[A-ZÀ-Þ])[ß-ÿa-z]+)(?=['’]s\b| (?:{FINITE}|ya|se|ahora)\b)", _I
)


def _role_of(name: str, statement: str) -> str:
    """The noun of a being with its owner: `my dog`; empty if the statement does not name it."""
    if name not in statement or (_WEEKDAY.match(name) and name != "Domingo"):
        return ""
    for pattern in _ROLES:
        named = re.sub(rf"{_TITLE_BEFORE}{re.escape(name)}\b", "NAME", statement, count=1)
        of_title = _ROLES_WITH_TITLE if named != statement else frozenset()
        found = pattern.search(named.replace(name, "NAME", 1))
        if found and concepts_of(found["noun"]) & (kin() | of_title):
            owner = "mi" if _SPANISH_OWNER.search(statement) else "my"
            return f"{owner} {found['noun']}"
    return ""


_NAMED_ROLE = LazyPattern(
    r"^(?P<role>(?:my|our|mi|nuestr[oa]) [a-zß-ÿ]+)(?:['’]s| is| se)"
    r" (?:called|named|llama) (?P<name>(?-i:[A-ZÀ-Þ])[\w-]+)$",
    _I,
)
"""The name of a being: `mi contadora se llama Graciela`."""


def with_antecedent(text: str, known: Sequence[str], *, is_next: bool = False) -> str:
    """A statement that can be understood by itself: behind one with a pronoun stands in parentheses
    what it means (`I visit her on Mondays (my late wife)`). If no noun is known, the statement
    before it stands in front of it. `is_next`: the text stands right behind the last of
    `known`, which has what `its` means, if anything of that has."""
    if not known or _DOUBLED_FIRST.match(text):
        return text
    if (to_them := _TO_THEM.match(text)) and not _DOUBLED.match(text, to_them.start("le")):
        # "La cafetera es nueva", "le toca revisión": no being of an earlier statement.
        is_of_last = _topic_being(known[-1]) or _SUBJECT_THING.match(known[-1])
        known = known[-1:] if is_of_last else known
    if is_next and antecedent(text, known[-1:])[0]:
        known = known[-1:]
    if is_next and _MEETS.match(text) and (group := _GROUP.search(known[-1])):
        return f"{text} ({group[0].lower()})"
    if is_next and _PART.match(text) and (whole := _whole_of(text, known[-1])):
        return f"{text} ({whole})"
    is_there = bool(_THERE.search(text))
    if is_there and (named := _PLACE_NAME.search(known[-1])):
        at = _FROM.sub(lambda found: "en " if found["es"] else "in ", named[0])
        return _THERE.sub(at, text, count=1)
    place = _place_in(known[-1]) if is_there else ""
    noun = place or antecedent(text, known)[0]
    if noun and not _is_speaking_thing(text, noun):
        # A capital would make a value of it.
        note = noun if noun[1:2].isupper() else noun[:1].lower() + noun[1:]
        return text if note.lower() in text.lower() else f"{text} ({note})"
    is_group = is_next or any(one.is_plural for one in noun_phrases(known[-1]))
    is_open = _ABOUT_IT.match(text) or (
        not is_changed(text) and ((is_group and _UNRESOLVED.match(text)) or _is_bare(text))
    )
    is_short = ";" not in known[-1] and len(known[-1]) <= MAX_ANTECEDENT_CHARS
    return f"{known[-1]}; {text}" if is_open and is_short else text


def _whole_of(part: str, before: str) -> str:
    """The thing of which a clause about one of its parts tells more: `my locker is 318 and the code
    is 9042`; empty if the clause before it tells of none."""
    if obtained := _OBTAINED.search(before):
        return obtained["noun"]
    subject = leading_noun(before)
    owned = _OWN_THING.match(before)
    if subject is None or owned is None or concepts_of(subject.text) & kin():
        return ""
    # "Our rent is 900, the deposit is 450": neither is a part of the other.
    rest = before[owned.end() :]
    is_part = any(_PART.match(f"{article} {rest}") for article in ("the", "el"))
    return "" if is_part else subject.text.lower()


_MEETS = LazyPattern(
    r"^(?:we|they)(?:['’]re| are)? (?:practi[cs]\w+|rehears\w+|meet\w*|train\w*|play(?:ing)?)\b"
    r"|^(?:ensayamos|entrenamos|nos (?:juntamos|reunimos|vemos))\b",
    _I,
)
_GROUP = LazyPattern(
    r"\b(?:[\w'’-]+ )?(?:choir|band|orchestra|team|club|society|squad|crew)\b|\b(?:coro|banda|grupo"
    r"|orquesta|equipo|club|coral)(?: de (?:la )?[\w-]+)?\b",
    _I,
)
"""Group of people, which a clause behind it tells of: `I sing in a choir, and we practise on …`."""
_PART = LazyPattern(
    r"^the (?:keys?|door|code|roof|heating|address|number|owner|insurance|rent|battery|engine"
    r"|boiler|wi-?fi|password|pin|deposit|lease|garden|kitchen|view|alarm|combination)"
    r"(?:['’]s| is| are| was| were| costs?| needs?| has| have)\b"
    r"|^(?:el|la) (?:llave|puerta|clave|c[oó]digo|contrase[ñn]a|pin|n[uú]mero|direcci[oó]n|alarma"
    r"|alquiler|combinaci[oó]n|bater[ií]a|fianza) (?:es|est[aá]|era|cuesta|tiene)\b",
    _I,
)
_OBTAINED = LazyPattern(
    r"\b(?:have|has|['’]ve|got|bought|rented|hired|booked|own|renting|hiring|found)\b(?: [\w-]+)?"
    r" an? (?:\w+ )?(?P<noun>(?:cottage|flat|house|apartment|room|van|car|boat|caravan|bike|shed"
    r"|garage|office|shop|allotment|cabin|hall|studio))\b",
    _I,
)
"""A thing that a part (`the keys`) belongs to of which the next clause tells."""
_OWN_THING = LazyPattern(r"^(?:my|our|mi|nuestr[oa]) ", _I)
_SUBJECT_THING = LazyPattern(r"^(?:el|la|mi) [^\W\d_]+ (?:es|est[aá]|era|tiene|va|toca)\b", _I)


def with_omitted_noun(text: str, known: Sequence[str]) -> str:
    """The text with a noun that it leaves out, from one of the latest statements: behind a
    possessive (`mine's at 8`) or a favourite (`mi favorito es …`), for `one` (`the Netflix one`),
    for a relative (`la mayor`), or in front of `de`, then with an article of the same gender: `la
    del buzón` → `la llave del buzón` after `la llave del garaje`."""
    latest = known[-MAX_BACK:]
    if owned := _NOUNLESS.match(text):
        return _with_owned_noun(text, owned, latest)
    if (liked := _FAVOURITE.match(text)) and (of_earlier := _found_last(_FAVOURITE_NOUN, latest)):
        article, adjective = liked["article"], liked["adjective"]
        noun = of_earlier["en"] or of_earlier["es"]
        told = f"{article} {noun} {adjective}" if liked["es"] else f"{article} {adjective} {noun}"
        return f"{told}{text[liked.end() :]}"
    if one := _THE_ONE.search(text):
        return _with_noun_of_one(text, one, latest)
    if child := _BY_AGE.match(text):
        return _with_relative(text, child, latest)
    omitted = _OMITTED_NOUN.search(text)
    if omitted is None:
        return text
    is_female = omitted["article"].lower() == "la"
    nouns = (
        found["noun"]
        for one in reversed(latest)
        for found in (*_NOUN_WITH_OF.finditer(one), *_SUBJECT_ES.finditer(one))
        if found["any"] or is_female == bool(found["female"])
    )
    noun = next(nouns, "")
    at = omitted.end("article")
    return f"{text[:at]} {noun}{text[at:]}" if noun else text


def _found_last(
    pattern: LazyPattern | re.Pattern[str], known: Sequence[str]
) -> re.Match[str] | None:
    """The match in the latest statement that has one."""
    return next(filter(None, (pattern.search(one) for one in reversed(known))), None)


_FAVOURITE = LazyPattern(
    r"(?P<article>my|our|mi|nuestr[oa])"
    r" (?P<adjective>favou?rite|fave|(?P<es>favorit[oa]|preferid[oa]))(?: one)?"
    r"(?=['’]s | (?:now |ahora )?(?:is|es|was|era) )",
    _I,
)
_FAVOURITE_NOUN = LazyPattern(
    r"^(?:my|our) (?:favou?rite|fave) (?P<en>[a-z]+(?: [a-z]+)?)(?:['’]s| is| was) "
    r"|^(?:mi|nuestr[oa]) (?P<es>[^\W\d_]+) (?:favorit|preferid)[oa] (?:es|era) ",
    _I,
)


def _with_noun_of_one(text: str, found: re.Match[str], known: Sequence[str]) -> str:
    """The text with the noun for which `one` stands: `the Netflix password` for `the Netflix one`
    after `the Netflix password is …`."""
    which = re.compile(rf"\b{re.escape(found['which'])} (?P<noun>[a-z]+)\b", _I)
    noun = _found_last(which, known)
    at = found.start("one")
    return f"{text[:at]}{noun['noun']}{text[at + len('one') :]}" if noun else text


_THE_ONE = LazyPattern(r"\b(?:the|my|our) (?P<which>[\w'’-]+) (?P<one>one)\b(?! of\b)", _I)


def _with_owned_noun(text: str, owned: re.Match[str], known: Sequence[str]) -> str:
    """The text with the noun that a possessive stands for, the subject of one of the latest
    statements: `my train's at 8` for `mine's at 8`, `mi vuelo sale` for `el mío sale`."""
    is_spanish = owned["article"] is not None
    found = _found_last(_SUBJECT_ES if is_spanish else _SUBJECT_EN, known)
    if found is None:
        return text
    if is_spanish:
        is_female = owned["article"].lower() == "la"
        if not found["any"] and is_female != bool(found["female"]):
            return text
    owner = _POSSESSIVES.get(owned["owner"].lower()[:3], owned["owner"])
    return f"{text[: owned.start('told')]}{owner} {found['noun']}{text[owned.end('told') :]}"


def _with_relative(text: str, found: re.Match[str], known: Sequence[str]) -> str:
    """The text with the noun for an adjective of age that stands alone: `mi hija mayor` for `la
    mayor` after `mi hija pequeña hace gimnasia`."""
    noun = _found_last(_RELATIVE, known)
    if noun is None:
        return text
    ending = "a" if found["article"].lower() == "la" else "o"
    at = found.start("article")
    return f"{text[:at]}mi {noun['stem']}{ending}{text[found.end('article') :]}"


_BY_AGE = LazyPattern(
    r"^[¿¡]?(?:(?:y|pero|ahora) )*(?P<article>la|el) (?:mayor|menor|peque[ñn][oa]|median[oa])"
    rf"(?= (?:ya |ahora |se |no )*(?:{THIRD_SPANISH}|\w+ó)\b)",
    _I,
)
"""A relative by their age only: `la mayor`."""
_RELATIVE = LazyPattern(r"\bmis? (?P<stem>hij|herman|niet|sobrin|gat|perr)[oa]s?\b", _I)
_FIRST_OF = r"^[¿¡]?(?:(?:and|but|so|now|y|pero|ya|ahora) )*"
_NOUNLESS = LazyPattern(
    rf"{_FIRST_OF}(?P<told>(?:(?P<article>el|la) )?(?P<owner>(?(article)(?:m[ií][oa]"
    r"|nuestr[oa])|(?:mine|ours|(?-i:[A-ZÀ-Þ])[\w-]+['’]s))))"
    r"(?=['’]s |\?|$| (?:is|was|starts|leaves|opens|ends|arrives|costs|es|era|sale|llega|empieza"
    r"|termina|est[aá]|cuesta|va)\b)",
    _I,
)
"""A possessive without its noun: `mine`, `Dan's`, `el mío`."""
_SUBJECT_EN = LazyPattern(
    r"^(?:(?:and )?(?:when|where|what|who|how much)(?:['’]s| is| was) )?(?:my|our|[\w-]+['’]s) "
    r"(?P<noun>[a-z-]+(?: [a-z-]+)?)"
    r"(?:['’]s |\?| (?:is|was|starts|leaves|opens|ends|arrives|costs) )",
    _I,
)
_SUBJECT_ES = LazyPattern(
    r"^(?:(?P<female>la)|el|(?P<any>mi|nuestr[oa])) (?P<noun>[^\W\d_]{3,})"
    r"(?: de (?:mi )?[^\W\d_]+)? (?:es|era|sale|llega|empieza|termina|est[aá]|cuesta|va) ",
    _I,
)
_POSSESSIVES = {
    "min": "my", "our": "our", "mío": "mi", "mio": "mi", "mía": "mi", "mia": "mi",
}  # fmt: skip
"""What stands before a noun for a possessive without one, by its first letters."""


_OMITTED_NOUN = LazyPattern(
    r"(?:^[¿¡]?(?:(?:y|pero|ya|ahora) )*(?:a |en )?"
    r"|\b(?:cambi|mov|pas|aplaz|posterg|adelant|retras|cancel|anul|renov|perd|olvid|borr"
    r"|vend)\w+ (?:a )?)"
    r"(?P<article>el|la)(?= del? (?!las? \d|que\b|donde\b)(?!(?:la|los|las) que\b)\w)",
    _I,
)
_NOUN_WITH_OF = LazyPattern(
    r"\b(?:(?P<female>la|una|nuestra|otra|mi(?= \w+(?:a|ión|dad) ))|el|al|del|un|nuestro|otro"
    r"|mi(?= \w+o )|(?P<any>mi)) (?P<noun>[^\W\d_]{3,})(?= (?:del?|con|para|al?|hasta|desde) )",
    _I,
)
"""A noun of which there are several: `la llave del garaje`, `mi cita con el dentista`."""


def _place_in(statement: str) -> str:
    """The place that a statement names by a noun: `our gym Fit Zone`; empty if there is none."""
    places = (one for one in noun_phrases(statement) if concepts_of(one.text) & _PLACES)
    return next((_with_name(one.text, statement) for one in places if not one.is_being), "")


def _is_bare(text: str) -> bool:
    """Check whether a short statement has a number but no topic of its own: `I've got nine
    hundred`."""
    is_short = len(text.split()) <= MAX_BARE_WORDS
    words = [one for one in split_words(text) if not is_function_word(strip_accents(one))]
    return (
        is_short
        and has_count(text)
        and all(has_count(one) or _BARE_ADVERB.match(one) for one in words)
    )


def with_asked(question: str, messages: Sequence[str]) -> str:
    """The question, with what its pronoun means: behind it stands the latest of the person's
    messages (for `it`, and for `and in which town?`), or the noun in one of the latest (for `she`
    and `he`). A question that only names another time or being (`and before?`, `and Emma?`) is
    completed from the one before it."""
    if not messages:
        return question
    question = with_omitted_noun(question, messages)
    if followed := _as_asked_before(question, messages[-MAX_FOLLOWED:]):
        return followed
    is_open = _ASKED_IT.search(question) and not concepts_of(question) - general()
    if is_open or _FOLLOW_UP.match(question):
        # "And what day?": not the hour that was asked for before.
        meant = _ASKED_FOR.sub("", messages[-1])
    else:
        meant = antecedent(question, messages)[0]
    # Last, since most questions have no pronoun, and their features are not needed otherwise.
    return f"{question} {meant}" if meant and not features(question).beings else question


_ASKED_FOR = LazyPattern(
    r"^(?:and |so )?(?:at )?what time(?=.*\?)|^(?:and |so )?(?:what|which) day(?=.*\?)"
    r"|^[¿\s]*(?:y )?(?:a )?qu[eé] (?:hora|d[ií]a)(?=.*\?)"
    r"|^[¿\s]*(?:y )?c[oó]mo se llaman? (?=.*\?)",
    _I,
)
"""What a question asks for."""


def _as_asked_before(question: str, messages: Sequence[str]) -> str:
    """The question before this one with the time, name or day of this one; empty if this one is not
    such a follow-up."""
    at_time, of_other = _AT_ANOTHER_TIME.match(question), _OF_ANOTHER.match(question)
    if not messages or not messages[-1].rstrip().endswith("?") or not (at_time or of_other):
        return ""
    asked = _as_asked_before(messages[-1], messages[:-1]) or messages[-1]
    if at_time:
        return f"{_THEN.sub('', asked).rstrip(' ?')} {at_time['then']}?"
    other = of_other["other"] if of_other else ""
    if _NOUN_OF.match(other) and (of_noun := _with_other_noun(asked, other)):
        return of_noun
    for pattern in (_WEEKDAY, _ASKED_NAME):
        if pattern.search(other if pattern is _WEEKDAY else f"x {other}") and pattern.search(asked):
            return pattern.sub(other, asked, count=1)
    return _with_other_noun(asked, other)


def _with_other_noun(asked: str, other: str) -> str:
    """A question with another noun phrase in the place of one of its kind: of the same noun (`la
    cita del notario`, `the garage key`), or for a being (`my brother`); empty if it has none."""
    if found := _NOUN_OF.match(other):
        same = re.compile(
            rf"\b(?:el|la|mi) {re.escape(found['noun'])}(?: (?:del?|al?) [\w-]+)?", _I
        )
        return same.sub(other, asked, count=1) if same.search(asked) else ""
    being, before = _BEING_PHRASE.match(other), _BEING_PHRASE.search(asked)
    if being and before and being[0] == other:
        return asked[: before.start()] + other + asked[before.end() :]
    return ""


_NOUN_OF = LazyPattern(r"(?:el|la|mi) (?P<noun>[^\W\d_]+) (?:del?|al?) (?:(?:el|la|mi) )?\w+$", _I)
_BEING_PHRASE = LazyPattern(
    r"\b(?:my|our|mi|nuestr[oa]) (?:(?:best|old(?:er|est)?|young(?:er|est)?|big|little|mejor) )?"
    r"[^\W\d_]+(?: (?:mayor|menor|peque[ñn][oa]|(?-i:[A-ZÀ-Þ])\w+))?",
    _I,
)
