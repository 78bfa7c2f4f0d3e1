"""Features of statements: concepts, values, beings, negation, tense."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.vocabulary import (
    MONTHS,
    ValueType,
    concepts_of,
    events,
    general,
    kin,
    phrase_concepts,
    typed_values,
    value_key,
    word_concepts,
    words_of,
)

_I = re.IGNORECASE

MAX_CHARS = 4000
"""Maximum length of a text in characters that is compared; the rest is ignored."""

_NEGATED = LazyPattern(
    r"\b(?:not|no longer|no more|never|any ?more|\w+n['’]t|dont|doesnt|isnt|without|no|ya no|nunca"
    r"|sin|tampoco)\b",
    _I,
)
"""The statement denies something."""
_ENDED = LazyPattern(
    r"\b(?:(?:must|have to|has to|need to|had to|should|told (?:me )?to) (?:stop|give up|quit"
    r"|drop|leave"
    r"|cancel|avoid|cut out)|(?:tengo|tuve|hay|toca|debo|tenemos) (?:que )?(?:dejar|cancelar"
    r"|vender)"
    r"|(?:got|was|were|been) (?:stolen|nicked|pinched|robbed)"
    r"|(?:some(?:one|body)?(?: [a-z]+){,2}|they|thieves)(?:['’]ve| have|['’]s| has)? (?:stolen?"
    r"|nicked|pinched)|found(?= (?:(?:my|our|the|poor) )?\w+ dead\b)|did(?:n['’]t"
    r"| not) (?:pull through|survive"
    r"|make it(?! (?:to|on|in|there|home|back|for)\b))"
    r"|closed (?:my|our|the|that) (?:\w+ )?account|cerr(?:é|ado|amos|aron) (?:la|mi|nuestra) cuenta"
    r"|stopped|quit(?:ted)?|ceased|(?-i:lost)|^lost|leaving"
    r"|(?<!\d )(?<!the )left(?! (?:ear|eye|hand|arm|leg|knee|foot|side|ankle|shoulder|hip"
    r"|breast)\b)"
    r"|resigned|hand(?:ed|ing) in (?:my|his|her) (?:notice|resignation)"
    r"|g(?:ave|iven) (?:in )?(?:my|his|her) notice"
    r"|cancel\w+|(?:is|are|was|were|['’]s) (?:all )?off(?=$|[,.;!]| now\b| again\b)|scrapped|axed"
    r"|closed down"
    r"|shut (?:down|its doors)|(?:gone|went) bust|(?:ha|han) cerrado(?! (?:a las?|por)\b)"
    r"|called off|fell through|fallen through|sold(?! out\b)|flogged|ditched|dumped"
    r"|(?:gave|given|had to give)(?= (?:(?!back\b|up\b|pin\b|code|password|number|address)"
    r"[\w'’-]+ ){1,3}?to (?:my|our|his|her|an?|the"
    r"|(?-i:[A-Z])\w+)\b)"
    r"|binned|returned|donated|retired|expired|ended|finished|died|dead|deceased|passed away"
    r"|broken?|broke up|split up|separated|divorced|moved out|run out|ran out|run away|gone off"
    r"|went off"
    r"|grown out of|grew out of|g[ai]ven? (?:up(?: on)?|away)|got rid of|put down|rehomed|rehoming"
    # The particle stands behind the object.
    r"|(?:g[ai]ve(?:n|ing)?|giving|thr[eo]wn?|chucked|put|wrote|written|let|paid)(?= (?!up\b)"
    r"(?:[\w'’-]+ ){1,3}(?:away|out|off|down|go)\b(?! (?:as|on|for|a|an|the|to)\b))|paid off"
    r"|ran (?:away|off)|step(?:ped|ping) down|stood down"
    r"|(?:c[ao]me off|(?:is|are|has|have|['’](?:s|re)|all) gone|(?:clear|heal)(?:s|ed) up"
    r"|w[eo]nt away|gone away|folded|packed up)(?= *(?:$|[,.;!]))"
    r"|(?:(?<=['’]m )|(?<=\bam )|(?<=['’]s )|(?<=\bis )|(?<=\bcame )|(?<=\bcome ))"
    r"(?:now )?off(?= (?:the|my|his|her) (?!hook|bus|train|plane|phone|ward|grid|market|record|top"
    r"|mark|back|list|ground|road|wall|table|leash|lead)\w)"
    r"|c[ao]me off(?= (?!duty|work|season|peak|guard|course|worse|best|well|badly|second|lightly"
    r"|easily|there|here|with|from|without|like)[a-z]{4,}"
    r"(?:$|[,.;!]| (?:in|now|last|this|two|a|at)\b))"
    r"|(?:(?<=['’]m )|(?<=\bam )|(?<=['’]s )|(?<=\bis ))off(?= (?!work|school|duty|sick|home|again"
    r"|today|until)[a-z]{4,} (?:now|completely|for good)\b)"
    r"|moved (?:away|on)|(?:had|have|got)(?= (?:my|the|that|our) (?:[\w-]+ ){1,3}removed\b)"
    r"|(?:shav(?:ed?|ing)|cut|chopped|lopped)(?= (?:my|the|that|our) (?:[\w-]+ ){1,3}off\b)"
    r"|let(?= (?:my|the|our) (?:[\w-]+ ){1,3}lapse\b)"
    r"|(?:(?<=\bi )|(?<=\bwe ))closed(?= (?:my|our|the) )"
    r"|dropped|withdr[ae]wn?|withdrew|pulled out|backed out"
    r"|(?:gone|went) (?:right |completely |totally )?off (?!to\b|on\b|with\b|at\b)"
    r"|cut out|(?:packed|jacked|chucked|packing|knocked) (?:\w+ ){0,3}?(?:in|on the head)"
    # "She is over in Boston" tells where she is.
    r"|(?:done|over|through|finished) with|is over(?! (?:in|at|from|there|here|on|the|\d))"
    r"|(?:it|that)['’]s (?:all )?over|no more"
    r"|laid (?:(?:me|us|him|her|them) )?off|made redundant|fired"
    r"|sacked|(?:walked|got|moved) out of|had enough of"
    r"|me (?:sal[ií]|fui|he ido|he salido|march[eé]) del?|(?:took|taken) early retirement|run over"
    r"|(?:got|was|were|been) "
    r"(?:killed|withdrawn|canned|shelved|discontinued|disbanded)"
    r"|deactivated(?= (?:me|us|my)\b)|conked out|got shot of|said goodbye to|cleared out"
    r"|ripped(?= (?:it|them|(?:the|my|our) (?:[\w-]+ )?[\w-]+) (?:all )?out\b)"
    r"|shut(?= (?:the|my|our) (?!door|window|gate|lid|curtains|boot|book)\w)|outgr[eo]wn?"
    r"|(?:is|are) stopping(?= (?!at|in|with|by|to|for|over)\w)|gone to live with|aged out"
    r"|aren?['’]t renewing|not renewing|didn['’]?t renew"
    r"|l[aeo]s? (?:atropellaron|atropell[oó]|echaron|han echado|corrieron)(?= *(?:$|[,.;!]))"
    r"|(?:me|nos|l[aeo]) (?:echaron|han echado|corrieron|han corrido|botaron|han botado) del?"
    r"|dej(?:é|e|ado|amos|aron|ó)(?: de)?(?! (?:en|a) \d)|vend(?:[ií]|ido|imos|i[oó])|cancel\w+"
    r"|anul\w+"
    r"|suspend(?:ieron|imos)|se ha suspendido"
    r"|(?:cerr|traspas|afeit)(?:é|ado|amos)(?= (?:el|la|los|mi|nuestr[oa])\b)"
    r"|se (?:me|nos|le) (?:ha )?pas(?:ó|ado)(?= (?:el|la|los)\b)"
    r"|se (?:ha |han )?(?:march(?:ó|ado|aron)|mud(?:ó|ado|aron)|fue|ido)(?= *(?:$|[,.;!]))"
    # "He suspendido química" tells of an exam that was failed.
    r"|(?<!\bhe )(?<!\bha )(?<!\bhas )(?<!\bhemos )suspendid[oa]s?"
    r"|perd(?:[ií]|ido|imos|i[oó])|cort(?:é|ado|amos|ó) con|romp(?:í|imos|ió)|roto con|lo dejamos"
    r"|se (?:(?:ha|han) (?:ido|marchado|mudado)|fue|fueron|march[oó]|mud[oó]) del?\b"
    r"|terminamos"
    r"|termin(?:é|ó|aron|ado)|acab(?:é|ado|amos)|mur(?:ió|ieron)|muerto|falleci\w+|regal(?:é|ado|amos)"
    r"|dona(?:do|mos)|doné|tir(?:é|ado|amos)|abandon(?:é|ó|ado|amos)|renunci(?:é|ó|ado|amos)|dimit\w+"
    r"|despid\w+|despedid[oa]s?|jubil\w+|robaron|robad[oa]|(?:di|dado|dimos) de baja"
    r"|me (?:he )?borr(?:é|ad[oa])|(?:me|nos|le) (?:(?:han|ha) (?:quitado|retirado|sacado)"
    r"|(?:quit|retir)(?:ó|aron))|(?:took|taken|taking) (?:me|us|him|her|them) off"
    r"|devolv(?:í|imos)|devuelto|pas[eo] de|se acab(?:ó|aron)"
    r"|se (?:ha salido|sali[oó]) del?\b|se (?:me |nos |le )?(?:cae|cay[óo]|ha ca[ií]do)|largu[eé]"
    r"|se (?:me|nos|le) (?:ha |han )?(?:romp|rot|perdi|estrope|escacharr|quem|muri|muert)\w+"
    r"|(?:fue|fueron|ha ido|est[aá]|llev[eéó]\w*|mand[eéó]\w*) (?:ya )?"
    r"al? (?:desguace|chatarrer[oa])"
    r"|(?:di|dimos|dado)(?= (?:[\w-]+ ){1,3}en adopci[oó]n\b)"
    r"|(?:tuv(?:e|imos)|tenido) que (?:sacrificar|dormir)|sacrific(?:amos|aron|ado)"
    r"|se (?:me |nos )?(?:ha )?escap(?:ó|aron|ado)"
    r"|les? (?:di|dimos|he dado|hemos dado)(?= (?:el|la|mi|nuestr[oa]) (?!clave|contrase|pin"
    r"|c[oó]digo|n[uú]mero|direcci|correo|raz[oó]n|noticia|receta|enhorabuena)"
    r"[\w-]+ al? (?:mi|una?|la|su|(?-i:[A-ZÀ-Þ])\w+)\b)"
    r"|(?:ha|he) colgado(?= (?:el|la|los|las) (?!tel[eé]fono|ropa|llamada|cuadro|foto))"
    r"|separ(?:é|ado|amos)"
    r"|divorci\w+)(?!\w)",
    _I,
)
"""The statement says that something is over, which counts as a denial of it."""
_GIVEN = LazyPattern(
    r"(?:gave|given?|sold|flogged|regal\w+|don\w+|vend\w+|^l[eao]s? \w+(?: \w+)?)$", _I
)
"""Verbs of _ENDED behind which stands to whom a thing was given or sold."""
_PARTICLE = LazyPattern(
    r" (?:away|off|out|down|go)"
    r"(?= *(?:$|[,.;!(]| (?:last|this|yesterday|today|on|in|at|for|so)\b))",
    _I,
)
"""Particle of a verb behind its object: `gave the dog away`."""
_RECIPIENT = LazyPattern(r" (?:to|al?) (?:(?! (?:to|al?) )[^()])+(?=$|\()", _I)
_NOT_YET = LazyPattern(
    r"(?:\w+n['’]t|\b(?:not|never|no|nunca|tampoco))"
    r"(?: (?:yet|even|actually|really|been|still|quite|officially|todav[ií]a|a[uú]n|lo|la|los|las"
    r"|me|se|le|he|hemos|ha|han))* $",
    _I,
)
"""Denial right before a verb that would say that something is over."""
_PART = LazyPattern(
    r"\s*[,;:–—.]+\s+|\s+(?=(?:because|cos|coz|since|so|but|now|it['’]s\b|its (?=\w+ing\b)"
    r"|and (?:i|we|it|now|she|he|they|my)|porque|pero|ya que|as[ií] que|ahora"
    r"|y (?:ahora|me|nos|ha|han|he|hemos|\w+(?:o|[éíó]|[aei]mos|aron|ieron))|instead|en vez)\b)",
    _I,
)
"""End of a denial: what follows is said apart from it."""
_ASIDE = LazyPattern(
    r"\s(?:in|at|on|from|outside|through|during|last|this|yesterday|today|recently|ago|after|since|years?|months?"
    r"|weeks?"
    r"|en|desde|durante|hace|ayer|hoy|tras|después|el (?:lunes|martes|mi[eé]rcoles|jueves|viernes"
    r"|s[aá]bado|domingo|mes|a[ñn]o)|la semana|est[ea])\b.*$",
    _I,
)
_NAMED_PLACE = LazyPattern(
    r"(?<=\b(?:at|en) )(?:(?-i:[A-ZÀ-Þ])\w+(?: (?-i:[A-ZÀ-Þ])\w+)*"
    r"|(?:the|an?|my) (?:[\w-]+ ){0,2}[\w-]+)",
    _I,
)
_PAST_EVENT = LazyPattern(
    r"\b(?:used to|wanted to|quer[ií]a|ran|went|visited|saw|met|did|was (?!born)|were|ago"
    r"|last (?:year|month|week"
    r"|summer|winter)|fui|estuve|visit[eé]"
    r"|corr[ií]|vi|conoc[ií]|hice|compr[eé]|antes|sol[ií]a|viv[ií]a|trabajaba|fumaba|era"
    r"|hace \w+ a[ñn]os)\b",
    _I,
)
"""Something that happened once, or was so: it does not end what holds now."""
_SOME_DAY = r"one of these days|some ?day|sooner or later|cualquier d[ií]a|alg[uú]n d[ií]a"
_PLAN = LazyPattern(
    rf"\b(?:{_SOME_DAY}"
    r"|offered (?:me|us)|(?:me|nos) (?:han )?ofreci\w+|want to|would (?:like|love)|['’]d (?:like"
    r"|love)|going to|gonna|plan(?:ning)? (?:to"
    r"|on)|thinking (?:of|about)|hope to|might|will"
    r"|next (?:week|month|year|summer)|quiero|quisiera|me gustar[ií]a|voy a|vamos a|pienso"
    r"|estoy pensando|planeo)\b",
    _I,
)
"""Something that is only wanted or intended: it does not end what holds now."""
_FUTURE = (
    rf"\b(?:tomorrow|soon|next \w+|in (?:{MONTHS}|(?:the )?(?:spring|summer|autumn|fall|winter"
    r"|new year)|(?:an?|two|three|four|five|six|\d+) (?:day|week|month|year)s?)|on (?:the"
    r"|\w+day)\b"
    r"|at the end of|from (?:next|the|\w+day)|ma[ñn]ana|pronto"
    rf"|en (?:{MONTHS}|primavera|verano|oto[ñn]o|invierno)|(?:el|la) \w+ que viene"
    r"|(?:el|la) pr[oó]xim[oa]|dentro de|a finales|a partir del?)\b"
)
_SCHEDULED = LazyPattern(
    r"\b(?:(?:am|are|is)|\w+['’](?:m|re|s)) (?:\w+ly )?(?:moving (?:to|in|out|back|away|house"
    r"|abroad|from)|relocating|transferring|retiring|quitting|leaving|emigrating|switching to"
    r"|changing (?:jobs?|schools?)|starting (?:at|as|with|in|an?|my|school|uni\w*|work))\b"
    rf".*?{_FUTURE}"
    rf"|\b(?:new|got|have) .*\bstarting {_FUTURE}"
    r"|\b(?:me|nos|se) (?:mud(?:o|amos|an?)|traslad(?:o|amos|an?)|jubil(?:o|a)|cambi(?:o|amos|a) de"
    r"|vo?y a vivir|va a vivir|vamos a vivir)\b"
    rf".*?{_FUTURE}|\b(?:empiezo|empieza|empezamos|dejo|dejamos|deja)\b.*?{_FUTURE}",
    _I,
)
"""A change that is still to come: `I'm moving to Rome in May`."""
_SAID_BY_ALL = (
    r"^(?:they|(?:most |some |other )?people|everyone|everybody|experts|folks|strangers"
    r"|la gente|todo el mundo|todos|much[oa]s)"
    r"(?: (?:always|often|sometimes|usually|all|keep|still|siempre|a veces|se))*"
    r" (?:say(?:s|ing)?|reckons?|claims?|think(?:s|ing)?|assumes?|believes?|swears?|dicen?|creen?"
    r"|piensan?)\b"
)
_IN_GENERAL = LazyPattern(rf"{_SAID_BY_ALL}|\b(?:{_SOME_DAY})\b|^(?:dicen|se dice) que\b", _I)
_REPORTED = LazyPattern(
    rf"{_SAID_BY_ALL}"
    r"|\b(?:tell(?:s|ing)|va diciendo|dici[eé]ndole) (?:people|everyone|everybody|a todo el mundo"
    r"|a la gente)\b"
    r"|^(?:(?!i\b|we\b|yo\b)[\w'’]+ ){1,6}?(?:said|says|told (?!me to)|tells|thinks|thought|claims"
    r"|reckons|swears|insists"
    r"|wrote|asked|dice[ns]?|dijo|dijeron"
    r"|cuenta que|cree que|piensa que|me ha dicho|me dijo|escribi[oó])\b|^(?:according to"
    r"|i heard that|seg[uú]n|he o[ií]do que)\b",
    _I,
)
"""Another person says it of themselves: `Ana says she lives in Rome`."""
_ADVICE = LazyPattern(
    r"^(?:(?:the|my|our|his|her|el|la|mi) )?(?:[\w-]+ )?(?:doctor|dr|gp|nurse|pharmacist"
    r"|chemist|vet"
    r"|dentist|physio|consultant|specialist|optician|midwife|dietician|m[eé]dic[oa]|doctora"
    r"|enfermer[oa]|farmac[eé]utic[oa]|veterinari[oa]|oculista|pediatra|dentista|fisio|matrona)"
    r"(?: [A-Z]\w+)? (?:says|said|told|wants|dice|dijo|quiere)\b"
    r".*\b(?:should|must|ha[sd]? to|have to|needs? to|can only|que (?:(?:a|le|les|me|se"
    r"|s[oó]lo) |mi \w+ )+[^\W\d_]+[ae]n?)\b",
    _I,
)
"""Advice of a doctor or a vet: it counts as a fact, although it is reported."""
WAS_SO = r"(?:no )?(?:me|nos|les?|l[ao]s?|se) [^\W\d_]+(?:aban?|ían?)\b"
"""Spanish: how things were, which is the reason of a change (`me dolían los dedos`)."""
PUT_ELSEWHERE = (
    r"(?:(?:he|hemos) (?:puesto|dejado|guardado|metido|aparcado|llevado|movido)|puse|dej[eé]"
    r"|guard[eé]|met[ií]|aparqu[eé]|llev[eé]|mov[ií]) (?:en|al?|debajo|detr[aá]s|dentro|junto)"
)
"""Spanish: the speaker put something in another place."""
_CHANGE = LazyPattern(
    r"\b(?:now|got (?:stolen|extended|renewed)|was stolen|extended|these days|nowadays|lately"
    r"|from now on|[uú]ltimamente|a partir de ahora"
    r"|turns out|in the end|al final(?! de)|on hold|upped|(?:gone|went|going) over to"
    r"|signed (?:for|by)|(?:vet|doctor|gp|nurse|consultant|dietician) wants"
    r"|destinad[oa]|fichad[oa]|ficharon|fichó"
    r"|spelled|spelt|actually|no longer|any ?more|instead|changed|moved|switched"
    r"|shifted"
    r"|rescheduled|postponed|delayed|reset|brought forward"
    r"|(?:pushed|put(?:ting)?) (?:\w+ ){0,3}?(?:back|forward|off)"
    r"|(?:put|left|stuck|parked|hid(?:den)?) (?:it|them) (?:back )?"
    r"(?:in|on|under|behind|inside)"
    rf"|l[ao]s? {PUT_ELSEWHERE}"
    r"|became|convert(?:ed|s|ing)?|transferr\w+|relocat\w+|traslad\w+"
    r"|gone into|fue a vivir|promot\w+|ascend\w+|(?!(?-i:New [A-Z]))new|raised|went up|gone up"
    r"|put(?:ting)? (?:\w+ ){1,3}up|upped|lowered|reduced"
    r"|increased|subi\w+|baj(?:é|ó|ad[oa]|aron|amos)"
    r"|aument\w+|stopped|quit|gave up|given up|broke up|split up|ahora|ya no|en realidad"
    r"|cambi\w+|mud(?:ad\w+|[eéó]|amos|aron)"
    r"|(?:me|nos|l[aeo]s?) (?:han |he )?(?:puesto|pusieron|pasad[oa]|pasaron|movid[oa]|movieron)"
    r"|corri(?:eron|ó|do) (?:la|el|mi) .*(?:para|al?)\b"
    r"|se (?:ha |han )?(?:pas(?:ó|o|aron|ado)|mov(?:ió|ido)|corri[óo])(?= (?:al?|para|hasta)\b)"
    r"|(?:me|nos) (?:han )?contrat\w+|hired|they(?:['’]ve)? put"
    r"|(?:moved|switched|swapped|shunted|bumped)"
    r" (?:me|us|him|her|them)|nuev[oa](?! (?-i:[A-ZÀ-Þ]))|dej[eé]|dejado|(?:aplaz|posterg)\w+"
    r"|retras\w+"
    r"|adelant\w+|roto"
    r"|rompimos)\b",
    _I,
)
"""The statement says itself that something is different now: less of the topic must be common to
replace an older one then (replacement.py)."""
_UNCHANGED = LazyPattern(
    r"\b(?:\w+n['’]t|not|never)(?: (?:yet|even|actually|really|been|ever|officially|i))*"
    r" (?:move[d]?|change[d]?|switch(?:ed)?|convert(?:ed)?|become|became|transferr?(?:ed)?"
    r"|relocate[d]?)\b"
    r"|\b(?:no|nunca|tampoco|ni) (?:(?:todav[ií]a|a[uú]n|lo|la|me|nos|se|le|he|hemos|ha|han) )*"
    r"(?:cambi|mud|traslad)(?!ar)\w+",
    _I,
)
"""Nothing has changed: `I haven't moved to York`."""
_SUBJECT = LazyPattern(
    # "A mi prima la han despedido" is about the cousin, like "mi prima …".
    r"^(?:and |but |y |pero )?(?:a (?=[^,;]{3,30} (?:les?|l[ao]s?|se) ))?"
    r"((?:my|our|the|mi|nuestr[oa]|el|la) (?:(?:best|old|new|own|elder"
    r"|older|younger|little"
    r"|big|mejor) )?[\w-]+\b)(?! (?:de|del)\b)(?!['’]s [a-z]+ (?:is|was|are))",
    _I,
)
_OWN = LazyPattern(
    r"\b(?:i|i['’]?(?:m|ve|d|ll)|we|we['’]\w+|me|us|our|mine|yo|nos|nuestr[oa]s?|m[ií]o|m[ií]a"
    r"|soy|tengo|estoy|vivo|voy|he"
    r"|hemos|tenemos"
    r"|vamos)(?!\w)",
    _I,
)
_ROLES = frozenset({"doctor", "dentist", "teacher", "pet", "partner", "child", "boss", "ex"})
"""Beings that statements about the speaker often name (`an appointment with the dentist`), and
classes of several beings: they do not make a statement one about another being."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something that a person said is so, understandable by itself."""

    text: str
    is_change: bool = False
    """It says itself that something has changed."""
    is_correction: bool = False
    """It begins as a correction of what was said before: `no, …`, `actually, …`."""
    replaced: str = ""
    """Earlier statement that it corrects; empty if none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features of a statement that are compared."""

    concepts: frozenset[str]
    topic: frozenset[str]
    """Concepts without those of values and of general classes."""
    values: tuple[tuple[ValueType, frozenset[str]], ...]
    beings: frozenset[str]
    """People and animals that it is about, apart from the speaker."""
    subject: frozenset[str]
    """The one of them that is its subject: `my dentist is …`."""
    is_own: bool
    """It names the speaker, too: `I live with my sister`."""
    is_negated: bool
    is_ended: bool
    """It says that something is over: `I sold …`, `I quit …`."""
    is_past: bool
    is_plan: bool
    is_reported: bool

    @property
    def is_denial(self) -> bool:
        """True if it denies something, or says that it is over."""
        return self.is_negated or self.is_ended

    @property
    def names(self) -> frozenset[str]:
        """Words of its names."""
        return self.values_of(ValueType.NAME) or frozenset()

    def values_of(self, kind: ValueType) -> frozenset[str] | None:
        """Words of the values of this type; None if there is none."""
        return dict(self.values).get(kind)


