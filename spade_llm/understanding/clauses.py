"""Clauses of a message: its sentences, split where another fact, question or request begins."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.language import split_sentences
from spade_llm.understanding.clause_kinds import (
    CHANGE_LEAD_IN,
    FINITE,
    FINITE_VERB,
    IMPERATIVE,
    LEAD_IN,
    MAX_STATEMENT_CHARS,
    NOT_TO_KEEP,
    REMEMBER,
    SAYING,
    TAKEN_BACK,
    THIRD_SPANISH,
    Clause,
    ClauseKind,
    classify,
    is_question,
    is_statement,
    lead_in_end,
    trimmed,
    without_lead_in,
)
from spade_llm.understanding.plain_sentences import (
    in_plain_words,
    spelled_out,
    with_both_told,
    with_relatives,
    with_siblings,
)
from spade_llm.understanding.spelling import plain_english, plain_spanish
from spade_llm.understanding.vocabulary import (
    MONTHS,
    WEEKDAYS,
)
from spade_llm.understanding.wording import FIRST_PERSON_VERBS, THIRD_PERSON_VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CHARS = 4000
"""Maximum length of a message in characters that is examined; the rest is ignored."""

_I = re.IGNORECASE
_TASK = LazyPattern(
    r"\b(?:translat\w+|rewrite|rephrase|paraphrase|proofread|summari[sz]e|role-?play\w*|pretend\w*"
    r"|(?:fix|correct|check) (?:the|this|my) (?:spelling|grammar|sentence|text|mistakes?|errors?)"
    r"|act as|lyrics|poem|novel|fictional|my character"
    r"|p[aá]sa(?:me|lo|melo)? (?:esto )?al? [^:\"“«\n]{3,25}"
    r"|trad[uú]c\w+|reescrib\w+|redact\w+"
    r"|corrig\w+(?! (?:mis?|nuestr[oa]s?) [^:;,]{2,30}[:;,] ?(?:ahora )?(?:es|son|fue) )"
    r"|act[uú]a como|poema|novela|personaje|juego de rol)\b.*[:\"“«\n]",
    _I | re.DOTALL,
)
"""Request to work on a text: the author of that text is unknown."""
_GAME = LazyPattern(
    r"^(?:ok(?:ay)?,? |so,? )?(?:(?:let['’]?s|shall we|can we) (?:play|pretend|role-?play)\b"
    r"|(?:juguemos|vamos a jugar|jugamos) a\b|(?:hagamos|vamos a hacer) como\b)(?=.*[:,;]"
    r"| (?:that|you|i['’]?m|i am)\b| que\b"
    r"|[^.]*\. (?:you['’]?re|you are|i['’]?m|i am|t[uú] eres|(?:yo )?soy)\b)",
    _I,
)
"""A game of roles: what follows is of the game."""
_OF_FICTION = LazyPattern(
    r"^(?:i['’]?m|i am|i['’]ve been|estoy|ando) (?:writing|drafting|escribiendo) "
    r"(?:an?|my|the|una?|mi|el|la) (?:[\w-]+ )?(?:novel|story|script|play|poem|song|screenplay|book"
    r"|novela|cuento|gui[oó]n|obra|poema|canci[oó]n|libro|relato)\b.*\b(?:says?|goes|reads|begins"
    r"|starts|opens|thinks|dice|empieza|comienza|piensa)\b[^:“\"«]{,20}[:“\"«]",
    _I,
)
"""The words of a character: `I'm writing a novel and the narrator says: I'm a surgeon`."""
_JOKE = LazyPattern(
    r"\b(?:kidding|joking|just a joke|sarcasm|es broma|de broma|bromeando|bromeaba|not true"
    r"|no es (?:verdad|cierto)|es mentira|april fools?|inocente,? inocente)\b|/s\b"
    r"|(?:\.\.|…|!) ?(?:mentira|nah|nope|not really|nada que ver|qu[eé] va)\b",
    _I,
)
"""A joke, or the word for one: no statement of the message counts."""
_SARCASM = LazyPattern(
    r"^(?:ja(?:ja)+|ha(?:ha)+|lol),? (?:(?:yeah|sure|right|s[ií]|claro|ya),? ){2}"
    r"|^(?:ja(?:ja)+|ha(?:ha)+|lol),? (?:yeah|sure|right|s[ií]|claro|ya|y)\b[^.!?]{,12}\b(?:and"
    r"|y) (?:my|mi)\b"
    r"|^(?:oh,? )?(?:yeah|sure|right|of course|s[ií],? claro"
    r"|(?:ya,? )?claro"
    r"|(?:brilliant|great|fantastic|wonderful|lovely|perfect|fab|marvellous|superb|genial"
    r"|qu[eé] bien|fant[aá]stico|estupendo|maravilloso)(?=[,.!]))(?: right)?[,.!]* (?:i (?:just "
    r"|really )?"
    r"(?:love|adore|enjoy)|me (?:encanta|chifla|flipa)n?)\b|.*[.!] Not[.!]$"
    r"|^(?:oh,? )?(?:yeah|sure|right|s[ií]|claro|ya)(?:,? (?:right|sure|claro|ya|seguro))*,? (?:and"
    r"|y) (?:i['’]?m|i am"
    r"|yo)\b"
    r"|^(?:oh,? )?(?:yeah|sure|right|s[ií]|claro|ya)\b.*,? (?:obviously|of course|por supuesto"
    r"|(?<!\w)claro)$"
    r"|.*\b(?:love|adore|favou?rite|best|great|lovely|brilliant|perfect|encantan?|chiflan?|flipan?"
    r"|favorit\w+|preferid[oa]s?|mejor|genial|maravilloso)\b.*[🙄🙃]\W*$"
    r"|^(?:oh,? )?(?:sure|yeah|yep|right|of course|s[ií]|claro|ya)\b.*[🙄🙃]\W*$"
    r"|.*\b(?:s?he|they) (?:just )?(?:doesn['’]?t|don['’]?t) know it yet\b"
    r"|.*\b(?:todav[ií]a|a[uú]n) no lo saben?\b",
    _I,
)
"""`Yeah right, and I'm the king of Spain`: disbelief, not a statement."""
_LAUGHTER = LazyPattern(r"\b(?:jk|lol|lmao|rofl|ha(?:ha)+|ja(?:ja)+|xd+)\b|😂|🤣|😜", _I)
"""Often only friendly: a statement with it is a joke only if it claims an identity, too."""
_NOW = LazyPattern(r"\b(?:now|ahora)\b", _I)
_IDENTITY = LazyPattern(
    r"^(?:i(?:['’]m| am)|(?:yo )?soy) (?:actually |basically |practically )?(?:the|an?|el|la|un"
    r"|una)\b",
    _I,
)
"""Identities that people claim in jokes."""
_TURNED_DOWN = LazyPattern(
    r".*\b(?:offer(?:ed|ing)?|tried to (?:sell|get|make|persuade)|wanted (?:me|us) to|asked (?:me"
    r"|us)"
    r" to|they could)\b.*\b(?:turned (?:it|them|him|her|that) down|said (?:no\b|nope|nah"
    r"|thanks but)|declined|refused|passed on it|not interested|(?:leave|keep|left|kept) (?:it"
    r"|things)"
    r" as (?:it|they) (?:is|are|was|were))"
    r"|.*\b(?:ofrec\w+|quer[ií]an? (?:vend|met|coloc|que)\w+)\b.*\b(?:(?:dij|he dicho"
    r"|hemos dicho)\w*"
    r" que no|rechac\w+|no (?:quise|quisimos|acept\w+)|pas[eé] de|no me interesa|(?:dej\w+"
    r"|qued\w+) (?:todo )?como est[aá]\w*)\b",
    _I,
)
"""An offer that was not accepted: `they offered me Netflix for 18 and I turned it down`."""
_OF_OTHERS_FORM = LazyPattern(
    r".*\b(?:filling|filled|fill|doing|completing)(?: in| out)? (?:my |the )?(?:mum|mom|dad|nan"
    r"|gran|son|daughter"
    r"|kid|brother|sister|wife|husband|partner|boyfriend|girlfriend|neighbou?r|(?-i:[A-Z])\w+)['’]?s\b"
    r".*\b(?:form|application|questionnaire)\b"
    r"|.*\b(?:rellen|llen)[^\W\d_]+ (?:la|el|una|un) (?:ficha|formulario|solicitud|impreso"
    r"|planilla|hoja)"
    r"\b.*\b(?:de|para) (?:mi|la|el) (?!trabajo|empresa|curso|banco)\w+",
    _I,
)
"""A form about another person: the data in it are not the speaker's (`doing mum's form now. dob
3 june 1948`)."""
_ON_OTHERS_PHONE = LazyPattern(
    r".*\b(?:on|using|borrowed|nicked|got) (?:her|his|my (?:mum|mom|dad|wife|husband|brother"
    r"|sister)['’]?s)"
    r" phone\b|.*\ble (?:cog[ií]|he cogido|agarr[eé]|quit[eé]|tom[eé]) (?:un rato )?el (?:m[oó]vil"
    r"|celu\w*"
    r"|tel[eé]fono)\b",
    _I,
)
"""Another person writes: `soy la hija de Marta, le cogí el móvil`."""
_NOT_OF_SPEAKER = (
    TAKEN_BACK, _SARCASM, _GAME, _OF_FICTION, _OF_OTHERS_FORM, _ON_OTHERS_PHONE,
)  # fmt: skip
"""Messages of which nothing is a fact about the speaker."""
_IMAGINE = LazyPattern(
    r"^(?:imagine|pretend|picture|imag[ií]n(?:a|ate|e|ese)|finge|haz como)\b", _I
)
"""An order to imagine: all of its sentence is imagined."""
_CONDITION = LazyPattern(
    r"(?:and |but |y |pero )?(?:if|unless|whether|suppose|as if|i wish|maybe|perhaps|si|ojal[aá]"
    r"|como si)\b",
    _I,
)
_SPLIT = LazyPattern(
    r"\s*;\s+|\s+[–—-]\s+|(?:,\s+(?:and |so |then |y |e )?"
    r"|\s+(?:and|so|then|y)\s+|,?\s(?:but|pero)\s(?=my|our|mis?\b|she|he|they"
    r"|i['’]ve (?:lived|been (?:living )?in)\b))"
    r"(?:(?:then|also|on top of (?:all )?that|as well|plus|tambi[eé]n|encima|adem[aá]s|luego"
    r"),? )*"
    r"(?=(?:(?:al final|resulta que|it turns out|in the end),? )?"
    r"(?:it['’]s (?!my favou?rite\b)(?=.*\b(?:now|instead|from (?:now|next|this))\b)|no more"
    r"|bought (?!in\b|for\b|at\b|on\b|from\b|last\b)"
    r"|got (?:an?|the) |i(?![\s.!]*$)|i['’](?:m|ve)"
    r"|my (?!(?:(?:best|old|big|little|older|younger|eldest|youngest|twin|other) )?[\w-]+,)"
    r"|on (?=(?!the\b)[^\W\d_]{4,} \d+(?: ?m?c?g)? (?:once|twice|a day|daily|every|in|at)\b)"
    r"|our (?!\w+,)"
    r"|we|we['’](?:re|ve)|call me|she|he|they"
    r"|mi (?!\w+(?: de \w+| mayor| menor)?,)|mis"
    r"|(?:todav[ií]a|a[uú]n) no (?=(?:me|nos|hay|tengo|tenemos|se|sé)\b)"
    r"|(?<=and )(?:his|her|its) (?=(?:[\w-]+ ){1,2}is\b)|sus? (?!nombre)[\w-]+(?= (?:es|son"
    r"|est[aá]n?"
    r"|cumple)\b)|no me|(?:se )?me \w{3,}(?<!r)"
    r"|nos \w{3,}(?<!r)|(?:he|hemos) \w+[dt]o|ir(?:é|emos) (?=al? )"
    r"|les? (?:he|hemos|hicimos|compramos|regalamos|dimos) (?=\w)"
    r"|(?<=and )now i['’]m an? (?=\w)|(?<= y )ahora"
    r" (?:soy|tengo|vivo|trabajo|voy|llevo|uso|toco|juego)"
    r"|vivo|trabajo|prefiero|odio|soy|tengo|hablo|estudio|suelo|estoy|voy|vamos|tenemos"
    r"|tomo|toco|juego|conduzco|peso|mido|cobro|entro"
    r"|yo (?=(?:[^\W\d_]+o|soy|estoy|voy)\b)"
    r"|(?:ya )?llev(?:o|amos)(?= (?:ya |casi )?\w+ (?:a[ñn]os?|mes(?:es)?"
    r"|semanas?|d[ií]as?)\b)"
    r"|(?!caf|aqu|ah[ií]|as[ií]|all)\w{2,}[éí])(?:(?<=\s)|(?!\w)))",
    _I,
)
"""Places where a new clause begins: only before words that begin one, since lists have commas and
`and`, too."""
_NO_SUBJECT = LazyPattern(r"(?:^|[,;] )(?:ahora |ya )?(?:me|nos|le) [^\W\d_]+[ae]n?$", _I)
"""`Me corta …`: what follows (`y me peina Ana`) names its subject."""
_APPOSITION = LazyPattern(
    r"^(?:me and (?:my|our)|my|our|mis?|nuestr[oa]s?)(?: [\w'’-]+| [\w'’-]+ [\w'’-]*[^\W\d_s]"
    r"| [\w'’-]+ [\w'’-]+ [\w'’-]*[^\W\d_s])$",
    _I,
)
"""A noun without a verb, which says more of what stands before it: `he's called Bo, our cat`."""
_HELPS = (
    r"(?:me|nos) (?!(?:gust|encant|duel|qued|parec|toc|falt|interes|preocup|apetec|cuest"
    r"|pas(?!a \d)|sient|hac|va\b|da\b|vien)\w*)[^\W\d_]{3,}[ae]"
)
"""A Spanish verb of what a person does for the speaker, not of what something is to them."""
_DONE_TO_SPEAKER = LazyPattern(
    r"^(?:me|nos) [^\W\d_]+[ae](?: \d| (?:en|con|por|cada|a las|muy|bien|mal|siempre)\b|$)"
    rf"|^{_HELPS} (?:el|la|los|las|una?|mis?)\b",
    _I,
)
"""A Spanish verb of which the subject stands before it: `el fontanero viene el lunes, me cobra 80`.
"""
_FIRST_PERSON = LazyPattern(
    r"\b(?:i|i['’]\w+|we|we['’]\w+|me|yo|soy|estoy|tengo|vivo|voy|he|hemos|somos|tenemos)\b", _I
)
_TWO_SUBJECTS = LazyPattern(r"^(?:[A-ZÀ-Þ]\w+|my \w+|mi \w+) (?:and I|y yo)\b(?=\s+\S)")
"""`Lola and I broke up`: no clause ends before the second subject."""
_QUESTION_SPLIT = LazyPattern(
    r"[,;]?\s+(?:and |but |so |y |pero )?(?=(?:what|where|when|who|which|how|can you|could you"
    r"|do you|d[oó]nde|cu[aá]ndo"
    r"|qui[eé]n|cu[aá]l|c[oó]mo|qué|(?<=[,;] )que|cu[aá]nt\w+)\b.*[?？]$)|\s*(?=¿)",
    _I,
)
"""Places where a question follows a statement in one sentence: `I'm allergic to nuts, what …?`."""
_BARE_PAST = LazyPattern(r"(?:bought|got)\b", _I)
_SUBJECT = LazyPattern(
    rf"^(?P<noun>they|he|she|(?!i\b|we\b)(?:(?:my|our|the) )?[\w-]+)"
    rf"(?:['’](?:ve|s|d))?(?: \w+ly| \w+)??(?: {FINITE}|(?<=['’]ve|.['’]s|.['’]d) \w+)\b",
    _I,
)
"""The subject of a clause that is not the speaker: a pronoun, a name, a noun."""
_QUOTED_LINE = LazyPattern(r"^[^\S\n]*>.*$", re.MULTILINE)
_IN_FIRST_PERSON = (
    r"(?=[^\"”»]*\b(?:i|i['’]m|we|my|me|mi|soy|tengo|vivo|trabajo|estoy)\b)(?:[^\s\"”»]+\s+)"
)
_QUOTED_TEXT = LazyPattern(
    r"(?:\b(?:the|that|this) [\w ]{2,30} (?:goes|sings),? |(?<=\A)|(?<=[:,.!?] )|(?<=says )"
    r"|(?<=said )|(?<=sings )|(?<=dice )|(?<=dijo )|(?<=canta )|(?<=[:.!?]\n))"
    rf"[\"“«]{_IN_FIRST_PERSON}{{5,}}[^\"”»]*[\"”»]"
    r"|(?:(?<=sings )|(?<=saying )|(?<=reads )|(?<=like )|(?<=pone )|(?<=repite )|(?<=con )"
    rf"|(?<=canta ))[\"“«]{_IN_FIRST_PERSON}{{2,}}[^\"”»]*[\"”»]",
    _I,
)
"""A text of several words in quotation marks, in the first person of its own author: a letter, the
beginning of a story."""

