"""Corrections: clauses that put a new value into an earlier statement."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import ClauseKind, is_statement
from spade_llm.understanding.features import NOTE, Statement, features, is_changed, is_denial
from spade_llm.understanding.pronouns import leading_noun, noun_phrases, subject_name
from spade_llm.understanding.replacement import (
    EXCLUSIVE,
    INTRODUCES,
    OF_OWN,
    REASON,
    REFERS_BACK,
    SECRETS,
    YEAR,
    YEAR_DIGITS,
    have_different_owners,
    have_other_predicates,
    household_of,
    is_named_aside,
    is_of_another,
    is_only_one_former,
    is_own_home,
    names_other_medicine,
    replaces,
)
from spade_llm.understanding.spelling import is_respelling
from spade_llm.understanding.substitution import (
    CLASSES,
    DATED,
    LABELLED,
    OWN_ARTICLE,
    inserted,
    outside,
    values_in_place_of,
    with_article,
    with_class,
    with_part,
    with_typed_value,
    with_types,
    without_known,
)
from spade_llm.understanding.things import COPULA, names_other_of_kind
from spade_llm.understanding.vocabulary import (
    TIME_BEHIND,
    WEEKDAYS,
    ValueType,
    concepts_of,
    general,
    has_count,
    is_concept,
    is_function_word,
    light,
    stems_of,
    typed_values,
    value_key,
    values_of_part,
    without_counts,
)
from spade_llm.understanding.wording import past_verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.understanding.clause_kinds import Clause
    from spade_llm.understanding.pronouns import Mention
    from spade_llm.understanding.substitution import Spans

_I = re.IGNORECASE

MAX_FRAGMENT_WORDS = 6
"""Maximum length in words of a correction that is only a value: `no, the blue one`."""
MAX_BACK = 4
"""Number of earlier statements among which a value without a noun is looked for."""
MAX_TAIL_WORDS = 4
"""Maximum length in words of a complement that is replaced as a whole: a longer one says more than
the value that is corrected."""

_BEFORE_VALUE = LazyPattern(
    r"^(?:(?!(?-i:(?:El|La|Los|Las|The|De|Del) [A-Z]))(?:but|sino|it['’]?s|it is|it['’]ll be"
    r"|(?:he|she)['’]s called|(?:his|her|its) name(?:['’]s| is)|(?:we|they"
    r"|i)(?:['’]ve)? (?:re-?named"
    r"|call|named|changed) (?:her|him|it|his name|her name|its name)(?: to)?"
    r"|l[aeo] (?:llamamos|hemos puesto|hemos llamado)|ser[aá]|i['’]m|i am|we['’]re|he['’]s"
    r"|she['’]s|they['’]re|is|are|was|es"
    r"|son|era|est[aá]n?|estoy|se llama|called|named|on|in|at|to|en|al?|el|la|los|las|de|del|an?"
    r"|the|que|i (?:meant|said)|rather|actually|now|ahora|just)\b\s*)+(?=\S)",
    _I,
)
"""Words before a value that are not part of it."""
_BEHIND_VALUE = LazyPattern(
    r"(?:\s+(?:now|instead|ahora|then|rather|really|actually|today|please|por favor|entonces"
    r"|after all|these days|from now on|a partir de ahora|en realidad|mejor))+$"
    r"|(?:,? (?:(?:at|on) )?(?:the )?same (?:time|place|day|night|hour))+$"
    r"|(?:,? (?:y |a |en |al )?(?:el |la |l[oa]s )?mism[oa]s? (?:d[ií]as?|horas?|sitio|lugar))+$"
    # The reason: "no, en julio, que la confundí con otra".
    r"|,? (?:because|cos|since|porque|ya que) .*$|, (?:que|es que) .*$"
    r"|, (?:i|me) (?:mis\w+|mixed|confus\w+|got|was|equivoqu\w+|he) .*$"
    r"|, (?:with|con|sin) .*$|,? (?:with|con) (?:an? |una? )?\S$",
    _I,
)
"""Words behind a value that are not part of it."""
_TAIL = LazyPattern(
    r"^.*?\b(?:i['’]m(?: \w+ing)?|is|are|was|called|named|like|love"
    r"|prefer|drink|eat|hate|play|study|speak|use"
    r"|drive|have|es|son|llamo|llama|gustan?"
    r"|encantan?|prefiero|bebo|como|odio|juego|estudio|hablo|tengo|in|at|on|en|with|con|for|a"
    r"|an|un|una|the|el|la)\s+(?P<tail>\S.*)$",
    _I,
)
"""The complement behind the last verb, article or preposition of a statement."""
_FOLLOWS = LazyPattern(
    r"^(?:it['’]?s|it is|i['’]m|i (?:go|am|use|take)|we['’]re|we (?:go|use|are)|now|the|our|my|es"
    r"|son|voy"
    r"|vamos|ahora|estoy|uso|el|la|los|las|mi|nuestr[oa])\b",
    _I,
)
"""Beginning of what holds instead of a value that was named before."""
ASIDE_PLACE = LazyPattern(r"\b(?:in|at|on|en) [^,;]*", _I)
_SPECIFIED = LazyPattern(r" (?:de|of) (?!la\b|el\b|the\b|my\b|mi\b)[\w-]+")
_EXCLAIMED = LazyPattern(r"^(?:[^\W\d_]+ ?){1,2}[,.!…:;–—-]+\s*(?P<value>.+)$")
"""An exclamation before a value: `whoops, 2121`."""
_PAINTED = LazyPattern(
    r"^(?:(?:i|we|they)(?:['’]ve)? \w+ (?:it|them)|(?:me |nos )?l[ao]s? (?:he |hemos "
    r"|han )?\w+)\b",
    _I,
)
"""Something done to what was spoken of last."""
_PLACED = LazyPattern(
    r"^(?:they|he|she|i|we)?(?:['’]ve| have)? ?(?:put|moved|switched) (?:me |us )?(?P<at>as|in|on"
    r"|at|to)"
    r" (?P<new>[\w-]+)$"
    r"|^(?:me|nos) (?:han? |he |hemos )?(?:puesto|puso|pusieron|pasad[oa]|pasó|pasaron|cambiad[oa]"
    r"|cambiaron"
    r"|movido)"
    r" (?P<at2>de|en|a|como) (?P<new2>[\w-]+)$",
    _I,
)
_SHE = LazyPattern(r"\b(?:she|her)\b", _I)
_HE = LazyPattern(r"\b(?:he|his|him)\b", _I)
_CALLED = LazyPattern(r"\b(?:called|call|names?|named|renamed|llama|llamamos)\b", _I)
_NOW_VALUE = LazyPattern(
    r"^(?:now|ahora)\b|\b(?:now|instead|these days|after all|ahora)$|\b(?:renamed|changed"
    r"|hemos puesto)\b"
    r"|\bit['’]s .* from (?:now|this|next)\b|^it['’]s actually\b",
    _I,
)
_IT_IS = LazyPattern(
    r"^(?:now |ahora |ya )*(?:it['’](?:s(?: actually| really)?|ll be)|it is|that['’]s"
    r"|they['’]re|(?:he|she|it)['’]s called"
    r"|(?:his|her|its) name(?:['’]s| is)|(?:we|they|i)(?:['’]ve)? (?:re-?named|call|named"
    r"|changed) (?:her|him|it|his name|her name|its name)(?: to)?|es|son|ser[aá]|se llama"
    r"|se escribe"
    r"|l[aeo] (?:llamamos|hemos puesto|hemos llamado))\s",
    _I,
)
_NOW = LazyPattern(r"^(?:now|ahora|ya)\s", _I)
_VERB_BEHIND = LazyPattern(r"['’]s\b| (?:has|have|is|was|ha|han|es|est[aá])\b", _I)
_PARTS = LazyPattern(r"(?:\s*[,;:–—]+\s*|\s+)(?:but|sino(?: que)?|pero)\s+|\s*[,;–—]+\s+", _I)
_NEGATOR = LazyPattern(
    r"\b(?:not|no longer|never|any ?more|no|ya no|nunca|no more)\b|\b\w+n['’]t\b", _I
)
_MEANT = LazyPattern(
    r"^(?:i (?:said|wrote|put)|(?:dije|puse|escrib[ií]|he dicho|he puesto)) (?P<old>[^,;]{1,40}?),?"
    r" (?:but|when|pero|cuando) (?:i )?(?:meant|mean|wanted to say|quer[ií]a decir|quise decir|era)"
    r" (?P<new>[^,;]{1,40})$",
    _I,
)
"""`I said blue but I meant green`."""
_POSTPOSED = LazyPattern(r"^(?P<old>.{1,30}?) no, (?P<new>.{1,40})$", _I)
"""`El martes no, el jueves`."""
_EXCHANGE = (
    r"swap\w*|switch\w*|trad(?:ed|ing)|exchang\w+|replac\w+|upgrad\w+|chang\w+|ditch\w*|left"
    r"|quit|gave up|dropp\w+"
    r"|cambi\w+|sustitu\w+|reemplaz\w+|dej(?:é|e|ado|amos)|permut\w+|troqu\w+"
)
_SUCCESSION = LazyPattern(
    r"^(?P<new>[^,;]{2,30}?) (?:(?:has |have |['’]s )?(?:taken|took|taking) over(?: \w+)? from"
    r"|(?:has |have |['’]s |is )?replac(?:ed|es|ing)|(?:ha |va a )?sustitu\w+ a"
    r"|(?:ha |va a )?reemplaz\w+ a) (?P<old>[^,;]{2,30}?)(?: as .*| como .*)?$"
    r"|^(?P<old2>[^,;]{2,30}?)(?:['’]s| is| was| has| have| got| gets)?(?: been"
    r"| being)? replaced by"
    r" (?P<new2>[^,;]{2,30})$"
    r"|^a (?P<old3>[^,;]{2,30}?) l[ao] (?:han |ha )?(?:cambi|sustitu"
    r"|reemplaz)\w+ por (?P<new3>[^,;]{2,30})$",
    _I,
)
"""Newcomer and predecessor in one expression: `Eve took over from Ann`."""
_EXCHANGED = LazyPattern(
    # "She quit skating and does violin with Ann": that `with` has another verb.
    rf"^(?P<old>.*?\b(?:{_EXCHANGE})\b(?:(?! and \w+s ).)*?) (?:for|with|por)"
    r" (?P<new>[^,;]{1,40})(?=$|[,;])"
    r"|(?P<new2>[^,;]{1,40}) (?:instead of|rather than|and not|en vez de|en lugar de|y no)"
    r" (?P<old2>[^,;]{1,40}?)(?: now| these days| ahora)?$"
    r"|\b(?:instead of|rather than|en vez del?"
    r"|en lugar del?) (?P<old3>[^,;]{1,40}),"
    r" (?P<new3>.{1,40})$"
    # "Instead of Hugo we're calling him Bruno".
    r"|\b(?:instead of|rather than|en vez de|en lugar de) (?P<old5>(?-i:[A-ZÀ-Þ])[\w-]+),?"
    r"(?: (?-i:[a-zß-ÿ])[\w'’-]*){1,5} (?P<new5>(?-i:[A-ZÀ-Þ])[\w-]+)\W*$"
    r"|\b(?:quit(?:ó|aron|ado)|took (?:me|her|him) off|stopped) (?:(?:the|el|la|mi|my|her|his) )?"
    r"(?P<old6>[\w-]{4,}) (?:y|and) (?:(?:me|le|les) )?(?:ha |han )?(?:dio|dieron|dado|puso"
    r"|pusieron"
    r"|puesto|recet\w+|mand\w+|(?:gave|put) (?:me|her|him)(?: on)?) (?:(?:the|el|la) )?"
    r"(?P<new6>[^,;]{1,40})$"
    r"|\b(?:closed|left) (?:my |our |the )?(?P<old7>(?-i:[A-Z])[\w-]+)(?: accounts?)?(?: and|[,;]) "
    r"(?:opened (?:an? (?:new )?(?:account|one)|one) (?:with|at)|(?:moved|switched|went)(?: all| it"
    r"| everything)*(?: over)? to|(?:everything|it)(?:['’]s| is)(?: all)? (?:with|at)) "
    r"(?P<new7>(?-i:[A-Z])[\w-]+)"
    r"|\b(?:quit|gave up|dropped|ditched|stopped|sold|cancelled|packed in)"
    r"(?: (?:my|our|the|doing|playing|taking|going to))? (?P<old8>(?!the\b)[\w'’-]+(?: [\w'’-]+)?)"
    r"(?: class(?:es)?)? and (?:i(?:['’]ve)? )?(?:picked up|took up|taken up|started|signed up for"
    r"|joined|switched to|bought|began|got)(?: (?:my|the|an?|doing|playing|taking|going to))?"
    r" (?P<new8>[^,;]{1,40})$"
    r"|\b(?:dej[eé]|dejamos|acab[eé]|termin[eé]|cerr[eé]|vend[ií]|cancel[eé]|me borr[eé] de)"
    r" (?:(?:el|la|los|las|mi|a) )?(?:(?:el|la) )?(?P<old9>[^,;]{2,25}?)(?: anoche| ayer| hoy)?"
    r" y (?:me |ya )?(?:apunt[eé] a|empec[eé](?: con| a)?|abr[ií]|compr[eé]|pas[eé] a|contrat[eé]"
    r"|saqu[eé])"
    r"(?: (?:el|la|los|las|una?|otr[oa]|en|al))* (?P<new9>[^,;]{1,40})$"
    r"|\b(?:from|de|del) (?P<old4>(?:(?! (?:le|me|se|nos|ha|han|he) )[^,;]){1,40}?) (?:to|al?)"
    r" (?P<new4>[^,;]{1,40})(?=$|[,;])",
    _I,
)
"""The old and the new value in one expression: `swapped the Polo for a Leon`, `from 80 to 75`."""
_TIME_BEHIND = LazyPattern(TIME_BEHIND, _I)
_IS_OF_ANOTHER = LazyPattern(
    r"^(?P<new>[^,;]{2,40})[,;] (?P<rest>(?:the|el|la) (?P<old>[\w-]+) "
    r"(?:is|was|es|era|belongs to) (?:my|our|his|her|de|del|(?-i:[A-ZÀ-Þ])[\w-]+['’]s)\b.*)$",
    _I,
)
"""A value, and whose the one is that was told: `a Seat Ibiza, the Corsa is my sister's`."""
CHANGE_WORDS = LazyPattern(
    r"\b(?:(?:has|have|had|is|are|was|were|been|being|get|gets|got|getting|be)\b ?)*"
    r"(?:(?:had|have|need|want) to )?(?:mov(?:e|ed|ing)(?! to (?-i:[A-Z]))|chang\w+"
    r"|switch\w*|reschedul\w+|postpon\w+|push\w*|swapp\w*|brought|put|shift\w*|delay\w*|rais\w+|upped|lowered|increas\w+|reduc\w+|dropp?\w*"
    r"|bump\w*|(?:gone|went|goes)(?! to (?-i:[A-ZÀ-Þ]))"
    r"|turn(?:\w+|(?= \d))|made|cut|started|began)\b"
    r"(?: (?:back|forward|up|down|over|on))*"
    r"|\b(?:back|forward)(?: (?:by )?(?:an?|one|two|three|\d+) (?:day|week|hour|month)s?)?"
    r"(?=,? (?:to|until|till)\b)|\b(?:gave|given|offered) (?:me|us)(?= the \d)"
    r"|\b(?:now|actually|instead|ahora|ya|up|down|new|nuev[oa]s?|already|resulta|turns out)\b"
    r"|\b(?:(?:ha|han|he|hemos|haya|acaban? de|acabamos de|tuve que|tuvimos que) )?"
    r"(?:cambi\w+|(?:aplaz|posterg)\w+|adelant\w+|retras\w+|mov(?:er|ido|i[óe]\w*)"
    r"|pas(?:ado|aron|ó|amos|é|an?(?= (?:al?|para)\b))"
    r"|pospu\w+|corri(?:do|ó|eron)(?= (?:la|el|mi)\b)"
    r"|sub(?:ido|í|ió|ieron)|aument\w+|baj(?:ado|é|ó|aron)|puesto"
    r"|cumpl(?:ido|í|ió|[oe](?= \d)))\b",
    _I,
)
"""Words of a change itself, which say nothing about its topic."""
_AGE_REACHED = LazyPattern(
    r"^(?:(?:today|yesterday|hoy|ayer),? )?(?P<told>.*\b(?:turn\w* \d+|cumpl\w+ \w+(?: y \w+)?)"
    rf"(?: a[ñn]os)?)"
    rf"(?: (?:(?:on |last )?(?:today|yesterday|{WEEKDAYS})|hoy|ayer|el (?:{WEEKDAYS})))?$",
    _I,
)
_OWN_AGE_REACHED = LazyPattern(
    r"^(?:(?:hoy|ayer|ya) )*(?:cumpl[oí]|he cumplido) \d+"
    r"|^i(?:['’]ve| have|['’]m)?(?: just)? turn\w+ \d",
    _I,
)
_OWN_AGE = LazyPattern(r"^(?:(?:yo )?tengo \d+ a[ñn]os|(?:i['’]?m|i am) \d+(?: years old)?)\b", _I)
_OF = LazyPattern(r" (?:in|at|on|of|for|from|to|de|del|en|para) ")
_VERB = LazyPattern(
    r"\b(?:i|we|they|he|she|has|have|had|can|could|will|was|were|been|['’]ve) "
    r"(?:(?:only|just|now|been|got|already|be) )*(?P<en>[a-z]{3,})"
    r"|\b(?P<past>\w{3,}(?:ed|é|ó|aron|ieron|amos|imos))\b"
    r"|\b(?:(?:me|nos|se) )?(?:he|ha|han|hemos) (?P<es>[a-zß-ÿ]{3,})(?=\s)"
    r"|\b(?:me|nos|se) (?P<es2>[a-zß-ÿ]{3,})(?=\s)",
    _I,
)
"""Verb of a clause, which says less of its topic than its nouns."""
_PRONOUN = LazyPattern(
    r"^(?:now |ahora |ya )*(?:it|it['’](?:s|ll|d)|that|that['’]s|this|they|they['’]\w+|i['’]m"
    r"|we['’]re"
    r"|i(?= turned)|me|nos|l[ao]s? |se |es |est[aá] |son |ser[aá] |queda )",
    _I,
)
"""The subject is the speaker, or what was spoken of last."""
_BY_SPEAKER = LazyPattern(
    r"^(?:and |so |now |y |ahora |ya |por fin )*(?:(?:i|we)\b|(?:yo|nosotr[oa]s|he|hemos|tengo|soy"
    r"|somos|estoy|estamos|vivo|vivimos|trabajo|trabajamos|uso|usamos|peso|mido)\b"
    r"|(?:me|nos) (?:he|hemos|mud|cambi|traslad|pas[éa]|\w+(?:é|í|amos|imos)\b))"
    r"(?!.*\b(?:it|that|them|this)\b)",
    _I,
)
"""The speaker is the subject, and there is no pronoun for another thing."""
_TO_SPEAKER = LazyPattern(r"^(?:now |ahora |ya )*(?:i['’]m|we['’]re|me|nos)\b", _I)
"""Beginning of what is so for the speaker, or done to them."""
_OF_BODY = frozenset({"size", "weight"})
_OWNED = LazyPattern(r"^(?:my|our|mis?|nuestr[oa]s?)\b", _I)
_MOVES = LazyPattern(
    r"\b(?:mov(?:e|ed|ing)|chang\w+|switch\w*|swapp\w*|shift\w*|reschedul\w+|postpon\w+|push\w*"
    r"|bump\w*|delay\w*|cambi\w+|mud\w+|traslad\w+|(?:aplaz|posterg)\w+|adelant\w+|retras\w+"
    r"|pas\w+ (?=al? ))",
    _I,
)
"""Another value is chosen."""
_NEXT_WORD = LazyPattern(r" (?P<word>(?-i:[a-zß-ÿ])[\w-]{2,})(?!['’])")
_PHRASE_BEGIN = LazyPattern(
    r"\b(?:an?|the|my|our|una?|el|(?:de|en|con|es) la|mi|nuestr[oa]) "
    r"(?:(?!(?:is|are|was|were|es|son|era)\b)[^\W\d_][\w-]* ){1,3}$",
    _I,
)
"""Article and adjectives of a noun."""
DOES = LazyPattern(
    r"^(?:(?:so|and|but|y|pero|as[ií] que) )?(?P<now>(?:now|these days|ahora|actualmente),? )?"
    r"(?:(?:i|we|yo)(?:['’](?:m|re|ve)| have| am| are)? )?(?:now |just |only )?"
    r"(?:it['’]s|have|drink|eat|do|play|take|took up|taken up|start(?:ed)?|use|(?!be|go"
    r"|mov)\w{2,}ing"
    r"|(?:me|nos|le) (?:ha|han) (?:mandado|recetado|puesto|dado)"
    r"|(?:me|nos|le) (?:mand|recet)(?:ó|aron)|es|hago|hacemos|tomo|tomamos|bebo|juego"
    r"|jugamos|toco|uso|empec[eé]|empiezo|desayuno)"
    r"(?: with| con)? (?:(?:an?|the|some|al|el|la|los|las|una?) )*"
    r"(?!(?:is|are|was|for|in|at|on|to|of|up|out|off|it|them|that|my|our|so|en|de|por|para|que"
    r"|lo)\b)"
    r"(?P<new>[\w'’-]+(?: [\w'’-]+){0,2} ?)"
    r"(?P<behind> (?:now|instead|these days|ahora|en su lugar))?$",
    _I,
)
"""A habit of the speaker: its object (`new`), and whether it holds since now."""
INSTEAD = LazyPattern(r"\b(?:instead|in the end|al final|en su lugar)\b", _I)
_DONE_TO = LazyPattern(
    r"^they(?:['’]ve| have)? \w+ (?:me|us)\b"
    r"|^(?:i|we)(?:['’]ve| have| was| were)? (?:been|got) \w+ed\b"
    r"|^(?:me|nos) (?:han\b|\w+ron\b)|\bcan only\b|\bs[oó]lo pued\w+",
    _I,
)
"""Something is done to the speaker by others."""
_BY_OTHERS = LazyPattern(
    r"^(?:(?P<english>(?:the |my |our )?(?:doctor|gp|nurse|consultant|specialist|psychiatrist"
    r"|midwife|vet|boss"
    r"|manager|coach|trainer|teacher|landlord|landlady|school|hospital|clinic|agency|council|company|work|hr)"
    r"(?:['’]s| has| have)? (?=(?:\w+ed|put|cut) (?:me|us|it|them|my|our|the)\b)"
    r"|(?!(?:i|we|you|he|she|it|they|that|this|who|which)\b)(?:(?:the|my|our) )?[\w-]+(?: [\w-]+)?"
    r"(?:['’]s| has| have)?(?: also)? (?=(?:put|moved|shifted|bumped|switched|transferred|upped"
    r"|raised|lowered|increased|reduced|swapped) (?:me|us|it)\b"
    r"|(?:changed|reset|upped|raised|lowered|increased|reduced|set) (?:the|my|our)\b))"
    r"|(?:el|la|mi|nuestr[oa]) (?:m[eé]dic[oa]|doctora?|enfermer[oa]|psiquiatra|especialista"
    r"|veterinari[oa]|jef[ea]|caser[oa]|due[ñn][oa]|empresa|colegio|cole|m[ií]ster|entrenador[a]?"
    r"|profe(?:sor|sora)?|señora|mujer|marido|esposa|novi[oa]|herman[oa]|hij[oa]|viej[oa]"
    r"|compañer[oa]|t[eé]cnic[oa]|vecin[oa]) "
    r"(?=(?:(?:me|nos) )?(?:l[ao]s? )?(?:ha (?!cumpl)\w+[dt]o|(?!cumpl)\w+ó)\b))",
    _I,
)
"""The subject of something that others do to the speaker, which says nothing of the topic: `my GP
has put me up to 50`."""
_LESS_OR_MORE = (
    r"\b(?:(?:went|gone|go|had to go|dropped|been) (?:up|down)|(?:up|down) to|sub(?:id\w+|í|ió)"
    r"|baj(?:ad\w+|é|ó))\b"
)
_UP_OR_DOWN = LazyPattern(_LESS_OR_MORE, _I)
_GROWS = LazyPattern(
    rf"{_LESS_OR_MORE}|\b(?:turned|cumpl\w+)\b"
    r"|^(?:i have|i['’]ve got|we have|we['’]ve got) \w+ now\b"
    r"|^(?:now|ahora) (?:(?:i|we) have|i['’]ve got|we['’]ve got|tengo|tenemos) \w+(?=$|[,.;])",
    _I,
)
"""Another value comes about."""


def resolve_correction(
    clause: Clause, known: Sequence[str], remembered: Sequence[str], before: str = ""
) -> Statement | None:
    """The earlier statement with the value that the clause puts in the place of another; None if
    the clause corrects none.

    `before`: the clause before it in the message. `known`: the person's statements of this
    conversation, oldest first. `remembered`: those of other conversations; only a correction that
    names the old value, or the noun, refers to them.
    """
    text = without_agent(clause.text)
    is_new = INTRODUCES.search(text) or _OTHER_OF_KIND.match(text)
    if (is_new and not clause.is_change) or _ABOUT_NAMED.match(text):
        return None
    latest = known[-MAX_BACK:] if clause.is_change else ()
    if again := _with_other_spelling(text, latest) or _said_again(text, latest):
        return again
    every = _named_last([*remembered, *known], before)
    is_change = clause.is_change or says_change(text)
    near = _near(text, before, every, known, is_change=is_change)
    if found := restated(text, every, near, is_change=is_change):
        return found
    if found := _relabelled(text, every, is_change=is_change):
        return found
    for border in _PARTS.finditer(text):
        said, part = text[: border.start()], text[border.end() :]
        # "I joined a gym, 25 a month" is not the rent.
        has_noun = concepts_of(outside(part, values_of_part(part))) - general() - light()
        near_part = every if has_noun or not noun_phrases(said) else about(said, part, every)
        # "We have two sons: Ben, who is 8": the value is that of a being that was just named.
        near_part = [one for one in near_part if not _is_of_being_before(said, one)]
        near_part = _named_last(near_part, said)
        if found := _named_before(said, part, every) or restated(
            part, near_part, about(said, part, known), is_change=is_change
        ):
            return found
    if before and (found := _named_before(before, text, _apart_from(before, every))):
        return found
    known = known if clause.is_change else near
    return _short_correction(replace(clause, text=text), known) if known else None


def without_agent(text: str) -> str:
    """A clause about what others do to the speaker, or to what was spoken of, without saying who
    they are: `they put me up to 50` for `my GP has put me up to 50`."""
    return _BY_OTHERS.sub(lambda found: "they " if found["english"] else "", text)


def _said_again(text: str, known: Sequence[str]) -> Statement | None:
    """The statement in the place of a recent one that has the same verb, and an object of the same
    kind: `no, I play the trumpet` after `I play the piano`."""
    new = _OBJECT.match(text)
    if not new or _ADDS.search(text) or "like" in concepts_of(text):
        return None
    verb = text[: new.start("tail")].lower()
    for one in reversed(known):
        old = _OBJECT.match(one)
        is_same = old is not None and one[: old.start("tail")].lower() == verb
        if old and is_same and _are_of_kind(new["tail"], old["tail"]):
            told = f"{text[:1].upper()}{text[1:]}"
            return Statement(text=told, is_change=True, is_correction=True, replaced=one)
    return None


def _are_of_kind(one: str, other: str) -> bool:
    """Check whether two short objects have a class or a type of value in common; not each word has
    a class: `law`."""
    if max(len(one.split()), len(other.split())) > MAX_TAIL_WORDS:
        return False
    kinds = [concepts_of(each) & _SAME_CLASS for each in (one, other)]
    types = [values_of_part(each).keys() for each in (one, other)]
    is_open = not (all(kinds) or any(types))
    return bool(kinds[0] & kinds[1] or types[0] & types[1]) or is_open


_ADDS = LazyPattern(r"\b(?:also|too|as well|tambi[eé]n|adem[aá]s)\b", _I)


def _named_last(statements: Sequence[str], before: str) -> list[str]:
    """The statements, last those with a name that the clause before has: `I had to reset Netflix,
    the password is …`."""
    spans = typed_values(before).get(ValueType.NAME, ())
    if not spans:
        return [*statements]
    names = value_key(" ".join(before[start:end] for start, end in spans))
    return sorted(statements, key=lambda one: bool(names & value_key(one)))


def _near(
    text: str, before: str, every: Sequence[str], known: Sequence[str], *, is_change: bool
) -> Sequence[str]:
    """The earlier statements that a clause may mean without naming them."""
    if _OWN_AGE_REACHED.match(text) and (ages := [one for one in every if _OWN_AGE.match(one)]):
        return ages
    near = about(before, text, known) if before else known
    if not before or not is_change:
        return near
    others = _apart_from(before, every)
    if set(near) & set(others):
        return near
    # "The clinic rang, they've put me back to Friday": told in another conversation.
    named = concepts_of(before) - general()
    told = [one for one in about(before, text, others) if named & features(one).concepts]
    # "I've lost weight, I'm down to a 14": the clause before it is only the reason.
    is_reason = _DONE_TO.match(text) or _BY_SPEAKER.match(text) or _TO_SPEAKER.match(text)
    is_reason = is_reason or REFERS_BACK.search(before)
    return told or (_apart_from(before, known)[-1:] if is_reason else [])


def _apart_from(before: str, every: Sequence[str]) -> list[str]:
    """The earlier statements without the one that the clause before repeats."""
    return [one for one in every if concepts_of(one) != concepts_of(before)]


def _is_of_being_before(said: str, earlier: str) -> bool:
    """Check whether a part of a clause ends with a being of which an earlier statement, about the
    speaker, does not tell."""
    beings = [one for one in noun_phrases(said) if one.is_being]
    return (
        bool(beings)
        and bool(_BY_SPEAKER.match(earlier))
        and not features(earlier).beings
        and (
            value_key(beings[-1].text).isdisjoint(value_key(earlier))
            and said.endswith(beings[-1].text)
        )
    )


def contrasted(text: str, every: Sequence[str]) -> Statement | None:
    """The latest of the earlier statements (`every`, oldest first) with the new value of a clause
    that names the old one, too: `not Ana, Anna`."""
    if found := _with_last_digits(text, every):
        return found
    is_succession = _HAS_REPLACED.search(text) is not None
    if _SWAPS.search(text):
        every = [
            one
            for one in every
            if not (_is_of_other_subject(text, one) or _are_named_differently(text, one))
        ]
    for old, new in _contrasts(_AT_ALL.sub("", text)) if every else ():
        of_place = [one for one in every if not (is_succession and is_of_person(one, old))]
        if of_place and (found := _with_contrast(of_place, old, new)):
            return with_other_parts(found, text)
    return None


_ROLE = LazyPattern(r"(?:the|my|our|el|la|mi|nuestr[oa])\b", _I)
"""The role of a being, which another one can be instead: `Ann is our director`."""
_OF_PERSON = LazyPattern(
    r"(?:, [^,]{2,30},)?(?:['’]s (?:got|an?)\b| (?:also |still )?(?:is an?|has|had|likes|loves"
    r"|hates|drives|lives|comes from|studies|speaks|can['’]?t|eats|tiene|vive|conduce|estudia|odia"
    r"|habla|cumple|no come)\b)",
    _I,
)
"""Behind the name of a being: what belongs to it, not to its place."""
_SWAPS = LazyPattern(
    r"\b(?:changed|swapped|traded|switched|cambi(?:ó|ado|aron)|dej(?:ó|ado|aron))\b", _I
)
"""`Eva ha cambiado el trombón por …` says nothing of Leo, who plays it, too."""
_HAS_REPLACED = LazyPattern(r"\b(?:has|have|ha|han) (?:replaced|sustituido a)\b", _I)


def describes(statement: str, being: str) -> bool:
    """Check whether a statement tells what a being is like, which another one in its place need not
    be: `my flatmate Ann is a drummer`, but not `Ann is our director`."""
    tail = COPULA.match(statement)
    return tail is not None and being in tail["noun"] and not _ROLE.match(tail["tail"])


def is_of_person(statement: str, being: str) -> bool:
    """Check whether a statement tells of a being itself, not of its place, which another one may
    take: it describes the being, or tells what belongs to it (`Ann drives a Kia`)."""
    subject = leading_noun(statement)
    if subject is None or not value_key(being) & value_key(subject.text):
        return False
    is_own = _OF_PERSON.match(statement, subject.start + len(subject.text)) is not None
    return is_own or describes(statement, being)


_AT_ALL = LazyPattern(r" (?:at all|after all|para nada|en absoluto)\b", _I)
_LAST_DIGITS = LazyPattern(
    r"\b(?:ends?|ending|acaba|termina)(?: in| with| en| con)? (?P<new>\d{2,}),?(?: and| y)?"
    r" (?:not|no) (?:in |en )?(?P<old>\d{2,})\b",
    _I,
)
"""`It ends in 421, not 412`."""


def _with_last_digits(text: str, every: Sequence[str]) -> Statement | None:
    """The latest statement of a number with these digits at its end, with the corrected ones."""
    found = _LAST_DIGITS.search(text)
    for one in reversed(every) if found else ():
        if found and (at := re.search(rf"(?<=\d){found['old']}(?!\d)", one)):
            return with_part(one, at.start(), at.end(), found["new"])
    return None


def of_another(text: str, every: Sequence[str]) -> tuple[Statement, str] | None:
    """The latest of the earlier statements with the value that a clause begins with, and what the
    clause says of the one in its place: `a Seat Ibiza, the Corsa is my sister's`."""
    found = _IS_OF_ANOTHER.match(text)
    for one in reversed(every) if found else ():
        for start, end in typed_values(one).get(ValueType.NAME, ()):
            if found and found["old"] in one[start:end].split():
                corrected = with_typed_value(one, one[start:end], found["new"])
                if corrected:
                    return whole_phrase(found["new"], corrected) or corrected, found["rest"]
    return None


def restated_latest(clause: Clause, latest: str) -> Statement | None:
    """The latest statement with the value of a clause that is nothing but a value: `it's on Friday
    now`, `ahora es Ana`. Pronouns mean what was spoken of last, if that has such a value."""
    text = clause.text
    if not _IT_IS.match(text) or not (clause.is_change or _NOW_VALUE.search(text)):
        return None
    if features(latest).is_ended:
        # "She's gone off Spurs, it's all Arsenal now".
        return None
    value = _value(text)
    types = values_of_part(value)
    if OF_OWN.match(value):
        # "I started playing squash, it's my main sport now".
        return None
    if not types and concepts_of(value) & concepts_of(latest) & _SAME_CLASS:
        return _with_fragment([latest], text)
    if not types or concepts_of(outside(value, types)) - general() - light():
        return None
    if _has_other_sex(text, latest) or (ValueType.NAME in types and _names_other(text, latest)):
        return None
    places = values_in_place_of(value, types, latest)
    return _with_fragment([latest], text) if types.keys() <= places.keys() else None


def _has_other_sex(text: str, latest: str) -> bool:
    """Check whether the pronoun of a clause and the subject of a statement differ in sex."""
    sex = "female" if _SHE.search(text) else "male" if _HE.search(text) else ""
    subject = leading_noun(latest)
    return subject is not None and bool(sex) and subject.sex not in ("", sex)


def _names_other(text: str, latest: str) -> bool:
    """Check whether the name in a clause cannot replace that in a statement: the statement begins
    with it (`Mrs Cole is on leave, it's Mr Park now`: an earlier one tells what he does), or tells
    no name although the clause does (`it's called Rex`)."""
    is_called = _CALLED.search(text) is not None
    return bool(_NAME_FIRST.match(latest)) or (is_called and "name" not in features(latest).topic)


_NAME_FIRST = re.compile(r"(?:[A-ZÀ-Þ][\w.-]+ )?[A-ZÀ-Þ][\w-]+(?:['’]s| is| has| ha| está| se) ")
"""A statement about a being that it names first."""


def whole_phrase(text: str, found: Statement) -> Statement | None:
    """The corrected statement with the whole noun phrase of the new value, which may be only a part
    of it: `a diesel Golf` gives way to `an electric Kia`, not to `a diesel Kia`. None if the
    phrase ends behind the value: the clause says it better in its own words.

    `text`: the clause with the new value.
    """
    place = inserted(found.replaced, found.text)
    value = found.text[place.start : len(found.text) - place.behind]
    at = text.rfind(value) if value else -1
    if at < 0:
        return found
    known = features(found.replaced).concepts | features(found.text).concepts
    rest = _BEHIND_VALUE.sub("", text[at:])
    behind = _NEXT_WORD.match(rest, len(value))
    word = strip_accents(behind["word"]) if behind else ""
    if word and not is_function_word(word) and concepts_of(word) - known - general() - light():
        return None
    before = _PHRASE_BEGIN.search(text[:at])
    if not before or not concepts_of(before[0]) - known:
        return found
    old = _PHRASE_BEGIN.search(found.replaced[: place.start])
    if not old:
        return None
    end = len(found.replaced) - place.behind
    return with_part(found.replaced, old.start(), end, before[0] + value)


def without_birthday(text: str) -> str:
    """A clause about a new age, without the day, which is no part of the age: `Vega turned 7` for
    `yesterday Vega turned 7`."""
    found = _AGE_REACHED.match(text)
    return found["told"] if found else text


def says_change(text: str) -> bool:
    """Check whether a clause has a word of change: `now`, `moved`, `al final`."""
    return is_changed(text) or bool(CHANGE_WORDS.search(text) or INSTEAD.search(text))


def _relabelled(text: str, every: Sequence[str], *, is_change: bool) -> Statement | None:
    """The latest statement with the same noun before another number: `plot 12B`, `plot 7A`."""
    if not is_change:
        return None
    beings = features(text).beings
    for label in LABELLED.finditer(text):
        if not label.start() and _VERB_BEHIND.match(text, label.end()):
            # "Plot 8 has changed hands" tells of another plot.
            continue
        if label["noun"].lower() in {"stone", "foot", "feet"}:
            # "13 stone 9": a unit is no label.
            continue
        noun = re.compile(rf"\b{re.escape(label['noun'])} (?P<number>#?[A-Z]?\d+[A-Z]?)\b", _I)
        for one in reversed(every):
            found = noun.search(one)
            is_same = features(one).beings == beings and not have_different_owners(text, one)
            names = [values_of_part(said).get(ValueType.NAME) for said in (text, one)]
            is_price = "price" in concepts_of(label["noun"])
            if not is_price and all(names) and not value_key(text) & features(one).names:
                # "They put me in a Scania, unit 52" is not the Volvo, unit 41.
                continue
            if found and found["number"] != label["number"] and is_same:
                return with_part(one, *found.span("number"), label["number"])
    return None


def about(said: str, part: str, known: Sequence[str]) -> Sequence[str]:
    """The statements that may be meant by a value behind a part of a clause: those of which it
    names most; if it names none, only a pronoun (`it's at nine`) refers to the last one."""
    # "Two of my pupils have left" says nothing of two cats.
    named = concepts_of(without_counts(said)) - general()
    if not named:
        return known
    known = [one for one in known if not have_different_owners(said, one)]
    if _BY_SPEAKER.match(said):
        known = [one for one in known if not features(one).beings - features(said).beings]
    shares = [len(named & features(one).concepts) for one in known]
    best = max(shares, default=0)
    if not best:
        # "We've moved, it's 27 Hill Road now" is about a home, whatever was said before it.
        is_open = not any(map(is_concept, named)) and _PRONOUN.match(part)
        return known[-1:] if is_open else ()
    return [one for one, share in zip(known, shares, strict=True) if share == best]


def _named_before(said: str, part: str, every: Sequence[str]) -> Statement | None:
    """`They fired Ann, the boss is Eve`: the statement of which the first part names the value that
    the second one replaces."""
    begins = _FOLLOWS.match(part)
    if not begins or len(part.split()) > MAX_FRAGMENT_WORDS + 1 or _LIST_END.search(part):
        return None
    for one in reversed(every):
        found = with_typed_value(one, ASIDE_PLACE.sub(" ", said), part)
        around = concepts_of(outside(part, values_of_part(part))) - general()
        around -= concepts_of(begins[0])
        if found and (around <= features(one).concepts or not around):
            return found
    return None


def _short_correction(clause: Clause, known: Sequence[str]) -> Statement | None:
    """A clause of a few words that is understandable only behind the latest statements."""
    text = clause.text
    if len(text.split()) > MAX_FRAGMENT_WORDS:
        return None
    if found := _with_same_preposition(text, known[-1]):
        return found
    being = _OWN_NAMED.search(known[-1]) if _OWN_NAMED.match(text) else None
    if being:
        # "Make it my wife, Noor" after "my contact is my dad, Clive".
        return with_part(known[-1], *being.span(), text)
    if (denied := _NO_VALUE.match(text)) and _is_value_of(denied["value"], known[-1]):
        return _with_fragment(known[-1:], denied["value"])
    exclaimed = _EXCLAIMED.match(text)
    value = exclaimed["value"] if exclaimed else text
    types = values_of_part(value)
    is_value = bool(types) and not concepts_of(outside(value, types))
    if (
        exclaimed
        and is_value
        and types.keys() <= values_in_place_of(value, types, known[-1]).keys()
    ):
        return with_types(known[-1], value, types)
    if _PAINTED.match(text) and (found := _with_colour(text, known[-1])):
        return found
    is_bare = clause.kind is ClauseKind.OTHER or bool(_IT_IS.match(text))
    if is_bare and (clause.is_change or _NOW_VALUE.search(text)):
        return _with_fragment(known, text)
    return _respelled(text, known) if _IT_IS.match(text) else None


_NO_VALUE = LazyPattern(r"^no (?P<value>\S+(?: \S+){0,2})$", _I)
"""A correction in the manner of chats, without a comma: `no 35`."""


_OWN_NAMED = LazyPattern(r"\b(?:my|our|mi|nuestr[oa]) [\w-]+,? (?-i:[A-ZÀ-Þ])[\w-]+$", _I)
"""A relative of the speaker, with a name: `my dad, Clive`."""


def _is_value_of(text: str, statement: str) -> bool:
    """Check whether a text is nothing but a value of a type that a statement has, too."""
    types = values_of_part(text)
    is_value = any((0, len(text)) in spans for spans in types.values())
    return is_value and types.keys() <= typed_values(statement).keys()


def _respelled(text: str, known: Sequence[str]) -> Statement | None:
    """`It's John, with an h`: the latest statement with a name that is nearly the same."""
    spans = values_of_part(_value(text)).get(ValueType.NAME, ())
    for start, end in spans[:1]:
        name = _value(text)[start:end]
        for one in reversed(known[-MAX_BACK:]):
            for first, last in typed_values(one).get(ValueType.NAME, ()):
                if is_respelling(name, one[first:last]):
                    return with_part(one, first, last, name)
    return None


def _with_colour(text: str, earlier: str) -> Statement | None:
    """`I painted it red` after `my bike is blue`."""
    colours = values_of_part(text).get(ValueType.COLOUR)
    types: Spans = {ValueType.COLOUR: colours} if colours else {}
    is_coloured = ValueType.COLOUR in typed_values(earlier)
    return with_types(earlier, text, types) if types and is_coloured else None


def _with_same_preposition(text: str, earlier: str) -> Statement | None:
    """`They put me in goal` after `I play in defence`: the complement with this preposition."""
    found = _PLACED.match(text)
    if not found:
        return None
    preposition = found["at"] or found["at2"]
    place = re.search(rf"\b{preposition} (?P<old>[\w-]+)(?=\s|$)", earlier, _I)
    if not place:
        return None
    new = found["new"] or found["new2"]
    types = values_of_part(new)
    if not _may_restate(text, types, earlier) or not types.keys() <= typed_values(earlier).keys():
        return None
    is_topic = (concepts_of(new) - general()) & features(earlier).concepts
    return None if is_topic else with_part(earlier, *place.span("old"), new)


def with_other_parts(found: Statement, text: str) -> Statement:
    """The corrected statement, with what the other parts of the clause change in it as well."""
    for part in _PARTS.split(text):
        is_contrast = _NEGATOR.search(part) or _EXCHANGED.search(part)
        if not is_contrast and part not in found.text:
            again = restated(part, [found.text], [found.text], is_change=True)
            found = replace(found, text=again.text) if again else found
    return found


@lru_cache(maxsize=2000)
def _contrasts(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of an old value, maybe with words around it, and the new one: `not Ana, Anna`. Cached,
    since a text is compared with each earlier one."""
    return tuple(_each_contrast(text))