NOTE = LazyPattern(r" \((?-i:[a-z])[^()\d]*\)$")
"""The meaning of a pronoun, or the topic, behind a statement (pronouns.with_antecedent)."""
_SOJOURN = LazyPattern(
    r"^(?:i['’]?m|i am|we['’]?re|we are|estoy|estamos) (?:in|en)\b|\b(?:this (?:week|weekend|month"
    r"|morning|afternoon|evening)|today|tonight|right now|for work|on business"
    r"|for (?:a|two|three|the|some) (?:days?|nights?|weeks?|weekend)|esta (?:semana|noche"
    r"|ma[ñn]ana|tarde)|este (?:finde|fin de semana|mes)|hoy|por trabajo|unos d[ií]as"
    r"|de (?:visita|paso|viaje|vacaciones))\b",
    _I,
)
"""A stay: `I'm in Berlin` does not end what was said of a home elsewhere."""
_STAYING = frozenset({"visit", "trip"})


@lru_cache(maxsize=2000)
def features(text: str) -> Features:
    """Features of a statement, of which the first MAX_CHARS are read; cached, since candidates are
    compared again and again."""
    text = text[:MAX_CHARS]
    # The name of what a pronoun means is no value of the statement.
    spans = typed_values(NOTE.sub("", text))
    values = tuple(
        (kind, frozenset().union(*(value_key(text[start:end]) for start, end in of_kind)))
        for kind, of_kind in spans.items()
    )
    bare = text
    for start, end in sorted(
        (span for of_kind in spans.values() for span in of_kind), reverse=True
    ):
        bare = f"{bare[:start]} {bare[end:]}"
    concepts = concepts_of(text)
    subject = _SUBJECT.match(text)
    named = concepts_of(subject[1]) & kin() if subject else frozenset()
    # Expressions are read with their values: `I'm in Rome` says where somebody lives.
    topic = (word_concepts(bare) | phrase_concepts(text)) - general()
    if not _CHANGE.search(text) and (concepts & _STAYING or _SOJOURN.search(text)):
        topic -= {"home"}
    return Features(
        concepts=concepts,
        topic=topic,
        values=values,
        beings=(concepts & kin()) - _ROLES,
        subject=named,
        is_own=bool(_OWN.search(text) or (subject and not named)),
        is_negated=bool(_NEGATED.search(text)),
        is_ended=_has_happened(_ENDED, text),
        is_past=bool(_PAST_EVENT.search(text)),
        is_plan=bool(_PLAN.search(text)) or is_scheduled(text),
        is_reported=bool(_REPORTED.search(text) and not _ADVICE.search(text)),
    )