_SECOND_VERB_ES = LazyPattern(
    rf"^(?P<first>(?P<subject>(?:(?:mi|nuestr[oa]|el|la) (?!(?:{WEEKDAYS}|\d|semana|mes|a[ñn]o"
    r"|d[ií]a|fin|pr[oó]xim[oa]|domingo|tarde|noche|ma[ñn]ana)\b)[\w-]+"
    r"(?: (?:mayor|menor|median[oa]|peque[ñn][oa]|de (?:arriba|abajo|al lado|enfrente)))?"
    r"(?: (?-i:[A-ZÀ-Þ])\w+)?|(?!(?:ayer|hoy|anoche|ma[ñn]ana|luego|despu[eé]s)\b)"
    r"(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)(?:, [^,;]{2,30},)?)"
    r" (?:(?:no|ya|ahora|se|les?|l[ao]s?) )*(?!(?:dice|dijo)\b)"
    rf"(?:{THIRD_SPANISH}|[^\W\d_]{{3,}}ó)"
    r"(?: (?!(?:que|si|cuando|porque|para|y|e)\b)[^\s;,]+)+)(?:,? y|,)"
    r" (?P<rest>(?!se (?:ha )?jubil|qued[óa] (?:en )?\S*\d)"
    r"(?!(?:se )?(?:(?:ha|han) (?:entrado|venido|llegado|nacido|salido|aparecido|muerto)"
    r"|viene|llega|entra|nace|sale)n? (?:una?|mis?|el|la|los|las|otr[oa]|(?-i:[A-ZÀ-Þ])))"
    r"(?!(?:ahora|ya) (?:est[aá]|vive|va|viene|trabaja) (?-i:[A-ZÀ-Þ]))"
    r"(?!(?:ahora|ya) (?:me|nos) [^\W\d_]+[ae] (?:el|la|los|las|mis?) [\w-]+ (?-i:[A-ZÀ-Þ]))"
    r"(?:por lo visto |adem[aá]s |luego |despu[eé]s )?"
    rf"(?:(?:no|ya|ahora|tambi[eé]n|se|les?|l[ao]s?) )*(?:{THIRD_SPANISH}|[^\W\d_]{{3,}}ó(?!\w)"
    r"|(?<=se )[^\W\d_]{3,}[ae]n?"
    rf"|{_HELPS}) \S.*)$",
    _I,
)
"""The same in the third person: `mi hermana se llama Ana y vive en Lugo`."""