def _each_contrast(text: str) -> Iterator[tuple[str, str]]:
    if found := _POSTPOSED.match(text) or _MEANT.match(text):
        yield found["old"], found["new"]
    if found := _SUCCESSION.match(text):
        said = {name[:3]: value for name, value in found.groupdict().items() if value}
        yield said["old"], said["new"]
    yield from _exchanges(text)
    parts = [part for part in _PARTS.split(text) if part]
    for first, second in zip(parts, parts[1:], strict=False):
        is_first, is_second = (bool(_NEGATOR.search(part)) for part in (first, second))
        if is_first and not is_second:
            yield _NEGATOR.sub(" ", first), second
        elif is_second and not is_first:
            yield _NEGATOR.sub(" ", second), first
    if len(parts) == 1 and (found := _NOT.match(text)):
        yield found["old"], found["new"]


_NOT = LazyPattern(
    r"^(?P<new>.+?)(?<!\bcould)(?<!\bcan)(?<!\bdid)(?<!\bdo)(?<!\bdoes)(?<!\bwill)(?<!\bwould) "
    r"(?:and )?not (?P<old>.+)$"
)
"""A value and the former one: `green not blue`."""


def _is_range(text: str, found: re.Match[str]) -> bool:
    """Check whether the old and the new value of an exchange are one value: `from 9 to 5`."""
    start, end = found.start("old4"), found.end("new4")
    spans = (span for of_kind in typed_values(text).values() for span in of_kind)
    return any(one[0] <= start and end <= one[1] for one in spans)