def is_denial(text: str) -> bool:
    """Check whether a clause denies something, or says that it is over. What is not over is no
    denial: `I haven't sold the boat`."""
    over = _ENDED.search(text)
    return not _is_not_yet(over) if over else is_negated(text)


def is_negated(text: str) -> bool:
    """Check whether a clause denies something."""
    return bool(_NEGATED.search(text))


def ended_parts(text: str) -> list[str]:
    """The parts of a text that say that something is over, or is not so."""
    return [part for part in _PART.split(text) if is_denial(part)]


def ended_part(text: str) -> str:
    """The first of these parts; empty if there is none."""
    return next(iter(ended_parts(text)), "")


def ended_thing(part: str) -> str:
    """The thing that is over, without the verb that says so and without its place and time: the
    object of the verb, or its subject if it has none."""
    verb = _ENDED.search(part)
    if verb and concepts_of(_ASIDE.sub("", part[verb.end() :])) - general():
        part = _PARTICLE.sub("", part[verb.end() :])
    if verb and _GIVEN.search(verb[0]):
        # "I gave the drill to my brother" says nothing of the brother.
        part = _RECIPIENT.sub(" ", part)
    part = _NEGATED.sub(" ", _ENDED.sub(" ", part))
    thing = _ASIDE.sub("", part)
    # "Ya no estoy en Acme": the place is what is over.
    place = None if concepts_of(thing) else _NAMED_PLACE.search(part)
    return place[0] if place else thing