_TIME_FIRST = (
    rf"(?:(?:(?:on|every|from|los|el|cada|todos los|desde el) )?(?:{WEEKDAYS})"
    r"(?: (?:mornings?|afternoons?|evenings?|nights?|\d{1,2}|por la [^\W\d_]+))?"
    r"|between us|to be honest|honestly"
    r"|at (?:weekends|night|home)|in the [a-z]+|on the \d{1,2}\w*|these days"
    r"|el \d{1,2}|(?:los )?(?:findes|fines de semana)|(?:en|por) las? [^\W\d_]+|a (?:las|la) \d\S*"
    r"|ah[ií](?: \w+)?|all[ií]|a m[ií](?= (?:el|la|los|las)\b)),? "
)
"""Words for a time or a place before the subject of a clause."""
_NOUN_WITH_ARTICLE = (
    r"(?:the|that|this|these|those|his|her|their|its|my|our|another|el|la|los|las|mis?|sus?"
    r"|nuestr[oa]s?|es[ea]|otr[oa]|una?) "
    r"(?:(?!(?:and|or|that|who|which|when|if|because|to|for|with|from|que|si|cuando|porque|para|con"
    r"|en|por|al?|y|e|o)\b)[\w'’-]+ ){0,5}?(?!(?:of|the|de|del|la|el|and|that|who|which|que|y)\b)"
    r"[\w'’-]+"
)
_BESIDE = r"(?:, (?:[\w'’.-]+ ){0,3}[\w'’.-]+,)?"
"""What says more of the subject: `her eldest, Fiachra, starts …`."""
_BEFORE_VERB_ES = r"(?:(?:no|ya|tambi[eé]n|ahora|se|me|nos|les?|l[ao]s?) )*"
_THIRD_PERSON = (
    r"(?:(?:is|are|was|were|has|have|had|can|will|does|did|must|should)(?:n['’]t)?|won['’]t|can['’]?t"
    r"|(?:gets|takes|lives|works|plays|pays|gives|makes|wants|needs|likes|loves|hates|keeps|brings|comes"
    r"|goes|starts|ends|costs|opens|closes|leaves|arrives|stays|runs|sits|hangs|holds|drives|wears"
    r"|studies|speaks|teaches|sleeps|eats|drinks|owes|owns|sells|buys|watches|feeds|lets|sends"
    r"|knows|sees|looks|collects|picks|drops|visits|helps|walks|cooks|bakes|sings|swims|cleans"
    r"|coaches|does|tells|turns|moves|plans|weighs|smokes|snores|barks|bites|charges|cuts"
    r"|cycles|finishes|hurts|suffers|belongs|reads|writes|manages|trains)(?= \S)"
    r"|got|went|came|made|took|bought|moved|died|broke|left|lost|gave|paid|put|found|sold|had"
    r"|became|retired|finished|started|joined|opened|closed|passed|adopted)\b"
)
"""Verbs of a clause in the third person; no base form, which may belong to a list or to `to`."""
_THIRD_PERSON_ES = rf"(?:{THIRD_SPANISH}|{{}})(?!\w)".format(
    "|".join(sorted(THIRD_PERSON_VERBS, key=len, reverse=True))
)
_FIRST_PERSON_ES = r"(?:{})(?= \S)".format(
    "|".join(sorted(FIRST_PERSON_VERBS, key=len, reverse=True))
)
_SUBJECT_NOUN = (
    rf"(?!{_TIME_FIRST})(?:{_NOUN_WITH_ARTICLE}"
    r"|(?-i:[A-ZÀ-Þ])[\w'’-]+(?: (?-i:[A-ZÀ-Þ])[\w'’-]+)?)"
)
_ENGLISH_CLAUSE = (
    rf"(?:i|we)(?:['’]\w+)? \S|mine(?:['’]s| is| was) \S"
    rf"|{_SUBJECT_NOUN}{_BESIDE}(?: (?:also|just|still|always|usually|never|now|only))?"
    rf"(?: {_THIRD_PERSON}|['’](?:re|ll) \S|['’]s (?:an?|the|in|on|at|my|our|called|due|with|from"
    r"|not|been|\d\S*|\w+ing)\b)"
    r"|(?-i:[a-z]{3,})['’]s (?:M(?:r|rs|s)\b|Dr\b|due\b|(?:on|in|at) )"
    r"|(?!(?:he|she|they|it|this|that|there|here|which|who|what|not|never|always|often|also|then"
    r"|still|just|now|sometimes|two|three|ten|twenty|thirty|half|all|both|some|most)\b)"
    r"(?-i:[a-z-]{3,})(?<!ly) (?:is|are|was|has|pays|owes|lives|wants|knows"
    r"|keeps|teaches|studies|hates|loves|gets|takes|does|goes|comes|makes|got|went|came|left|gave"
    r"|took|moved|joined|bought|sold) \S"
)
_NOUN_AND_VERB_ES = rf"{_SUBJECT_NOUN}{_BESIDE} {_BEFORE_VERB_ES}{_THIRD_PERSON_ES}"
"""A Spanish subject and its verb."""
_SPANISH_CLAUSE = (
    rf"{_NOUN_AND_VERB_ES}"
    rf"|(?:no |ya |ahora |tambi[eé]n |l[ao]s? )*(?-i:{_FIRST_PERSON_ES})(?! (?:(?:el|la|los|las"
    rf"|un[ao])"
    r" (?:\d|del?\b|que\b|nuev)|(?:unos )?\d[\d.,]* ?(?:€|euros|pesos|soles|al|por|[.,;]|$)))"
    r"|(?:no |ya |tambi[eé]n |l[ao]s? |les? |me |nos )*(?-i:(?!(?:(?:mili|micro|kilo)?gramos|tramos"
    r"|extremos|primos|ramos|remos|estamos en paz|estamos a mano)\b)[a-zß-ÿ]{2,}[aei]mos)(?= \S)"
    r"|a (?:mis? [\w-]+|(?-i:[A-ZÀ-Þ])\w+),? (?:no |ya )?les? [^\W\d_]{2,}"
    rf"|(?:al? )?(?:el|la|los|las|mis?) [^\W\d_]+ l[ao]s? (?:(?:me|nos) )?{_THIRD_PERSON_ES}"
)
_NOW_FIRST_ES = (
    rf"(?:ahora|desde ahora|al final|desde hoy),? (?:{_NOUN_AND_VERB_ES}"
    rf"|{_TIME_FIRST}(?-i:{_FIRST_PERSON_ES}))"
    r"|en (?:el|la|mi|casa)(?: [^\W\d_]+)?,? (?:ahora )?(?:siempre |ya )*(?:no |me |nos )*"
    rf"(?-i:{_FIRST_PERSON_ES})"
)
"""A Spanish clause behind a time or place without a comma: `en el bar ahora pido mosto`."""
_SUBJECT_AND_VERB = LazyPattern(
    rf"(?:{_TIME_FIRST})?(?:{_ENGLISH_CLAUSE}|{_SPANISH_CLAUSE}|{_NOW_FIRST_ES})"
    rf"|{_TIME_FIRST}(?:no |ya |tambi[eé]n )?(?:me|nos) [^\W\d_]{{3,}}(?<!r)\b",
    _I,
)
"""A clause with a subject and a verb of its own, or a Spanish verb that needs no subject. One
without its noun (`tengo el 204`, `pago 420`) belongs to what stands before it."""
_JOIN = LazyPattern(
    r"(?:,? (?:and|but|so|while|y|e|pero|aunque|as[ií] que|por eso|de modo que|por lo que)|,)"
    r"(?: (?:also|then|adem[aá]s|tambi[eé]n|encima|luego))? ",
    _I,
)
"""Words between two clauses."""
_REPORTING = LazyPattern(
    r"\b(?:sa(?:y|ys|id)|tells?|told|thinks?|thought|asks?|asked|reckons?|hopes?|knows?|knew|believes?"
    r"|swears|dice[ns]?|dij\w+|cree[ns]?|sabe[ns]?|piensa[ns]?|espera[ns]?|jura)\b",
    _I,
)
_MAKES_ROOM = LazyPattern(
    r"\b(?:broke(?:n)?|left|quit|gone|off|sick|ill|retired|resigned|fired|sacked|moved out|dropped"
    r"|emigrated|another|echaron|despid\w+|se (?:ha )?(?:ido|fue|jubil\w+|march\w+)|baja|enferm\w+"
    r"|otr[oa])\b",
    _I,
)
"""What makes room for another being: the clause behind it names the successor."""
_ANOTHER_SUBJECT = LazyPattern(
    rf"{_SUBJECT_NOUN}{_BESIDE}(?: (?:{_THIRD_PERSON}|{THIRD_SPANISH})|['’]s )", _I
)
_NOT_DONE = LazyPattern(
    r"\b(?:nearly|almost|was going to|were going to|meant to|tried to|casi|iba a|[ií]bamos a)\b", _I
)
"""What did not happen: the reason stands behind it."""
_OPEN_END = LazyPattern(
    r"\b(?:when|where|while|if|whether|that|who|which|before|after|until|since|than|between|both"
    r"|because|as|que|cuando|si|donde|quien|porque|como|entre|hasta)(?: [\w'’-]+){1,4}$",
    _I,
)
"""A subordinate clause of which the verb may come behind: `I was there when Ann` (`and Bob met`).
"""