def _exchanges(text: str) -> Iterator[tuple[str, str]]:
    """The old and the new value of an exchange: `I have eggs instead of porridge`."""
    found = _EXCHANGED.search(text)
    if not found or (found["old4"] and (not is_changed(text) or _is_range(text, found))):
        return
    old, new = (value for value in found.groups() if value)
    new = _TIME_BEHIND.sub("", new)
    if not found["old2"]:
        yield old, new
    else:
        done = DOES.match(old)
        yield new, done["new"] if done else old


def _with_contrast(every: Sequence[str], old: str, new: str) -> Statement | None:
    """The latest statement that has the old value, with the new one in its place."""
    if found := _at_other_place(every[-1], old, _said(new)):
        return found
    value = _value(_without_shared(new, old))
    types = values_of_part(value)
    if not types and not concepts_of(value):
        return None
    is_fragment = len(value.split()) <= MAX_FRAGMENT_WORDS and not is_statement(value)
    said = concepts_of(outside(value, types))
    kept = set(map(strip_accents, split_words(new)))
    differing = [
        word
        for word in split_words(old)
        if strip_accents(word) not in kept and not is_function_word(strip_accents(word))
    ]
    for one in reversed(every):
        if NOTE.search(one) and _span(one, differing) and not _span(NOTE.sub("", one), differing):
            # Only what a pronoun of it means.
            continue
        if (is_fragment or said - general() <= features(one).concepts) and (
            found := with_typed_value(one, old, value)
        ):
            return found
        span = _span(one, differing) if is_fragment and value else None
        if span and _may_stand_for(value, types, one, span):
            span = _whole_name(one, span) if ValueType.NAME in types else span
            # "The spinach shake": what specifies the old value goes with it.
            more = _SPECIFIED.match(one, span[1])
            part = _without_part_before(value, one[: span[0]])
            put = with_part if types else with_article
            found = put(one, span[0], more.end() if more else span[1], part)
            # "Jo.wright, not bright" corrects a part of an address.
            return replace(found, is_correction=part != value)
    return None