def given_thing(part: str) -> str:
    """The thing that was given away, without verb and new owner, if a part says that; else the
    whole part."""
    verb = _ENDED.search(part)
    return _RECIPIENT.sub(" ", part[verb.end() :]) if verb and _GIVEN.search(verb[0]) else part


def is_sought(text: str) -> bool:
    """Check whether a text says that a thing is not found: where it was put is still so."""
    return bool(_SEEKS.search(text))


_SEEKS = LazyPattern(
    r"\b(?:(?:can['’]?t|cannot|couldn['’]?t|don['’]?t) (?:find|remember|recall)"
    r"|no (?:l[ao]s? )?(?:encuentr|encontr|recuerd|me acuerdo))",
    _I,
)


def is_scheduled(text: str) -> bool:
    """Check whether a statement tells a change that is still to come, as `I'm moving in May`."""
    return bool(_SCHEDULED.search(text))


def is_in_general(text: str) -> bool:
    """Check whether a statement is about everybody, or about some day in the future."""
    return bool(_IN_GENERAL.search(text))


# A clause is compared with each earlier statement, and asked the same each time.
@lru_cache(maxsize=2000)
def is_changed(text: str) -> bool:
    """Check whether a statement says itself that something has changed: `now`, `no longer`."""
    return bool(_CHANGE.search(_UNCHANGED.sub(" ", text)))


def is_taste(text: str) -> bool:
    """Check whether a statement tells what somebody likes or dislikes."""
    return bool(concepts_of(text) & {"like", "dislike"})


def ends(text: str, concepts: frozenset[str]) -> bool:
    """Check whether a statement tells an event that ends facts of these concepts, as a separation
    those about a girlfriend."""
    return any(closed & concepts and _has_happened(event, text) for event, closed in events())


@lru_cache(maxsize=2000)
def is_event(text: str) -> bool:
    """Check whether a statement tells an event that ends facts of some concepts only."""
    return any(_has_happened(event, text) for event, _ in events())


def _has_happened(event: LazyPattern, text: str) -> bool:
    found = event.search(text)
    return found is not None and not _is_not_yet(found)


def _is_not_yet(event: re.Match[str]) -> bool:
    return bool(_NOT_YET.search(event.string, 0, event.start()))


def related_words(text: str) -> str:
    """The words of all concepts that a text speaks of, for a search by words: `moved` finds
    `live`."""
    return " ".join(dict.fromkeys(words_of(features(text).concepts)))