_SECOND_VERB = LazyPattern(
    r"^(?P<first>(?P<subject>i|we) (?:(?!(?:to|can|could|should|would|will|must|might|may|used|let"
    r"|help|not|never|no)\b)(?!\w+n['’]t\b)\S+ )+?)and (?P<rest>(?:bought|got|work|live|speak"
    r"|study|teach|own|love|like|hate|play|drive|have|take|drink|wear|collect|pay|earn|start|finish"
    r"|coach|train|sing|run|swim|owe|use|prefer|knock off|get up|look after|pick up|go) .+)$",
    _I,
)
"""`I live in Rome and work …`: the second verb has the subject of the first."""
_SECOND_VERB_OF_OTHER = LazyPattern(
    rf"^(?P<first>(?P<subject>(?:{_SUBJECT_NOUN}|he|she|it){_BESIDE}) {_THIRD_PERSON}"
    r"(?: (?!(?:to|not|never|that|who|which|when|if)\b)[^\s,;]+)+),?"
    rf" (?:and|but) (?P<rest>(?:also |still |now |never )?{_THIRD_PERSON} \S.*)$",
    _I,
)
"""The same of others: `Bran sleeps in the hall and gets …`."""


def _parts(sentence: str) -> Iterator[str]:
    """Parts of a sentence with a subject and a verb each."""
    for part in _split(sentence):
        # First: "mi ex vive en Lugo y me pasa 300" has one subject, which a cut would separate.
        for clause in _by_verb(part):
            yield from chain.from_iterable(map(_by_verb, _at_subjects(clause)))