def _at_other_place(latest: str, old: str, new: str) -> Statement | None:
    """The latest statement with another place of a thing: `en el cajón, no debajo de la maceta`."""
    tail = COPULA.match(latest)
    is_place = tail and _AT.match(tail["tail"]) and value_key(tail["tail"]) <= value_key(old)
    if not tail or not is_place or not _AT.match(new):
        return None
    return with_part(latest, tail.start("tail"), len(latest), new)


def at_other_destination(clause: Clause, every: Sequence[str]) -> Statement | None:
    """The latest statement that tells with the verb of a change where the speaker goes or meets
    others, with the new place: `al final nos vamos a Lugo` after `nos vamos a Vigo en mayo`."""
    new = _GOES.match(clause.text) if clause.is_change else None
    for one in reversed(every) if new else ():
        old = _GOES.match(one)
        if new and old and new["verb"].lower() == old["verb"].lower():
            if new["more"]:
                # It tells more than the place.
                text = f"{clause.text[:1].upper()}{clause.text[1:]}"
                return Statement(text=text, is_change=True, replaced=one)
            return with_part(one, old.start("at"), old.end("place"), f"{new['at']} {new['place']}")
    return None


_GOES = LazyPattern(
    r"^(?P<verb>nos vamos|me voy|voy|vamos|iremos|ir[eé]|quedamos|nos vemos|viajamos"
    r"|(?:we|i)['’](?:re|m) (?:going|flying|travelling|meeting|staying)|(?:we|i) (?:meet|go))"
    r"(?: up| away| on holiday| de vacaciones)? (?P<at>al?|en|to|in|at) "
    r"(?P<place>(?:(?:the|our|my|el|la|los|las|mi|nuestr[oa]) )?[^\W\d_][\w'’-]+"
    r"(?: (?!(?:para|for|with|con|on|by|next|this|every|cada)\b)(?:del? |of )?[\w'’-]+){0,3}?)"
    r"(?P<more> (?:en|in|para|for|with|con|el|los|on|at|a las?|by|next|this|every|cada)\b.*)?$",
    _I,
)
"""Place to which the speaker goes, or where they meet others."""