def _at_subjects(part: str) -> Iterator[str]:
    """The part, split where another subject has its own verb: `Ann cooks and the boys wash`."""
    start = 0
    end = len(trimmed(part))
    for found in _JOIN.finditer(part) if len(part) <= MAX_STATEMENT_CHARS else ():
        before, behind = part[start : found.start()], part[found.end() :]
        if found.start() >= end or not _SUBJECT_AND_VERB.match(behind):
            continue
        is_own = behind.startswith("ahora ") and not _FINALLY.match(behind)
        if is_own and _CHANGES_ES.search(before):
            # "Cambié de gimnasio, ahora voy al Vips": of what is over, the whole tells.
            continue
        if _SHORT_END.match(before) and _FINALLY.match(behind):
            # "Se jubiló la de antes, ahora mi doctora es Ana" says who only as a whole.
            continue
        is_result = bool(_SO.match(found[0]) and _NOW.search(behind))
        if (_is_complete(before, has_result=is_result) or _FINALLY.match(behind)) and not (
            _MAKES_ROOM.search(before) and _ANOTHER_SUBJECT.match(behind)
        ):
            yield before
            start = found.end()
    yield part[start:]


_CHANGES_ES = LazyPattern(
    r"\b(?:cambi|mud|sal[ií]|dej|vend|termin|acab|renunci|quit|cerr|retir|suspend|di de|me fui)", _I
)
_SHORT_END = LazyPattern(r"\s*(?:se|l[aeo]s?|me|nos) \S+(?: \S+){0,3}\s*$", _I)
"""An end that does not say of what."""
_FINALLY = LazyPattern(
    rf"(?:al final|ahora|in the end|now),? (?:{_SUBJECT_NOUN}{_BESIDE} {_THIRD_PERSON}"
    rf"|{_NOUN_AND_VERB_ES})",
    _I,
)
"""A clause with how things are now, behind what led to it."""


_SO = LazyPattern(r",? (?:so|as[ií] que|por eso) ", _I)
_JUST = LazyPattern(r"\s*(?:just|finally|recently) \w{3,}", _I)
"""Beginning of an English statement without its subject: `just seen the bill`."""


def _is_complete(clause: str, *, has_result: bool) -> bool:
    """Check whether a clause is a statement that has its verb, not only the beginning of one. A
    report counts only with its consequence behind it (`has_result`)."""
    is_report = bool(_REPORTING.search(clause)) and not has_result
    if is_report or _NOT_DONE.search(clause):
        return False
    is_told = bool(_JUST.match(clause)) and classify(clause.strip()).kind is ClauseKind.STATEMENT
    if not is_told and not is_statement(clause):
        return False
    subordinate = _OPEN_END.search(clause)
    return subordinate is None or bool(FINITE_VERB.search(subordinate[0]))


_SECOND_VERBS = (_SECOND_VERB, _SECOND_VERB_OF_OTHER, _SECOND_VERB_ES)


def _by_verb(text: str) -> Iterator[str]:
    """Parts of a text with a verb each, all with the subject of the first."""
    while found := next((m for one in _SECOND_VERBS if (m := one.match(text))), None):
        yield found["first"]
        # "Pepe has a girlfriend, is called Ana": the second name is not his.
        is_named = _NAME_ONLY.match(found["subject"]) or _HAD_CHILD.search(found["first"])
        is_of_other = found["rest"].startswith("se llama") and is_named
        # "My mother is called Ana and my father Luis, they live in Lugo"
        is_of_other = is_of_other or _OF_SEVERAL_ES.match(found["rest"])
        text = found["rest"] if is_of_other else f"{found['subject']} {found['rest']}"
    yield text


_HAD_CHILD = LazyPattern(
    r"\b(?:tuvo|ha tenido|espera) (?:a )?(?:una?|la|el|al) (?:beb[eé]|ni[ñn][oa]|nen[ea]|hij[oa])$",
    _I,
)
_OF_SEVERAL_ES = LazyPattern(
    r"(?:(?:no|ya|ahora|se) )*(?:viven|son|tienen|trabajan|est[aá]n|juegan|estudian|duermen)\b", _I
)
"""A Spanish verb in the plural, which no single being is the subject of."""
_NAME_ONLY = re.compile(r"(?!Mi\b|Nuestr|El\b|La\b)[A-ZÀ-Þ]\w+$")


def split_clauses(text: str) -> tuple[Clause, ...]:
    """Split a message into clauses, in order, each with its kind.

    Reads the first MAX_CHARS; quoted lines (`> …`) are left out. A message that asks for work on a
    text is one request: that text says nothing about the speaker.
    """
    return _split_message(text[:MAX_CHARS])


@lru_cache(maxsize=1000)
def _split_message(text: str) -> tuple[Clause, ...]:
    """Cached: the same message is read before a turn, as an earlier one in the next turns, and
    whenever it is recalled."""
    text = _QUOTED_TEXT.sub(" ", _QUOTED_LINE.sub("", text))
    text = _without_tag(plain_english(plain_spanish(spelled_out(text.strip()))))
    # Asked as a whole: "vivo en Lugo, ¿no?".
    text = _CONFIRMED.sub(r", \g<tag>?", text)
    if not text:
        return ()
    if _DENIED_AT_END.search(text) or any(one.match(text) for one in _NOT_OF_SPEAKER):
        return (Clause(text=text, kind=ClauseKind.UNREAL),)
    if _TASK.search(text) and IMPERATIVE.match(LEAD_IN.sub("", text)):
        return (Clause(text=text, kind=ClauseKind.REQUEST),)
    is_joke = bool(_JOKE.search(text))
    is_laughing = bool(_LAUGHTER.search(text))
    clauses = [
        clause
        for line in text.splitlines()
        # Runs of spaces are one: the patterns below would try each of them.
        for sentence in split_sentences(" ".join(line.split()))
        for clause in (
            [Clause(text=sentence, kind=ClauseKind.UNREAL)]
            if _TURNED_DOWN.match(sentence) and not is_question(sentence)
            else _clauses_of_sentence(sentence)
        )
    ]
    clauses = [
        replace(one, kind=ClauseKind.QUESTION) if _is_more_of(before, one) else one
        for before, one in pairwise([clauses[0], *clauses] if clauses else [])
    ]
    clauses = _with_fragments(clauses)
    return tuple(
        Clause(text=one.text, kind=ClauseKind.UNREAL)
        if one.kind is ClauseKind.STATEMENT
        and (is_joke or (is_laughing and _IDENTITY.match(one.text) and not _NOW.search(one.text)))
        else one
        for one in clauses
    )