def _without_part_before(value: str, before: str) -> str:
    """A value without its first part, if that stands before its place already: `jo.wright` in
    `jo.bright@…`."""
    parts = re.match(r"\w+[.@_-]", value)
    return value[parts.end() :] if parts and before.endswith(parts[0]) else value


def _whole_name(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span of a name of which a part is given, if it is that of a thing: `the Civic` is all of
    `I drive a Honda Civic`, but `Ruiz` not all of `Ana Ruiz`."""
    for start, end in typed_values(text).get(ValueType.NAME, ()):
        if start <= span[0] and span[1] <= end and _ARTICLE_BEFORE.search(text[: max(start, 0)]):
            return start, end
    return span


_AT_PLACE = LazyPattern(r"\b(?:at|in|en) (?:an?|the|una?|el|la) $", _I)
_LIST_END = LazyPattern(r" (?:and|y) (?:i|me|yo)$|,[^,]+ (?:and|y|e) (?-i:[A-ZÀ-Þ])\w+$", _I)
"""`…, Tim, Ann and me`: a list goes on."""
_ARTICLE_BEFORE = LazyPattern(r"\b(?:an?|the|una?|el|la) $", _I)


def _may_stand_for(value: str, types: Spans, earlier: str, span: tuple[int, int]) -> bool:
    """Check whether a new value has the type of the one that it replaces: a day is replaced by a
    day only, or its number by a number."""
    if "profession" in concepts_of(value) and _AT_PLACE.search(earlier[: span[0]]):
        # "He's left the garage, he's a driver now": no place.
        return False
    replaced = {
        kind
        for kind, spans in typed_values(earlier).items()
        if any(start < span[1] and span[0] < end for start, end in spans)
    }
    is_number = types.keys() <= {ValueType.NUMBER} and (types or has_count(value))
    if is_number:
        # "They put the rent of the flat up to 900": the flat is no number.
        old = earlier[slice(*span)]
        return has_count(old) or any(one.isdigit() for one in old)
    return (replaced & DATED) == (types.keys() & DATED)


def _without_shared(new: str, old: str) -> str:
    """The new part of a contrast without the words at its beginning that the old one has, too:
    `I like soul` beside `I don't like jazz`."""
    shared = set(map(strip_accents, split_words(old)))
    words = new.split()
    starts = [start for spans in values_of_part(new).values() for start, _ in spans]
    # "5 foot 11" beside "5 foot 6" is one value.
    first = len(new[: min(starts, default=len(new))].split())
    while (
        len(words) > 1
        and len(new.split()) - len(words) < first
        and strip_accents(words[0].lower()).strip("'’") in shared
    ):
        words.pop(0)
    return " ".join(words)


def _span(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Span of the last run of these words in a text; None if it has none of them."""
    place: tuple[int, int] | None = None
    for word in reversed(words):
        at = re.search(rf"\b{re.escape(word)}(?!\w)", text, _I)
        if at is None:
            break
        if place and text[at.end() : place[0]].strip():
            break
        place = (at.start(), place[1] if place else at.end())
    tail = COPULA.match(text)
    # "We changed the wifi password": the noun is not the value.
    return None if place and tail and place[0] < tail.start("tail") else place


def restated(
    text: str, every: Sequence[str], known: Sequence[str], *, is_change: bool
) -> Statement | None:
    """The earlier statement that a clause repeats with another value of the same type, with that
    value; None if the clause says more than that.

    A clause without a noun (`it's on Friday now`) restates one of the latest of `known`.
    """
    text = REASON.sub("", text)
    bare = CHANGE_WORDS.sub(" ", _BEHIND_VALUE.sub("", text))
    types = _types_without_change(bare, text)
    if not types or is_denial(text):
        return None
    said = concepts_of(outside(bare, types))
    verbs = concepts_of(" ".join(one[0] for one in _VERB.finditer(bare)))
    if said - general() - verbs:
        found = _restated_noun(text, bare, said, types, every, is_change=is_change)
        if found or said - general() - verbs - light():
            return found
    homes = list(filter(is_own_home, every)) if "home" in said and is_own_home(text) else ()
    if found := _restated_noun(text, bare, said, types, homes, is_change=is_change):
        return found
    if ValueType.NAME in types and len(types) > 1:
        # "Maisie is 7 now": the name says which statement is meant.
        named = [
            one
            for one in every
            if without_known(bare, types, _subject_of(one)).keys() < types.keys()
        ]
        if found := _restated_noun(text, bare, said, types, named, is_change=is_change):
            return found
        if (subject := leading_noun(text)) and subject.is_named:
            return None
    return _restated_recently(text, bare, said, types, known, is_change=is_change)


def _subject_of(statement: str) -> str:
    """A statement without the owner of what it is about: `Teo's sister is 9` and `su hermana tiene
    9 (mi sobrino Teo)` tell nothing of Teo."""
    if _HIS_OR_HER.match(statement):
        return NOTE.sub("", statement)
    return _OWNER_BEFORE.sub("", statement)


_HIS_OR_HER = LazyPattern(r"^(?:sus?|his|her|their) ", _I)
_OWNER_BEFORE = LazyPattern(
    r"^(?:(?:my|our) )?[\w-]+(?: (?-i:[A-Z])[\w-]+)?['’]s (?=(?-i:[a-z])[\w-]+ (?-i:[A-Z]))", _I
)


def _types_without_change(bare: str, text: str) -> Spans:
    """Typed values of a clause (`text`) without its words of change (`bare`): in `they've moved the
    meeting to 11`, the number is an hour."""
    types = dict(values_of_part(bare))
    whole = values_of_part(text)
    if types and ValueType.TIME not in types and ValueType.TIME in whole:
        types[ValueType.TIME] = types.pop(ValueType.NUMBER, ())
    if ValueType.NUMBER not in whole:
        # "They put it up by 50": how much more it is.
        types.pop(ValueType.NUMBER, None)
    return types


_COMES_NOW = LazyPattern(
    r"^(?:(?:ahora|ya) )?(?:viene|va|entra|llega|vuelve|trabaja|juega|canta|vive) (?-i:[A-ZÀ-Þ])"
    r"\w+$",
    _I,
)
"""`Ahora viene Ana`: the clause before it tells which being is replaced."""
_ONLY = LazyPattern(r"\b(?:only|just|s[oó]lo|solamente)\b", _I)
_REFLEXIVE = LazyPattern(r"\b(?:me|nos) (?P<verb>[^\W\d_]{3,}(?:o|amos|emos))(?= al?\b)", _I)
"""What the speaker does at a time: `me acuesto a las 9`."""
_SPANISH_VERBS = frozenset({
    "voy", "salgo", "corro", "nado", "entreno", "juego", "estudio", "trabajo", "ceno", "desayuno",
})  # fmt: skip


_TO_ME = LazyPattern(
    r"\b(?:put|charg\w+|bumped|raised|gave|giv\w+|pay\w*|paid) (?:me|us)\b"
    r"|^(?:ahora |ya |todos )*me (?:llam|dic|fich|contrat|cog|conoc)[^\W\d_]*(?:ó|[ae]n|ron)\b",
    _I,
)
"""Something is done to the speaker: it says nothing of what another being has."""


def _restated_recently(
    text: str,
    bare: str,
    said: frozenset[str],
    types: Spans,
    known: Sequence[str],
    *,
    is_change: bool,
) -> Statement | None:
    """The latest statement with a value of the type of those of a clause without a noun. What is
    said of a name (`Rui's moving to Porto`) gives a value that stands behind this name."""
    subject = leading_noun(text)
    name = subject.text if subject and subject.is_named else ""
    # "The 23rd of March" is one value.
    told = _BEHIND_VALUE.sub("", text)
    is_short = len(outside(told, values_of_part(told)).split()) < MAX_FRAGMENT_WORDS
    own = said - general() - (frozenset() if ValueType.NAME in types else light())
    is_bare = is_short and (not own or bool(_BY_SPEAKER.match(text)))
    if not (is_change or _DONE_TO.search(text)) or not (_PRONOUN.match(text) or is_bare):
        return None
    if _COMES_NOW.match(text):
        return None
    verbs = {one for one in split_words(bare) if one in _SPANISH_VERBS or past_verb(one)}
    verbs |= {one["verb"].lower() for one in _REFLEXIVE.finditer(bare)}
    for one in _misspelt_first(known, text, bare, types):
        # What both name says what is meant, and takes nothing's place; nor does a subject.
        new = _without_subject(without_known(bare, types, one), subject)
        if _is_of_other_matter(text, name, one) or not verbs <= set(split_words(one)):
            # "Ya solo voy los lunes", "ya pagué a Ana": nothing of what is done with others.
            continue
        if not new and _ONLY.search(text):
            new = types
        if name in one and not any(
            one.index(name) < start
            for spans in values_in_place_of(bare, new, one).values()
            for start, _ in spans
        ):
            continue
        if new.keys() & values_in_place_of(bare, new, one).keys() and _may_restate(
            text, types, one
        ):
            return with_types(one, bare, _without_date(text, new, one))
    return None


def _without_subject(types: Spans, subject: Mention | None) -> Spans:
    """The values without the name with which the clause begins (`Mrs Lacey has moved`), and without
    numbers of its subject (`my 5k time is 31:40`)."""
    if subject is None:
        return types
    if not subject.is_named:
        end = 0 if subject.start else len(subject.text)
        return {kind: spans for kind, spans in types.items() if spans[0][0] >= end} or types
    kept = {
        kind: tuple(span for span in spans if not (kind == ValueType.NAME and span[0] == 0))
        for kind, spans in types.items()
    }
    return {kind: spans for kind, spans in kept.items() if spans}


def _is_of_other_matter(text: str, name: str, earlier: str) -> bool:
    """Check whether a clause without a noun, maybe with a name as its subject, cannot be about what
    an earlier statement tells."""
    if name and name not in earlier and _SAYS_I.search(earlier):
        # "Njeri is in Kisumu" says nothing of where I go.
        return True
    said, told = features(text), features(earlier)
    if _TO_ME.search(text) and (subject := leading_noun(earlier)) and subject.is_being:
        # "They put me up to 205" after "my flatmate pays 210".
        return True
    # "The company put me in a Kenworth": nothing was lent to it.
    is_handed = bool(said.names and told.concepts & _HANDED - said.concepts)
    return is_handed or is_of_another(text, earlier)


_SAYS_I = LazyPattern(r"\b(?:(?-i:I)|we|yo)\b", _I)
_HANDED = frozenset({"lend", "loan", "owe"})
_OTHER_OF_KIND = LazyPattern(
    r"^(?:and |y )?(?:my|our|the|mis?|nuestr[oa]|el|la) (?:other|second|otr[oa]|segund[oa])\b", _I
)
"""Another one beside the one that is known: `my other grandmother lives in York`."""
_ABOUT_NAMED = LazyPattern(r"^(?:on|about|re|regarding|sobre|lo de) (?-i:[A-ZÀ-Þ])[\w-]+[.:]?$", _I)
"""A topic of which the next sentence gives the value: `scratch that on Luis. Fort Riley`."""


def _without_date(text: str, types: Spans, earlier: str) -> Spans:
    """The typed values that the new statement has: `I moved to York in May` says when, which
    `I live in Leeds` does not."""
    if ValueType.NAME not in types or not _BY_SPEAKER.match(text):
        return types
    kept = DATED & typed_values(earlier).keys()
    return {kind: spans for kind, spans in types.items() if kind not in DATED - kept}


def _may_restate(text: str, types: Spans, earlier: str) -> bool:
    """Check whether a clause without a noun may give an earlier statement another value. What the
    speaker does or becomes (`I moved to Rome`) changes neither the name of a sister nor a price."""
    if not _BY_SPEAKER.match(text):
        return True
    relations = features(text).topic & EXCLUSIVE
    is_by_speaker = bool(_BY_SPEAKER.match(earlier))
    own = concepts_of(outside(text, values_of_part(text))) - general() - light()
    is_instead = bool(INSTEAD.search(text)) and own <= features(earlier).concepts
    moves = is_instead or bool(_MOVES.search(text))
    if types and not types.keys() & {ValueType.NAME, ValueType.HANDLE}:
        measure = None if features(earlier).beings else COPULA.match(earlier)
        if measure and concepts_of(measure["noun"]) & _OF_BODY and _UP_OR_DOWN.search(text):
            # "My size is 38", "I've gone down to a 36".
            return True
        return moves or (is_by_speaker and bool(_GROWS.search(text)))
    if features(earlier).beings or not (is_by_speaker or _OWNED.match(earlier)):
        return False
    return bool(relations & features(earlier).topic)


def _head_of(text: str, said: frozenset[str]) -> frozenset[str]:
    """The concepts of the head of what a clause names by several nouns: `the car insurance`; empty
    if it names none in this way."""
    heads = (one.text.split() for one in noun_phrases(text))
    head = next((words for words in heads if len(words) > 1 and concepts_of(words[-1]) & said), [])
    return concepts_of(head[-1]) if head and concepts_of(head[-2]) & said else frozenset()


def _restated_noun(
    text: str,
    bare: str,
    said: frozenset[str],
    types: Spans,
    every: Sequence[str],
    *,
    is_change: bool,
) -> Statement | None:
    new = Statement(text=text, is_change=is_change)
    is_by_speaker, beings = bool(_BY_SPEAKER.match(text)), features(text).beings
    verbs = concepts_of(" ".join(one[0] for one in _VERB.finditer(bare)))
    words = stems_of(outside(bare, types)) - light()
    for one in sorted(reversed(every), key=partial(_unlikeness, words, beings)):
        of_one = features(one)
        is_of_others = is_by_speaker and of_one.beings - beings - household_of(one)
        if not said - verbs <= of_one.concepts or is_of_others:
            continue
        if not is_head(said, one) or _is_of_other_thing(text, one) or _is_of_speaker(one, text):
            continue
        if ValueType.NAME in types and of_one.is_ended:
            # "The new dog is called Tim" does not say that Tim died, as Rex did.
            continue
        if gives_name_beside(text, one) or have_other_predicates(text, one):
            continue
        changed = without_known(bare, types, one)
        if not changed or not changed.keys() & values_in_place_of(bare, changed, one).keys():
            continue
        is_named = bool(said & (of_one.topic or of_one.concepts))
        is_part = len(typed_values(one)) > 1 and bool(said - general() or changed != types)
        if (is_change and (is_named or is_part)) or replaces(new, one):
            anchor = _head_of(text, said) or said | concepts_of(outside(bare, changed))
            return with_types(one, bare, changed, anchor=anchor)
    return None


def _unlikeness(words: frozenset[str], beings: frozenset[str], one: str) -> tuple[bool, int]:
    """How little a statement has in common with a clause: `la cita` is rather the one with the
    dentist than the check of the car, and Gran's room rather that of Gran than of her friend."""
    return not words & stems_of(one), len(features(one).beings - beings) if beings else 0


def _is_of_other_thing(text: str, statement: str) -> bool:
    """Check whether a text tells of another being, or of another medicine, than a statement."""
    is_of_other = is_of_another(text, statement) or _is_of_other_subject(text, statement)
    is_of_other = is_of_other or is_only_one_former(text, statement)
    is_of_other = is_of_other or have_different_owners(text, statement)
    is_of_other = is_of_other or names_other_of_kind(text, statement)
    return is_of_other or names_other_medicine(text, statement)


def _is_of_other_subject(text: str, statement: str) -> bool:
    """Check whether two texts tell of different beings, although one may name that of the other:
    `my brother moved to Rome`, `my mum lives with my brother in Oslo`."""
    after, before = leading_noun(text), leading_noun(statement)
    if not (after and before and after.is_being and before.is_being):
        return False
    is_same = value_key(after.text) & value_key(before.text) - {"my", "our", "mi"}
    of_one, other = concepts_of(after.text), concepts_of(before.text)
    # A name alone may be that of the other one.
    return not (is_same or of_one & other or after.is_named or before.is_named)


def _are_named_differently(text: str, statement: str) -> bool:
    """Check whether two texts begin with different names: `Eva …`, `Leo …`."""
    one, other = subject_name(text), subject_name(statement)
    return bool(one and other) and not one & other


def _is_of_speaker(earlier: str, text: str) -> bool:
    """Check whether an earlier statement tells of the speaker, and a clause of a being with a name:
    `I'm 50`, `Leo turned 9`."""
    subject = leading_noun(text) if _BY_SPEAKER.match(earlier) else None
    return bool(
        subject and subject.is_named and value_key(subject.text).isdisjoint(value_key(earlier))
    )


def gives_name_beside(text: str, statement: str) -> bool:
    """Check whether a text tells a name, and a statement more of a being with a name: `my new
    flatmate is called Ana` does not say that she works nights, as `my flatmate Eve works nights`
    does."""
    return bool(_CALLED.search(text)) and is_named_aside(statement)


def is_head(concepts: frozenset[str], statement: str) -> bool:
    """Check that a statement is not about something of what the concepts name: `the boiler in the
    house is …` tells nothing of the house."""
    found = COPULA.match(statement)
    head, *of = _OF.split(found["noun"]) if found else [""]
    return not concepts & concepts_of(" ".join(of)) or bool(concepts & concepts_of(head))


def _value(text: str) -> str:
    """A value without what leads to it and follows it."""
    text = text.strip(" .!,")
    return _BEHIND_VALUE.sub("", _BEFORE_VALUE.sub("", text)).strip(" .!,")


def _said(text: str) -> str:
    """A value with its preposition or article, without what leads to it."""
    return _NOW.sub("", _IT_IS.sub("", text.strip(" .!,")))


def _with_fragment(known: Sequence[str], value: str) -> Statement | None:
    """A recent statement that has a value of the same type, with this value instead; for a value
    without a type the latest statement, with this complement instead."""
    text, said, value = value, _said(value), _value(value)
    if not value:
        return None
    types = values_of_part(value)
    fitting = (
        _with_value(earlier, value, types) for earlier in _misspelt_first(known, text, value, types)
    )
    if found := next(filter(None, fitting), None):
        return found
    if classes := frozenset() if is_statement(value) else concepts_of(value) & CLASSES:
        own = said if OWN_ARTICLE.match(said) else value
        fitting = (with_class(one, own, classes) for one in reversed(known[-MAX_BACK:]))
        if found := next(filter(None, fitting), None):
            return found
    return _with_complement(known[-1], value, said)


def _with_value(earlier: str, value: str, types: Spans) -> Statement | None:
    """The earlier statement with a value (with its `types`) in the place of one of the same type;
    None if it has none."""
    spans = values_in_place_of(value, types, earlier)
    tail = COPULA.match(earlier)
    if tail and types.keys() & spans.keys() and _is_whole(tail["tail"], value, types):
        return with_part(earlier, tail.start("tail"), len(earlier), value)
    if value.isdigit() and (number := _number_inside(earlier, value)):
        return with_part(earlier, *number, value)
    kind = next((one for one in types if one in spans), None)
    if kind is None:
        return None
    first, last = types[kind][0]
    # "room 7" after "room 3": the noun stands there already.
    has_noun = value[:first].strip().lower() in earlier.lower()
    is_bare = kind is ValueType.NUMBER and has_noun
    return with_part(earlier, *spans[kind][-1], value[first:last] if is_bare else value)


def _misspelt_first(known: Sequence[str], text: str, value: str, types: Spans) -> Sequence[str]:
    """The MAX_BACK latest statements, latest first, but before them that of which a correction
    (`text`) only respells the value: `no, 141` means `114 Cedar Avenue`, whatever number was told
    after it. A value that holds `now` respells none."""
    latest = known[-MAX_BACK:][::-1]
    if not types or _NOW_VALUE.search(text):
        return latest
    new = [value[start:end] for found in types.values() for start, end in found]

    def is_respelt(earlier: str) -> bool:
        spans = values_in_place_of(value, types, earlier)
        old = [earlier[start:end] for found in spans.values() for start, end in found]
        return any(is_respelling(one, other) for one in new for other in old)

    return sorted(latest, key=lambda one: not is_respelt(one))


def _with_other_spelling(text: str, known: Sequence[str]) -> Statement | None:
    """The latest statement with another spelling of one word of a name (`*Almond`): all around it
    holds."""
    for earlier in reversed(known if text.isalpha() else ()):
        for name in typed_values(earlier).get(ValueType.NAME, ()):
            for word in _WORD.finditer(earlier, *name):
                if is_respelling(text, word[0]):
                    told = earlier[: word.start()] + text + earlier[word.end() :]
                    return Statement(text=told, is_change=True, replaced=earlier)
    return None


_WORD = re.compile(r"[^\W\d_]+")


def _number_inside(text: str, value: str) -> tuple[int, int] | None:
    """Span of the number in a text without others that a bare one can replace: the year of its only
    date (`nací en 1984`), or its only hour (`voy a las 10`)."""
    types = typed_values(text)
    spans = types.get(ValueType.DAY if len(value) == YEAR_DIGITS else ValueType.TIME, ())
    pattern = YEAR if len(value) == YEAR_DIGITS else _DIGITS
    found = pattern.search(text, *spans[0]) if len(spans) == 1 else None
    return None if found is None or ValueType.NUMBER in types else found.span()


_DIGITS = LazyPattern(r"\d[\d:.]*")


def _is_whole(tail: str, value: str, types: Spans) -> bool:
    """Check whether a value (with its `types`) says all that a complement says: a day and its hour,
    or a typed value with words behind it (`B positive` for `O negative`)."""
    if len(types) > 1:
        return True
    start, end = next(iter(types.values()))[0]
    is_short = max(len(tail.split()), len(value.split())) <= MAX_TAIL_WORDS
    return is_short and not start and bool(value[end:].strip())


def _with_complement(latest: str, value: str, said: str) -> Statement | None:
    """The latest statement with a value without a type, or a name, in the place of its short
    complement. `said`: the value with the preposition before it."""
    types = values_of_part(value)
    tail = COPULA.match(latest) or _TAIL.match(latest) or _object(latest, value)
    if not tail or not (types or concepts_of(value)) or _STATE.match(value):
        return None
    if concepts_of(value) & SECRETS - features(latest).concepts:
        # "I mean the code for the safe" behind `my favourite composer is …`.
        return None
    if _AT.match(said) and _AT.match(tail["tail"]):
        return with_part(latest, tail.start("tail"), len(latest), said)
    if types.keys() - {ValueType.NAME} - typed_values(latest).keys():
        return None
    if "," in value or value.startswith("about "):
        return None
    is_named = ValueType.NAME not in types or "name" in features(latest).concepts
    is_named = is_named or not features(value).topic.isdisjoint(features(latest).topic)
    is_named = is_named and not types.keys() & DATED
    if is_named and len(tail["tail"].split()) <= MAX_TAIL_WORDS:
        return with_part(latest, tail.start("tail"), len(latest), value)
    return None


def _object(latest: str, value: str) -> re.Match[str] | None:
    """The object of the verb of a statement, if the value is of the same class."""
    found = _OBJECT.match(latest)
    is_same = found and concepts_of(found["tail"]) & concepts_of(value) & _SAME_CLASS
    return found if is_same else None


_SAME_CLASS = CLASSES | {"medicine"}
_STATE = LazyPattern(
    r"^(?:tired|late|busy|ill|sick|bored|hungry|sleepy|confused|lost|distracted|cansad[oa]|tarde"
    r"|ocupad[oa]|liad[oa]|enferm[oa]|aburrid[oa]|dormid[oa]|distra[ií]d[oa])$",
    _I,
)
"""An excuse, and no value: `sorry, tired`."""
_OBJECT = LazyPattern(
    r"^(?:(?:i|we|he|she|they|(?:my|our|mi) [\w-]+)(?:['’](?:m|re|s))?"
    r"(?: \w+ly| usually| always| often)? [\w-]+"
    r"|[^\W\d_]+(?:o|amos|emos|imos)|(?:soy|estoy|voy) \w+) (?P<tail>\S.*)$",
    _I,
)
_AT = LazyPattern(
    r"(?:under|behind|inside|next to|near|by|above|below|beside|over|in|on|at|with|debajo|detr[aá]s"
    r"|dentro|encima|sobre|al lado|junto|cerca|en|con)\b",
    _I,
)
"""The beginning of what says where a thing is."""