def _with_fragments(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses, each with the fragment behind it that only describes what it tells: `picked up
    the car today! A secondhand Octavia, dark green`, `nos vamos a Islandia. Del 2 al 15 de julio`.
    """
    joined: list[Clause] = []
    for one in clauses:
        is_fragment = one.kind is ClauseKind.OTHER and not one.is_change
        if (
            is_fragment
            and joined
            and joined[-1].kind is ClauseKind.STATEMENT
            and _FRAGMENT.match(one.text)
        ):
            text = f"{joined[-1].text}, {one.text[:1].lower()}{one.text[1:]}"
            joined[-1] = replace(joined[-1], text=text)
        else:
            joined.append(one)
    return joined


_FRAGMENT = LazyPattern(
    r"^(?:an?|una?) (?:[\w'’-]+ ){1,5}[\w'’-]+(?:,|$)"
    rf"|^(?:(?:from|del?|on|el) )?(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: (?:of|de))?(?: {MONTHS})?"
    rf" (?:to|till|until|al?|-) (?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: (?:of|de))?(?: {MONTHS})?$",
    _I,
)
"""A noun phrase or a span of days without a verb."""


def _without_tag(text: str) -> str:
    """A statement without the `ok?` behind it, which asks nothing."""
    tag = _TAG.search(text)
    told = text[: tag.start()] if tag else ""
    is_told = len(told.split()) >= MIN_TAGGED_WORDS or is_statement(told)
    return told if is_told and not is_question(told) else text


MIN_TAGGED_WORDS = 3
"""Minimum length in words of a statement before `ok?`: `is it ok?` is a question."""
_TAG = LazyPattern(r",? (?:ok(?:ay)?|vale|eh)\s*\?+\s*$", _I)


_DENIED_AT_END = LazyPattern(
    r"(?: [–—-] not|, qu[eé] va|, (?:que )?(?:es )?(?:pura )?mentira|,? (?:which is|that['’]?s"
    r"|it['’]?s) (?:a lie"
    r"|rubbish|nonsense))[\s.!]*$",
    _I,
)
"""`I support Everton - not!`, `they say I'm rich, which is a lie`."""
_CONFIRMED = LazyPattern(r", ?¿(?P<tag>no|verdad|cierto|a que s[ií])\?", _I)


def _is_more_of(question: Clause, clause: Clause) -> bool:
    """Check whether a clause only says what a question before it means, and corrects nothing that
    was told: `what's the rego? The number plate, I mean`."""
    is_value = clause.kind is ClauseKind.OTHER and clause.is_change
    return question.kind is ClauseKind.QUESTION and is_value


def _clauses_of_sentence(sentence: str) -> list[Clause]:
    """Clauses of a sentence. If one of them is unreal, the whole sentence is."""
    sentence = with_both_told(with_siblings(with_relatives(in_plain_words(sentence))))
    sentence = _TOPIC_FIRST.sub(r"¿\g<asked> \g<noun>?", sentence)
    if sentence.endswith(("?", "？")) and (parts := _QUESTION_SPLIT.split(sentence, maxsplit=1)):
        parts = [part for part in parts if part and part.strip()]
        if len(parts) == 2 and is_statement(without_lead_in(parts[0])[0]):
            return [*_clauses_of_sentence(parts[0]), *_clauses_of_sentence(parts[1])]
    if behind := _behind_colon(sentence):
        announced = _clauses_of_sentence(sentence.removesuffix(f": {behind}"))
        told = [one for one in announced if one.kind is ClauseKind.STATEMENT]
        return [*told, *_clauses_of_sentence(behind)]
    is_whole = is_question(sentence) or _TWO_SUBJECTS.match(sentence)
    if introduced := _INTRODUCTION.match(sentence):
        return _clauses_of_introduction(introduced)
    parts = [sentence] if is_whole else [*_parts(sentence)]
    clauses: list[Clause] = []
    for part in parts:
        latest = clauses[-1].text if clauses else ""
        is_joined = f"and {part}" in sentence
        if is_joined and _BARE_PAST.match(part) and _SUBJECT.match(latest):
            # "They sold the flat and bought a house": one statement of others.
            clauses[-1] = classify(f"{latest} and {part.strip()}")
            continue
        is_own = bool(_BARE_PAST.match(part)) and latest[:2].lower() == "i "
        clauses.append(classify(f"I {part}".strip() if is_own else part.strip()))
    unreal = next((n for n, one in enumerate(clauses) if _is_imagined(one)), None)
    if unreal is None:
        return clauses
    # "If I lived in Rome, I would …": what hangs on a condition is as unreal as the condition; what
    # stands by itself before it is not (`my birthday is in May, she will be cross if I forget`).
    before = [] if _CONDITION.match(clauses[unreal].text) else clauses[:unreal]
    rest = sentence if not before else ", ".join(one.text for one in clauses[unreal:])
    return [*before, Clause(text=rest, kind=ClauseKind.UNREAL)]


_TOPIC_FIRST = LazyPattern(
    r"^¿?(?:(?:y|pero|oye),? )*(?P<noun>(?:mis?|el|la|los|las|nuestr[oa]s?) [^\W\d_]+"
    r"(?: del? (?:(?:la|el|mi) )?[^\W\d_]+)?)(?:, ?¿?(?=[^,?]{3})| ¿?(?!que\b))"
    r"(?P<asked>(?:(?:a|en|de|con|para|desde) )?(?:d[oó]nde|cu[aá]ndo|c[oó]mo|qu[eé]|cu[aá]l(?:es)?"
    r"|qui[eé]n|cu[aá]nt[oa]s?)\b[^?]*?) *\?+$",
    _I,
)
"""A question behind what it is about: `y mi hijo, ¿dónde estudia?`"""


def _is_imagined(clause: Clause) -> bool:
    is_order = clause.kind is ClauseKind.REQUEST and bool(_IMAGINE.match(clause.text))
    return clause.kind is ClauseKind.UNREAL or is_order


_INTRODUCTION = LazyPattern(
    r"^(?:(?:hi|hello|hey|ok(?:ay)?|so|hola|buenas|pues)\b[,.! ]*)?"
    r"(?P<name>(?P<verb>i['’]?m|i am|my name is|soy|me llamo) (?-i:[A-ZÀ-Þ])[\w'’-]+),? "
    r"(?:and |y )?(?P<age>\d{1,3})(?: years old| a[ñn]os)?"
    r"(?:(?:,| and| y) (?:and |y )?(?P<rest>[^\W\d_][^,]{2,60}))?[.!]*$",
    _I,
)
"""Name, age and role in one sentence: `I'm Dan, 41, plumber from Hull`."""
_NO_ARTICLE = LazyPattern(
    r"(?:an?|the|from|in|at|with|single|vegan|pregnant|\w+(?:ed|ing|ian))\b", _I
)


def _clauses_of_introduction(found: re.Match[str]) -> list[Clause]:
    rest = found["rest"] or ""
    if found["verb"].lower() in ("soy", "me llamo"):
        age, what = f"tengo {found['age']} años", f"soy {rest}"
    else:
        article = "" if _NO_ARTICLE.match(rest) else "an " if rest[:1] in "aeiou" else "a "
        age, what = f"I'm {found['age']}", f"I'm {article}{rest}"
    if is_statement(rest):
        what = rest
    told = [found["name"], age, *([what] if rest else [])]
    return [Clause(text=trimmed(one), kind=ClauseKind.STATEMENT) for one in told]


def _behind_colon(sentence: str) -> str:
    """A statement that a colon announces: `change of plan: the party is on Sunday`. What others say
    or write behind a colon is none, and it may be in their first person."""
    before, _, behind = sentence.partition(": ")
    if CHANGE_LEAD_IN.match(sentence):
        return ""
    if not behind[:1].islower() or SAYING.search(before) or _FIRST_PERSON.search(behind):
        return ""
    is_announced = classify(before).kind in (ClauseKind.STATEMENT, ClauseKind.OTHER)
    return behind if is_announced and is_statement(behind) and not REMEMBER.match(before) else ""


def _split(sentence: str) -> list[str]:
    """Split a sentence before its clauses; a part that says nothing by itself (`Wee Hamish, our
    youngest, …`) stays with the next one, the last with the one before it."""
    spans: list[tuple[int, int]] = []
    start = 0
    for found in _SPLIT.finditer(sentence):
        if not _is_fragment(sentence[start : found.start()]):
            spans.append((start, found.start()))
            start = found.end()
    if spans and _is_fragment(sentence[start:]):
        start, _ = spans.pop()
    parts = (sentence[slice(*span)].strip() for span in (*spans, (start, len(sentence))))
    return [part for part in parts if part]


def _is_fragment(part: str) -> bool:
    part = part.strip()
    if len(part) > MAX_STATEMENT_CHARS:
        # It is no statement, whatever comes next: each new part would be read with all before it.
        return False
    if _NO_SUBJECT.search(part) or not CHANGE_LEAD_IN.sub("", f"{part}, "):
        return True
    if _DONE_TO_SPEAKER.match(part) or (_APPOSITION.match(part) and not FINITE_VERB.search(part)):
        return True
    read = classify(part)
    return read.kind is ClauseKind.OTHER and not read.is_change


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingPart:
    """A part of a clause that may say what has changed, and what stands before it."""

    text: str
    before: str = ""
    is_change: bool = True
    """What stands around it says that something has changed."""


def changing_parts(clause: str, *, is_change: bool) -> Iterator[ChangingPart]:
    """Parts of a clause that may say by themselves what has changed, the longest first: without the
    cause or the time before it, without the remark behind it, and behind a reason. `is_change`:
    the clause begins with a word of correction."""
    if len(clause) > MAX_STATEMENT_CHARS:
        return
    if first := _VALUE_FIRST.match(clause):
        yield ChangingPart(text=first[0])
    yield from _without_frame(clause)
    for border in reversed([*_REASON_END.finditer(clause)]):
        before, behind = clause[: border.start()], clause[border.end() :]
        is_result = is_change or border["result"] is not None or bool(_RESTATES.search(behind))
        if is_result:
            yield ChangingPart(text=behind, before=before)
        for one in _without_frame(behind):
            if one.is_change or is_result:
                yield replace(one, before=before, is_change=True)


def _without_frame(text: str) -> Iterator[ChangingPart]:
    """A clause without who reports it and the cause or the time before it, and without the remark
    behind it, too."""
    told = _REPORT.sub("", text)
    bare = _CIRCUMSTANCE.sub("", told)
    is_framed = bare != told
    yield from (
        ChangingPart(text=one, is_change=is_framed or bool(_BARE_VALUE.match(one)))
        for one in dict.fromkeys((bare, _REMARK.sub("", bare)))
        if one not in ("", text)
    )


_BARE_VALUE = LazyPattern(r"^(?:(?:en|el|la|a las?|on|in|at) )?[^\s\d]*\d[^\s,]*$", _I)
"""`En 2012`."""
_REASON_END = LazyPattern(
    r"(?:[,;:]|(?=\s+(?:so|and|y|as[ií] que|o sea que|por eso)\s))\s+"
    r"(?P<result>(?:so(?! that)|as[ií] que|o sea que|por eso|por lo que)\s+)?(?:(?:and|y|que)\s+)?",
    _I,
)
"""Border between a reason and what follows from it."""
_VALUE_FIRST = LazyPattern(
    r"(?:(?:only|just|solo|nada m[aá]s) )?[^\s,]+(?: [^\s,]+)? (?:now|ya|ahora)(?=, )", _I
)
"""A new value before a remark: `one now, the nurse had words`."""
_RESTATES = LazyPattern(
    r"\b(?:now|ahora|(?:down|up) to)\b"
    r"|^(?:i|we)(?:['’]ve| have)? (?:been|got) (?:moved|bumped|put|changed|shifted|switched"
    r"|given)\b"
    r"|^they(?:['’]ve| have)? (?:moved|put|changed|shifted|given|switched)\b"
    r"|^(?:ya )?(?:calz|mid|pes|tien|cuest|val|es|son|cobr|pag)[^\W\d_]* \S*\d"
    r"|^(?:(?:ya|se|me|nos|les?) )*l[ao]s? (?:(?:ha|han|he|hemos) [^\W\d_]+(?:ado|ido|to|cho)"
    r"|[^\W\d_]+(?:ron|é|ó|amos|imos))\b"
    r"|^(?:(?:ya|se|me|nos|les?) )*(?:pas|qued|sub|baj|cambi|mov|adelant|retras|termin|acab)"
    r"[^\W\d_]* (?:al?|en|para)\b"
    r"|^est[aá]n? (?:en|debajo|encima|dentro|detr[aá]s|al lado|sobre|junto)\b",
    _I,
)
"""Gives what was spoken of another value: `me lo dejaron en 325`, `pasa al jueves`."""
_CIRCUMSTANCE = LazyPattern(
    r"^(?:(?:as of|from|since|after|with|because of|thanks to|due to) (?:now on|(?:the|my|our|this"
    r"|last|next) (?:[\w-]+ ){0,2}?[\w-]+|[\w-]+)|this (?:year|term|month|week|season))"
    r",? (?=(?:i|i['’]m|we|we['’]re|it|it['’]s|they|he|she|my|our|the)\b)"
    r"|^(?:(?:con|por|tras|despu[eé]s de|debido a|gracias a|a ra[ií]z de|desde|a partir de)"
    r" (?:(?:el|la|los|las|lo|un|una|mis?|nuestr[oa]s?|est[ea]|del) )?(?:[^\W\d_]+ ){0,3}?"
    r"[^\W\d_]+|despu[eé]s del [^\W\d_]+|este (?:a[ñn]o|mes|curso|trimestre)"
    r"|esta (?:semana|temporada)),? (?=(?:(?:ya|ahora|se|me|nos|les?|l[ao]s?) )*(?:(?:ha|han|he"
    r"|hemos) [^\W\d_]+(?:ado|ido|to|cho)|(?:qued|sub|baj|pas|cambi|mud|mov)[^\W\d_]+"
    r"|es|son|est[aá]n?|voy|vamos|vivo|vivimos|trabajo|tengo|uso|entro|salgo)\b)",
    _I,
)
"""A cause or a time before a change: `con el aumento quedó en 485`, `as of this week I'm on …`."""
_REPORT = LazyPattern(
    r"^(?:my|the|our) [\w-]+(?: [\w-]+)? (?:says?|said|reckons?|tells me|told me) (?:that )?"
    r"(?=(?:it['’]?s|it is|its|now|the)\b)"
    r"|^[\w-]+ (?:sms|text|email|app) says (?=its?['’]?s?\b)"
    r"|^(?:me )?(?:dice|dicen|dijo|cuenta|avisa) (?:(?:el|la|mi|los|las) [^\W\d_]+ )?que (?=ahora "
    r"|es |son )",
    _I,
)
"""Who says what has changed: `dice la vecina que ahora pasa los sábados`."""
_REMARK = LazyPattern(
    r"(?:,? (?:though|typical|thankfully|luckily|sadly|annoyingly|apparently|yesterday|ayer|hoy"
    r"|last (?:week|night|month)|this (?:morning|week|afternoon)|as of (?:today|this \w+|now)"
    r"|(?:much |a bit |way |far )?[a-z]+er (?:for me|for us|that way|this way)"
    r"|(?:dead|really|very|pretty|quite|bit) [^,;]{3,30}"
    r"|at (?:check[- ]?in|the desk|reception)|lol|haha))+[.!]*$"
    r"|, que [^,;]{4,80}$",
    _I,
)
"""What stands behind a change and says nothing of it."""
_OFF_THE_RECORD_FIRST = LazyPattern(
    r"^(?:[^,.:;]{1,40}(?:[,:]| and| but| y| pero) )?(?:(?:and|but|so|y|pero|que|esto) )*"
    rf"(?:{NOT_TO_KEEP} (?:this|any of this|the following|what i(?:['’]?m| am)? (?:about|going) to"
    r" [^:;,.]{1,30}|esto|nada de esto|lo siguiente|lo que (?:te )?voy a \w+)"
    r"(?: down| please| por favor)*(?P<sep> ?[:;,.–—-]+| but| pero)(?:(?<![,.;])|(?= (?!(?:it['’]?s"
    r"|it is|that['’]?s|es|que|porque|because|since|please|por favor|si"
    r"|i was (?:just |only )?\w+ing)\b)))"
    rf"|{NOT_TO_KEEP}(?: it| that| eso)?(?: down)? ?:"
    rf"|(?:(?=no ){NOT_TO_KEEP}|{NOT_TO_KEEP} (?:it|that|this))(?: down)?,? (?:but|pero)"
    r"|(?:this is )?off the record[:;,.–—-]*) "
    r"(?P<told>\S+ \S.*)",
    _I,
)
"""`Don't remember this: …`, `off the record, …`; what gives a reason means an earlier message."""
_OFF_THE_RECORD_LAST = LazyPattern(
    r"(?<=\w \w)\w*[\W_]*[,.;:!?(–—-][\W_]*(?:(?:and|but|so|y|pero|as[ií] que|this is"
    r"|that['’]?s|please),? )*"
    rf"(?:{NOT_TO_KEEP}(?: (?:this|that|it|any of (?:it|this|that)|esto|eso|nada))?"
    r"|off the record)(?:,? (?:please|pls|ok(?:ay)?|though|anywhere|down|to memory"
    r"|in (?:your|the) (?:memory|notes?|records?)|por favor|porfa|vale|anda))*[\s.!)]*$",
    _I,
)
"""`…, but don't write that down`, behind what is not to be kept."""
_MAY_BE_OFF_THE_RECORD = LazyPattern(
    r"\b(?:don['’]?t|not|never|need(?:n['’]?t)?|rather|no) |off the record", _I
)
"""Words of which each of them has one: most messages need no other test."""


def told_off_the_record(text: str) -> str:
    """What a message tells behind the words that it is not to be remembered: `don't store this: …`;
    empty if it does not begin with them. Behind a comma may be a reason (`…, my wife reads it`):
    then an earlier message is meant."""
    found = _first_off_the_record(text)
    return found["told"] if found and (found["sep"] or ":").strip() not in {",", ".", ";"} else ""


def _first_off_the_record(text: str) -> re.Match[str] | None:
    return _OFF_THE_RECORD_FIRST.match(" ".join(text[lead_in_end(text) :].split()))


def is_off_the_record(text: str) -> bool:
    """Check whether a message asks not to be remembered, at its beginning or its end."""
    text = text[:MAX_CHARS]
    if not _MAY_BE_OFF_THE_RECORD.search(text):
        return False
    found = _first_off_the_record(text) or _OFF_THE_RECORD_LAST.search(" ".join(text.split()))
    return found is not None
