"""Kinds of clauses: statement, question, request, unreal, small talk; words around a clause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from spade_llm.core.text import LazyPattern
from spade_llm.search.language import language_of
from spade_llm.understanding.reminders import as_task
from spade_llm.understanding.vocabulary import (
    MONTHS,
    ValueType,
    concepts_of,
    general,
    is_concept,
    typed_values,
)

MAX_STATEMENT_CHARS = 300
"""A longer sentence is more likely pasted than said."""
MAX_VALUE_WORDS = 4
"""Maximum length in words of a value that stands alone in a correction: `no, on Thursday`."""

_I = re.IGNORECASE
_LAUGH = r"(?:ha|ja|je){2,}h?"


class ClauseKind(StrEnum):
    STATEMENT = "statement"
    QUESTION = "question"
    REQUEST = "request"
    UNREAL = "unreal"
    """Hypothetical, joke or quotation: it says nothing about the speaker."""
    SMALL_TALK = "small talk"
    OTHER = "other"
    """No rule applies, for instance key words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A sentence, or a part of one that could stand alone."""

    text: str
    """As it was said, without what leads in; a missing `I` is added."""
    kind: ClauseKind
    is_change: bool = False
    """The lead-in says that it corrects something: `no,`, `actually,`, `perdón,`."""

    @property
    def is_bare_correction(self) -> bool:
        """True for a corrected value without a verb: `no, Nina`."""
        return self.is_change and self.kind is ClauseKind.OTHER


# A message is acknowledged at once, so that a wrong reading can be corrected by the next one. The
# learner (memory/learning/rule_extractor.py) gets no such correction. It reads these clauses, too,
# and leaves out more of them, by stricter patterns for jokes, hypotheses and reported speech.

_SHORT_VALUE = (
    r"(?:(?:el|la|los|las|a las?|en(?: el| la)?) )?(?:\d\S*(?: \d+)*(?: de \w+)*|[^\s,]+)"
)
"""A value of a few words, without a verb: `el 3 de mayo`."""
EMOJI = r"[\U0001F300-\U0001FAFF\u2764\uFE0F]"
LEAD_IN = LazyPattern(
    r"^(?:(?:(?:what an? (?:day|week|night|mess|shame|pity|surprise|relief)|(?:how|so|too) (?:sweet"
    r"|nice|cute|funny|sad|cool|lovely|great|exciting|awful|weird))(?=\s*[,:!])"
    r"|(?:hi|hello|hey|hiya|heya|howdy)(?: (?:again|there|everyone|all|dear|love))*"
    r"|tell you what|qu[eé] (?:calor|fr[ií]o|sue[ñn]o|hambre|pereza|bien|mal|pena|l[aá]stima|rabia"
    r"|nervios|risa|asco|ilusi[oó]n)(?=,)|(?:listen|look|eh|escucha)(?=\s*[,.:;])"
    r"|(?:quick )?note(?=\s*[:–-])|nota(?=:)"
    r"|for your info(?:rmation)?|hola(?: che)?"
    r"|(?:muy )?buen[oa]s (?:d[ií]as|tardes|noches)|buenas|well"
    r"|so(?! far)|also|anyway|btw|by the way|okay|ok|oh|ah|fyi"
    r"|plus|not to mention(?: that)?|please|and|but|"
    rf"bueno(?!, {_SHORT_VALUE}$)"
    r"|pues|oye|mira(?: que\b|(?=\s*[,.:;]))"
    r"|(?:mire|oiga)(?: usted)?(?=\s*[,.:;])"
    r"|adem[aá]s|por cierto|por favor|vale|y|pero"
    r"|good (?:morning|afternoon|evening)"
    r"|just so you know|for the record|para que lo sepas|(?:quiero )?que sepas? (?:usted )?que"
    r"|i (?:want you to know|should (?:mention|say|add)|(?:have|must) (?:to )?say|forgot to (?:say"
    r"|mention)"
    r"|(?:just )?want(?:ed)? to (?:say|mention))(?: that)?|(?:debo|tengo que|quer[ií]a"
    r"|quiero) (?:decir|contar|comentar)(?:te|le)? que|te cuento(?: que| el chisme| una cosa)?"
    r"|please note(?: that)?|you should know(?: that)?|did you know(?: that)?"
    r"|(?:vos |t[uú] )?sab[eé]s(?: que(?= (?:yo|mis?|el|la|no|me|nos|ya|tengo|soy|vivo)\b))?,?"
    r"|i(?:['’]d"
    r"| would) like you to know(?: that)?"
    rf"|lol|omg|ugh|argh|phew|yay|wow|uh|um|er|aw+|che|uy|uf+|jo(?=\s*[,!]|\.(?:\s|$))|jope|guau"
    rf"|{_LAUGH}"
    r"|ay(?=,)(?:, hij[oa](?: m[ií][oa])?)?"
    r"|heads up(?: tho(?:ugh)?)?|you (?:won['’]t|will never|['’]ll never) (?:believe|guess) (?:it"
    r"|this"
    r"|what)(?: but)?"
    r"|no te lo vas a creer(?:,? pero)?"
    r"|come to think of it|pens[aá]ndolo bien"
    r"|qui[eé]n lo (?:iba a|hubiera|habr[ií]a) (?:decir|dicho|pensar|pensado)"
    r"|who(?:['’]d| would) have (?:thought|guessed)(?: it)?|(?:oh )?(?:my )?god(?= (?:forget"
    r"|delete))"
    r"|(?:damn |bloody |stupid )?autocorrect(?=\s*[,.:;])|(?:maldito "
    r"|el )?(?:auto)?corrector(?=\s*[,.:;])"
    r"|qu[eé] (?:desastre|despiste|cabeza la m[ií]a)(?=\s*[,.!])|me mata(?=,)"
    r"|(?:to be )?honest"
    r"|tbh|(?:the )?(?:thing|fact|truth) is(?: that)?|fun fact|guess what|believe it or not"
    r"|(?:would|can) you believe(?: it| that)?(?= ?,)|nada(?=,? que\b)"
    r"|(?:(?<=oye )|(?<=oye, )|(?<=nada )|(?<=nada, )|(?<=bueno, )|(?<=oiga, ))que"
    r"(?= (?:mis?|el|la|los|las|yo|me|nos|se|no|ya|he|hemos|ha|han|soy|tengo|estoy|vivo|al final"
    r"|hoy|ayer|por fin|\w+(?:aban?|[íi]an?|ó|aron|ieron))\b)|on top of (?:all )?that"
    r"|what['’]?s more"
    r"|la verdad(?: es que)?|lo cierto es que|en fin|o sea"
    r"|(?:please |just )*(?:keep (?:this|it)(?: a)? secret|between (?:you and me|us)"
    r"|(?:que quede )?entre nosotros|gu[aá]rdame (?:el|este) secreto)(?=\s*[,:;.–—-])"
    r"|a ver|total que|encima(?! de)|es que|f[ií]jate(?: que)?|ojo(?: que\b|(?=\s*[,.:;]))"
    r"|(?:perd[oó]n(?:a(?:me|d|dme)?)?|disculpa(?:me|d)?) (?:que|por) [^,;]{3,60}(?=,)"
    r"|sorry (?:i|for|about) [^,;]{3,60}(?=,)"
    r"|(?:(?!actually\b)\w{4,}ly|then)(?=,? (?:i|we|my|our)\b)"
    r"|(?:weirdly|oddly|strangely|funnily enough|curiosamente|sadly|(?:un)?fortunately|luckily"
    r"|thankfully|happily|(?:por )?desgracia(?:damente)?|lamentablemente|tristemente|por suerte"
    r"|afortunadamente)(?=\s*,)|ha(?=\s*,? no\b)"
    r"|(?:idk|i don['’]?t know|not sure|dunno) if (?:i|i['’]ve) (?:told|mentioned|said)(?: you"
    r"| u| this"
    r"| already| before)*,?(?= but\b)|quick one(?=,)|so{2,}|(?:little |quick )?update(?=,)"
    r"|get in(?=,)"
    # "The clinic says my appointment got pushed to Friday".
    r"|(?:the |my |la |el |mi )?[\w-]+ (?:says|said|texted|emailed|rang|phoned|dice|dicen|dijo"
    r"|avis[óa]\w*|escribi[óo])(?: to say| that| que)?(?= (?:the|my|our|el|la|mi|nuestr[oa])"
    r" [\w-]+(?: [\w-]+){0,2}?(?:['’]s)? (?:(?:has|have|had|been|got|was|is|se|ha|han|sido) )*"
    r"(?:pushed|moved|postponed|delayed|rescheduled|cancelled|put back|brought forward|(?:aplaz"
    r"|posterg)\w+"
    r"|retras\w+|adelant\w+|cancel\w+)\b)"
    r"|qu[eé] (?:alegr[ií]a|pena|l[aá]stima|ilusi[oó]n|bien|mal|rabia|susto|rollo|palo|fuerte|guay"
    r"|horror|verg[uü]enza|ganas)(?=\s*[,:!])|hm+|parce|g[uü]ey|wey|no manches|a{2,}y"
    r"|don['’]?t laugh,?(?= but\b)|no te r[ií]as,?(?= pero\b)"
    r"|(?:thanks|thank you|gracias|yes|yeah|yep|s[ií]|claro|damn|feck|fuck|shit|crap|g(?:od|osh)"
    r"|jeez|blimey|joder|mierda|ostras|vaya|madre m[ií]a)(?=\s*[,.!:;–—-]))"
    r"(?:\s*[,.!:;–—-]+\s*|\s+|$))+",
    _I,
)
_FEELING = (
    r"(?:gutted|devastated|heartbroken|nervous|excited|happy|sad|upset|thrilled|delighted|chuffed"
    r"|relieved|proud|over the moon)"
)
_LEAD_OUT = LazyPattern(
    r",? (?:(?:gracias|demos gracias) a dios|a dios gracias|thank (?:god|goodness|heavens)"
    r"|touch wood|toco madera|(?:para )?que lo sepas|que conste"
    r"|just so you know(?: (?:if|when) .{1,40})?|fyi"
    r"|[^,.;]{2,30} couldn['’]?t [^,.;]{3,50} if (?:they|he|she|you|we|i) tried"
    r"|that['’]?s (?:my|our|the) lot|a ver qu[eé] tal|lol|btw|by the way|just in case"
    r"|in case you (?:need|wonder|were wondering|ask)\w*(?: it)?"
    r"|por si acaso|can you imagine"
    rf"|{_LAUGH}|xd"
    r"|por cierto|(?:please )?don['’]t laugh|no te r[ií]as|imagine that|can you believe (?:it|that)"
    r"|thanks|thank you|please|pls|xx+|innit|cheers|ta|(?<!even )though|obviously|you know"
    r"|(?<!\ba )(?<!\bmy )(?<!best )(?<!class )mate|, (?:right|yeah)|remember (?:that|this)"
    r"|gracias|por favor|porfa|besos|ya sabes|an[oó]talo|ap[uú]ntalo|, vale|, eh"
    r"|(?<!\bmi )(?<!\btu )(?<!\bsu )(?<!\bla )(?<!\buna )(?<!\bel )(?<!\bun )t[ií][oa]"
    r"|(?<!\bes )(?<!decir )(?<!\bdigo )(?<!\bdice )(?<!saber )la verdad"
    r"|(?<=[,.!] )(?:por fin|al fin|at last|finally)"
    r"|imag[ií]nate|f[ií]jate|qu[eé] (?:palo|rollo|pena|l[aá]stima|bien|guay|fuerte)"
    rf"|(?<=, )(?:so |very |i['’]?m |we['’]?re |(?:the|my|our) \w+ (?:is|are|was|were) )+{_FEELING}"
    rf"|menud[oa] [^\W\d_]+|[:;]-?[)(DP]|{EMOJI}+)[\s.!]*$",
    _I,
)
"""Words that close a sentence and say nothing."""
_CHANGE_LEAD_OUT = LazyPattern(
    r"(?<=\w)[\s,]+(?:i mean(?:t)?|quise decir|quer[ií]a decir"
    r"|(?<!spelt )(?<!spelled )(?<!written )with (?:an?|one|two"
    r"|double) [a-z](?:['’]?s)?\b(?! \w+ing).*"
    r"|con (?:una?|dos|doble) [a-z](?:es)?\b(?! \w+ndo).*)[\s.!]*$",
    _I,
)
"""Words behind a correction: `sorry, Tuesday I mean`, `it's Lily with one L`."""
_CORRECTED_VALUE = r"(?:(?:that|it)['’]?s |es )?(?P<{}>(?:[^\s,*]+ ){{0,3}}[^\s,*]+(?:,\d+)?)"
_CORRECTED = LazyPattern(
    rf"^\*(?=\w){_CORRECTED_VALUE.format('starred')}[.!]*$"
    rf"|^{_CORRECTED_VALUE.format('starred2')}\*(?:[,.!]+(?: .*)?)?$"
    rf"|^{_CORRECTED_VALUE.format('excused')}, (?:sorry|perd[oó]n)[.!]*$",
    _I,
)
"""A corrected value in the manner of chats: `*Mencap`, `that's Mencap, sorry`."""
_RATHER = LazyPattern(r"^i(?:['’]d| would) (?:rather|prefer to) (?!not\b)(?=[a-z]+ )", _I)
_GRADED = LazyPattern(r"\b(?:pass|finish|graduat|aprob|saqu|sac[oó])\w*\b", _I)
"""Exams, of which `with an A` tells a mark, and no letter of a name."""
CHANGE_LEAD_IN = LazyPattern(
    r"^(?:(?:it turns out(?: that)?|turns out(?: that)?|resulta que|no(?=[^\w\s])|no(?= (?:wait"
    r"|hang on|hold on|sorry|espera|perd[oó]n)\b)|nope|nah|actually|sorry|wait|oops"
    r"|(?:(?:no,? )?that['’]?s|it['’]?s) wrong|it should (?:be|say)|debería ser|est[aá] mal"
    rf"|bueno(?=, {_SHORT_VALUE}$)"
    r"|quise decir que|quer[ií]a decir que"
    r"|let['’]?s say(?= (?:(?!i\b|we\b|my\b|that\b|you\b)\S+ ){0,2}\S+$)"
    r"|make (?:that|it)|change (?:that"
    r"|it) to"
    r"|(?:con|desde) (?:el|la|mi) (?:nuevo|nueva) (?:horario|turno|jornada)"
    r"|(?:con|desde) (?:el|la|mi) (?:horario|turno|jornada) nuev[oa]"
    r"|(?:with|on|since) (?:the|my) new (?:hours|timetable|rota|shift|schedule)"
    r"|in the end|al final|finalmente|correction"
    r"|my mistake|my bad|silly me|typo(?: lol| haha)?|i (?:meant|mean)"
    r"|(?:qu[eé]|vaya) (?:cabeza|despiste)(?: la m[ií]a)?"
    r"|i made a mistake(?: earlier| before| there)?|i was wrong|perd[oó]n(?:a)?|lo siento"
    r"|(?:scratch|scrap|strike) that|le err[eé]"
    r"|quer[ií]a decir"
    r"|quise decir|quiero decir|en realidad|mejor dicho|digo|espera|ay|me he equivocado"
    r"|me equivoqu[eé]|rectifico|corrijo|correcci[oó]n|errata|miento|disculp(?:a|e|ad)|perdone"
    r"|me (?:he )?(?:confund[ií]\w*|li[eé]|liado|col[eé]|colado)|olv[ií]dalo|olvida eso|ojo"
    r"|forget (?:that|it)(?!\s+\w)|ignore that|never ?mind|nvm|hold on|hang on|update|edit|i lied"
    r"|i take (?:that|it) back|me retracto|i misspoke|(?:i )?got (?:that|it) wrong"
    r"|on second thoughts?|cambio de planes|change of plans?"
    r"|pens[aá]ndolo mejor|mejor(?= (?:el|la|los|las|a|en|para|lo)\b)"
    r"|mejor(?! (?:me|te|se|no|que)\b)(?= (?:\S+ ){0,2}\S+$)"
    r"|we(?:['’]ve| have)? (?:said|agreed(?: on)?|settled (?:on|for)|gone for)"
    r"(?= (?:(?!no\b|yes\b|that\b|it\b)\S+ ){0,2}\S+$)"
    r"|(?:i(?:['’]ve| have)? )?changed my mind|(?:(?:it|that)(?:['’]s"
    r"| has)? )?changed(?=\s*[,.:;–—])"
    r"|(?:(?:it|that|they)(?:['’](?:s|ve)| has| have)? )?(?:been )?changed (?:it )?to"
    r"|(?:he|hemos|han)? ?cambi(?:é|ado|amos|aron) de (?:idea|opini[oó]n|planes)"
    r"|(?:(?:lo|la|eso) )?(?:ha|han) cambiado(?=\s*[,.:;–—])"
    r"|ha cambiado a(?= (?:\S+ ){0,2}\S+$)|(?:ya no|not any ?more"
    r"|no longer)(?=\s*,)"
    r"|(?:i |i['’]ve )?(?:typed|wrote|written|put|spelt|spelled|gave|told) (?:you )?"
    r"(?:it|that|the \w+) wrong(?:ly)?(?=\s*[,.:;–—-])"
    r"|(?:l[ao] |me )?(?:escrib[ií]|puse|he escrito|he puesto"
    r"|apunt[eé]|tecle[eé]|dije) mal(?=\s*[,.:;–—-])"
    r")\b(?:\s*[,.!:;–—-]+\s*(?:que )?|\s+(?=\S)))+",
    _I,
)
"""`No` counts with a comma only: Spanish `no tengo` is a negation, `no, tengo` a correction."""
REMEMBER = LazyPattern(
    r"^(?:(?:can|could|would|will) (?:you|u|ya) |i (?:need|want)(?: you)? to |make sure (?:you "
    r"|to )?|please |pls "
    r"|puedes |podr[ií]as |quiero que |necesito que |por favor,? |porfa,? )*"
    r"(?:remember|don['’]?t forget|keep in mind|bear in mind|note(?: down)?|take note|make a note"
    r"|jot down"
    r"|write down|save this|recu[eé]rd[aá]|recuerde|acu[eé]rdate(?: de)?|acordate(?: de)?"
    r"|ap[uú]nt[aá](?:te|me)?"
    r"|an[oó]t[aá](?:te|me)?|apunte|anote|no (?:te )?olvid(?:es|[eé]s|e)(?: de)?|ten(?:[eé]"
    r"|ga)? en cuenta"
    r"|record(?:ar|arme)(?= que\b)|(?:apunt|anot|guard)ar(?:me|te)?(?= que\b)"
    r"|recuerdes(?= que\b)|guard[aá](?:te|me)?|toma nota(?: de)?|remind me(?= that )"
    r"|recu[eé]rdame(?= que ))(?!\w)"
    r"(?:[:,]| that\b| que\b| this:| esto:)*\s*(?P<content>.+)$",
    _I,
)
_TOLD_TO_KEEP = LazyPattern(
    r"^(?:i|we|i['’]\w+|we['’]\w+|(?:my|our|the|mis?|nuestr[oa]s?|el|la|los|las) .*"
    r"\b(?:is|are|was|has|have|es|son|est[aá]n?|tiene)|tengo|vivo|soy|estoy|me|nos"
    r"|(?-i:[A-ZÀ-Þ])\w+(?:['’]s [\w ]{1,30})? (?:is|has|[a-z]{3,}s|es|tiene))\b \S",
    _I,
)
"""Content of a request to remember that is told, and not asked for."""
_ASK_AGAIN = LazyPattern(
    r"^(?:(?:can|could) you |please |puedes |me puedes )*(?:tell me|remind me|do you (?:know"
    r"|remember)"
    r"|i (?:can['’]?t|cannot|don['’]?t) remember|i forgot|i(?:['’]ve| have) forgotten|i wonder"
    r"|dime|recu[eé]rdame|sabes|te acuerdas de|recuerdas|no (?:me acuerdo|recuerdo)(?: de)?"
    r"|se me ha olvidado|he olvidado|olvid[eé])\b"
    r"(?=.{0,40}\b(?:what|where|when|who|whose|which|how|if|whether|about|my|qu[eé]|d[oó]nde"
    r"|cu[aá]ndo"
    r"|qui[eé]n|cu[aá]l|c[oó]mo|cu[aá]nt\w+|si|mis?|de)\b)",
    _I,
)
"""A question without its form: `tell me where …`, `I can't remember where …`."""
_QUESTION_WORD = LazyPattern(
    r"^[¿\s]*(?:(?:and |so |but |y |pero |entonces )*)"
    r"(?:what|where|who|whose|whom|which|how|why|what['’]s|where['’]s|who['’]s|when['’]s|how['’]s"
    r"|whats|wheres|whos|when (?!i\b|we\b|my\b)|do (?:i|you|we|they)|does"
    r"|did (?!(?:my|our) [\w-]+ in\b)|is|are|am|was"
    r"|were|can i"
    r"|can you|could|will (?!(?:is|was|has|lives|works|likes|loves|plays|goes)\b)|would you|should"
    r"|have (?:i|you|we)|has (?:my|he|she|it)"
    r"|cada cu[aá]nto\b|qu[eé]\b|d[oó]nde\b|adónde|cu[aá]ndo\b(?! (?:era|ten[ií]a|yo|viv[ií]a))"
    r"|qui[eé]n(?:es)?"
    r"|a c[oó]mo (?:me|te|nos|est[aá]|va|sale|pagan)\b|en que [^\W\d_]+"
    r"|cómo|como (?!(?:soy|estoy|tengo|vivo|trabajo|no|ya|el|la|mis?|es|hoy|ahora"
    r"|siempre)\b)(?!te\b|con (?!qui)|en (?!qu)|a las?\b|todos\b|siempre\b|poc[oa]|much[oa]"
    r"|de todo"
    r"|fuera\b|sin\b|carne|pescado)|cu[aá]l(?:es)?|cu[aá]nt[oa]s?"
    r"|(?:a|de|en|con|por|para|desde|hasta) (?:qué|que (?=hora|d[ií]a|a[ñn]o|mes"
    r"|(?:soy|estoy|tengo)\b|(?:trabaj|viv|estudi|jueg|jug|curr|chambe|labur)\w+|(?:es|era|son)\b"
    r"|(?:color|equipo|pueblo|barrio|ciudad|pa[ií]s|marca|talla|piso|raza|n[uú]mero|sitio|lugar)\b)|qui[eé]n|cu[aá]l"
    r"|d[oó]nde|cu[aá]ndo"
    r"|cu[aá]nt\w+))\b",
    _I,
)
"""The beginning of a question, also without a question mark."""
_EXCLAMATION = LazyPattern(
    r"^(?:what an? |how (?:nice|cool|sad|funny|lovely|great)"
    r"|qu[eé] (?!.*\?)(?!(?:estudi|tom|teng|tien|hag|hac|us|llev|manej|com|beb)[oae]\b)\w+[!.]?$"
    r"|¡?qu[eé] (?:calor|fr[ií]o|pena|l[aá]stima|rabia|susto|gusto|alegr[ií]a|ilusi[oó]n"
    r"|bien|mal|lata"
    r"|rollo|palo|asco|miedo|dolor|tiempo|d[ií]a(?! (?!(?:m[aá]s|tan|de|hoy|llev\w+)\b)[^\W\d_])"
    r"|cansancio|sue[ñn]o|hambre|lindo|bonito|rico"
    r"|horror|barbaridad|verg[uü]enza)\b(?!.*\?))",
    _I,
)
IMPERATIVE = LazyPattern(
    r"^(?:everything|all|anything|whatever|todo lo que|lo que) (?:that )?"
    r"(?:you (?:know|remember|have)|sabes|recuerdas)\b"
    r"|^(?:please |por favor,? |(?:can|could|would|will) you |puedes |podr[ií]as )*"
    r"(?:translate|write|tell|show|give|make|find|search|look up|list|explain|summari[sz]e"
    r"|calculate|talk to me|chat(?= with)"
    r"|compute|play|open|send|book(?! clubs?\b)|help|let['’]?s|remind|recommend|suggest|draft"
    r"|compose|rewrite"
    r"|rephrase|paraphrase|proofread|correct|fix|act as|pretend|imagine|describe|compare|count"
    r"|say|sing"
    r"|repeat|answer|reply|stop|continue|read|check|turn|set|buy|create|generate|think"
    r"|traduc[íi]|escrib[íi]|correg[íi]|resum[íi]|redact[áa]|traduce|tradúceme|pásame|escribe"
    r"|escríbeme|di(?! de (?:baja|alta)\b)|dime|cuéntame|muestra|muéstrame|dame|haz|hazme|busca"
    r"|lista|explica|explícame|resume|calcula|pon|abre|manda|envía|ay[uú]dame|recu[eé]rdame"
    r"|recomi[eé]ndame|sugiere|redacta|corrige|imagina|act[uú]a|finge|repite|canta|cuenta"
    r"|describe|compara|responde|contesta)(?!\s+(?:is|es|are)\b)\b",
    _I,
)
_COMMAND = LazyPattern(
    r"^(?:please |por favor,? |(?:can|could|would|will) you )*"
    r"(?:(?:email|wake|sort|debug|order|convert|schedule|call|cancel|add|remove|update|cut|copy"
    r"|download"
    r"|upload|install|run|test|build|design|plan|organi[sz]e|arrange|invite|ask|teach|reserve|pay"
    r"|transfer"
    r"|print|scan|share|post|text|message|ring|phone|contact|hold|wait for|try|use|solve|prove"
    r"|define|spell"
    r"|pronounce|analy[sz]e|review|edit|improve|shorten|expand|simplify|outline|choose|pick|guess"
    r"|look"
    r"|watch|google|dim|lock|unlock|pause|skip|mute|dial|navigate|take|bring|get|pass|hand|lend"
    r"|put|mark|rate"
    r"|rank|ignore|forget|delete|erase|leave|let|excuse|forgive|wish|clean|cook|feed|fill|finish"
    r"|format|fetch|move"
    r"|close|start)"
    r" (?:up |out |off |on )?(?:(?:me|my|our|us|an?|the|this|that|these|those|him|her|it|them|some"
    r"|all|every)\b|(?-i:[A-Z])\w+['’]s )"
    r"|(?:ordena|organiza|a[ñn]ade|agrega|quita|env[ií]a|compra|reserva|programa|pide|baja|sube"
    r"|apaga|enciende"
    r"|cierra|avisa|despierta|revisa|mejora|acorta|analiza|convierte|define|elige|escoge|pregunta"
    r"|investiga"
    r"|planea|planifica|prepara|dibuja|crea|genera|llama|deja|usa|olvida|borra|elimina)"
    r" (?:a |al |me |que |mis? |el |la |lo |los |las |una? |este |esta )"
    # With a pronoun behind it and so an accent: `mándale`, `resúmeme`.
    r"|[^\W\d_]*[áéíóú][^\W\d_]*(?:me|les?|nos|melo|mela|selo|sela)\b"
    r"|(?:i(?:['’]m| am)? )?(?:need|want|(?:would|['’]d) like|in need of) (?:some "
    r"|a bit of )?(?:help|advice"
    r"|ideas|tips|info\w*|suggestions|recommendations|you to|to (?:know|hear|see|find out)"
    r"|an? (?:recipe|idea"
    r"|tip|suggestion|recommendation|list|summary|joke|poem|story))\b"
    r"|(?:yo )?(?:necesito|quiero|me gustar[ií]a|quisiera|busco) (?:que me|saber|ver|o[ií]r|ayuda"
    r"|ideas|consejo\w*"
    r"|informaci[oó]n|sugerencias|una (?:receta|idea|lista|recomendaci[oó]n)|un (?:consejo|resumen"
    r"|chiste)))",
    _I,
)
"""More requests: a verb with its object (`order me …`), wishes for help, Spanish imperatives."""
_TO_ASSISTANT = LazyPattern(
    r"^(?:you(?:['’](?:re|ve|d|ll))?|t[uú]|usted|eres|no me (?:has|entiendes|escuchas)|me (?:has"
    r"|ayudas|entiendes)"
    r"|(?:no )?has (?:entendido|dicho)|i (?:asked|told) you|(?:that|this|it)(?:['’]s"
    r"| is) not what i|that helps"
    r"|eso no es lo que|luego te|te (?:escribo|cuento|digo) luego)\b(?! can call me)",
    _I,
)
"""Remarks about the assistant or the conversation, not about the speaker."""
_WEATHER = LazyPattern(
    r"^(?:it['’]s|it is|it has|it['’]s been|est[aá]|ha estado|no para de|lleva)\b"
    r"(?: (?:been|still|again|absolutely|really|so|todo el d[ií]a|todav[ií]a|otra vez|muy))*"
    r" (?:(?:lashing|pouring|bucketing|raining|snowing|hailing|drizzling)\b"
    r"|(?:llov|nev|graniz|diluvi)\w+)"
    r"(?: (?!(?:so|as[ií]|because|porque|my|mi)\b)[\w'’]+){0,5}[\s.!]*$",
    _I,
)
"""The weather of the moment."""
_VERY = (
    r"(?:so |very |really |too |quite |pretty |just |such |absolutely |totally |super |a bit "
    r"|kind of "
    r"|not |almost |actually |muy |tan |super |bastante |un poco |demasiado |m[aá]s |realmente )"
)
_JUDGED = (
    r"(?:funny|hilarious|cute|adorable|sweet|sad|crazy|insane|mad|nuts|bonkers|wild|amazing|awesome"
    r"|awful|terrible|horrible|dreadful|beautiful|brilliant|fantastic|wonderful|gorgeous|ridiculous"
    r"|unbelievable|incredible|impressive|annoying|disgusting|gross|scary|creepy|weird|strange|odd"
    r"|fun|quick|close|cool|neat|nice|great|good|bad|lovely|unfair|epic|sick|genius|classic|rough"
    r"|tough|hard|boring|interesting|true|tragic|heartbreaking|touching|inspiring|exciting|kind"
    r"|thoughtful|clever|smart|silly|stupid|dumb|pathetic|unreal|magical|perfect|delicious|yummy"
    r"|tasty|gold|wholesome|awkward|unexpected|hurtful|helpful|heavy|huge|priceless|precious"
    r"|urgent|enough"
    r"|embarrassing|frustrating|depressing|satisfying|random|deep|rude|savage"
    r"|gracios[oa]|gracios[ií]sim[oa]|genial|incre[ií]ble|horrible|terrible|maravillos[oa]"
    r"|precios[oa]|bonit[oa]|fant[aá]stic[oa]|espectacular|impresionante|alucinante|raro|triste"
    r"|divertid[oa]|absurdo|rid[ií]culo|injusto|fuerte|brutal|tremend[oa]|interesante|perfecto"
    r"|estupendo|fatal|mal|bien|guay|chulo|verdad|cierto|mentira|normal|l[oó]gico|emocionante)"
)
_JUDGED_AS = (
    r"(?:(?:real |huge |big |total |complete |bit of a |gran |verdadera |aut[eé]ntica )?(?:shame"
    r"|pity"
    r"|relief|nightmare|joke|laugh|riot|scream|disaster|mess|pain|surprise|coincidence|miracle"
    r"|blast"
    r"|treat|lot|thing|pena|l[aá]stima|locura|pasada|maravilla|desastre|horror|rollo|broma"
    r"|alegr[ií]a"
    r"|gozada|putada|verg[uü]enza|barbaridad|chulada|suerte|milagro|l[ií]o|pesadilla|asco"
    r"|tonter[ií]a)"
    r"|(?:very |really )?(?:good|great|nice|bad|brilliant|fair|excellent|terrible|lovely) (?:idea"
    r"|question|point|one|news|plan|start|job|thing|story|joke|song)|(?:muy )?(?:buena|mala|gran)"
    r" (?:idea|pregunta|noticia|se[ñn]al))"
)
_DAY = (
    r"(?:(?:really |very |so |muy |tan )*(?:beautiful|gorgeous|lovely|nice|good|great|bad|long"
    r"|hard|busy|awful"
    r"|horrible|terrible|rough|crazy|weird|tough|perfect|wonderful|sunny|gloomy|rainy) )*(?:day"
    r"|week"
    r"|month|year|morning|night|evening|weekend|d[ií]a|semana|mes|a[ñn]o|noche|ma[ñn]ana|tarde"
    r"|fin de semana)(?: (?:muy |tan |bastante )?(?:horrible|largo|larga|dur[oa]|mal[oa]|buen[oa]"
    r"|precios[oa]|bonit[oa]|genial|agotador[a]?|intens[oa]|rar[oa]|estupend[oa]|fatal))?"
)
_COMMENT = LazyPattern(
    r"^(?:(?:well|oh|ah|wow|aw+|man|god|omg|lol|and|but|honestly|pues|uf+|ay|anda|jo|vaya|hala|y"
    rf"|pero|hoy|today|{_LAUGH}),? )*(?:"
    # Judgements of what was said or happened: "that's so funny", "eso es una pena".
    r"(?:that|this|it)(?:['’]s| is| was| sounds| looks| seems| must be| must have been| has been)"
    rf" (?:a |an )?{_VERY}*(?:an? )?(?:{_JUDGED}|{_JUDGED_AS})"
    rf"|(?:eso|esto|aquello)(?: s[ií] que)? (?:es|est[aá]|fue|era|ha sido|suena|parece|me parece)"
    rf" (?:una? )?{_VERY}*(?:{_JUDGED}|{_JUDGED_AS})"
    rf"|(?:es|fue|ha sido|era) (?:una? {_JUDGED_AS}|{_VERY}*(?:gracioso|gracios[ií]simo|genial"
    r"|incre[ií]ble|horrible|verdad|cierto|mentira|normal|l[oó]gico|para (?:morirse|llorar)))"
    rf"|(?:(?:no|so|how|sounds?|looks?|suena|parece|makes) )?{_VERY}*{_JUDGED}"
    r"|qu[eé] (?:(?:mala|buena|poca|vaya) suerte|risa|fuerte|arte|bueno|malo|semana(?= llev|"
    r" m[aá]s|\W*$)|gracia|ganas|mono"
    r"|mona|monada|pereza|locura|pasada)(?: (?!(?:es|son|hay)\b)[^\W\d_]+){0,4}|vaya [^\W\d_]+(?:"
    r" m[aá]s [^\W\d_]+)?"
    rf"|{_JUDGED_AS}|interesante|interesting|impressive|incre[ií]ble|unbelievable"
    r"|(?:that|this|it|you)(?:['’]ve| have|['’]s| has)? (?:just )?(?:ma(?:de|kes?) (?:me (?:laugh"
    r"|smile|cry"
    r"|sad|happy|so happy)|my (?:day|week)|(?:no |perfect |total )?sense)|sucks?|rocks?|blows?"
    r"|stinks?"
    r"|rules?|kills? me|cracks? me up|blew (?:my mind|me away)|broke me|got me)"
    r"|(?:that|this|it) (?:went (?:well|badly|fine)|escalated quickly|hurts?|helps)|we had (?:so"
    r" much |great"
    r" |a lot of )?fun|(?:that|this|it)(?:['’]s| is| was) (?:so much |such |great )?fun|(?:that"
    r"|this|it)"
    r"(?:['’]s| is| was) the (?:best|worst|funniest|cutest|saddest|coolest|craziest|weirdest"
    r"|sweetest)(?: (?:thing"
    r"|joke|news|idea|part))?(?: ever| i(?:['’]ve| have) ever (?:heard|seen|read))?|that['’]?s"
    r" what (?:i (?:thought"
    r"|mean|meant|said)|she said)|i (?:knew it|see what you did there|get it|guess so)|not my"
    r" day(?: today)?"
    r"|eso (?:duele|ha dolido|pensaba|cre[ií]a|me gusta|espero)|as[ií] me gusta|ya lo creo|todo"
    r" bien"
    r"|(?:eso |esto )?me ha (?:encantado|gustado|hecho (?:mucha )?gracia|dolido|emocionado)"
    r"|(?:eso|esto) es lo m[aá]s"
    r"|(?:se )?me cae la baba"
    r"|(?:eso |esto |c[oó]mo )?(?:mola|flipa)(?: (?:mucho|un mont[oó]n|mazo))?"
    # Feelings about it: "I can't believe it", "me parto".
    r"|i (?:just |really |simply )*(?:can['’]?t|cannot|could(?: not|n['’]?t)) (?:believe (?:it"
    r"|this|that"
    r"|my (?:eyes|ears))|stop (?:laughing|crying|smiling)|breathe|even|cope|deal|take (?:it|this)"
    r"|handle (?:it|this)|wait(?: for (?:the weekend|friday|tomorrow))?|with (?:this|you))|(?:i"
    r" )?can['’]?t"
    r" (?:wait|even)|i can['’]?t"
    r"|i(?:['’]m| am) (?:so |literally |actually |just |absolutely )*(?:dying|dead|crying|screaming"
    r"|speechless|laughing|cracking up|losing it|over it|done|here for it|in (?:tears|shock|awe)"
    r"|shocked|amazed|impressed|blown"
    r" away|lost for words|jealous|(?:happy|glad|sorry|sad|proud)(?: (?:for|of) (?:you|him|her"
    r"|them)))"
    r"(?: (?:so hard|right now|here|of laughter|laughing))*"
    r"|i (?:really |just |so |absolutely |kinda )*(?:love|like|hate|adore|enjoy|need|want|loved"
    r"|liked|hated"
    r"|miss) (?:it|this|that|you)(?: (?:so much|very much|a lot|too|already))*"
    r"|(?:oh )?my (?:god|goodness|word|days|gosh|mind is blown|life is a (?:mess|joke)|head hurts"
    r" just"
    r" thinking about it)|mind blown|i (?:have|had|['’]ve got) no (?:words|idea|clue)|no (?:words"
    r"|idea|clue"
    r"|way|comment)|i (?:really |just )*need (?:an? |some |another )?(?:drink|coffee|break|nap|hug)"
    r"|me (?:parto|meo|muero|descojono|troncho|mondo)(?: de (?:la )?risa| contigo)*|me r[ií]o"
    r"(?: mucho| un mont[oó]n)?|me (?:encanta|encant[oó]|gusta|gust[oó]|flipa|mola|chifla|alegra"
    r"|parece (?:muy )?(?:bien|mal|genial|perfecto)|da (?:igual|mucha |mucho )?(?:igual|pena|risa"
    r"|rabia"
    r"|asco|miedo|verg[uü]enza|envidia)?|hace (?:mucha |tanta |un mont[oó]n de )?(?:gracia"
    r"|ilusi[oó]n))"
    r"(?: (?:esto|eso|mucho|much[ií]simo|tanto))*|me has (?:alegrado|arreglado) el d[ií]a"
    r"|me (?:aburro|alegro|sorprende)(?: (?:mucho|un mont[oó]n))?"
    r"|no (?:me lo (?:puedo (?:ni )?(?:creer|imaginar)|creo|esperaba)|puedo m[aá]s|tengo"
    r" (?:palabras|ni idea)|lo sab[ií]a"
    r"|jodas|me digas|me extra[ñn]a|est[aá] mal|hay palabras|doy cr[eé]dito)"
    r"|(?:me estoy|estoy|me he quedado|me quedo|me dejas) (?:flipando|alucinando|llorando(?: de"
    r" risa)?"
    r"|sin palabras|muert[oa](?: de risa)?|a cuadros|de piedra|en shock|meando|partiendo(?: de"
    r" risa)?"
    r"|muriendo(?: de risa)?|loc[oa])"
    r"|(?:i (?:really |do )*(?:love|miss|hate) you|te (?:quiero|amo|odio|adoro))(?: (?:mucho|so"
    r" much))?"
    # The day and the weather: "it's freezing today", "por fin es viernes".
    rf"|(?:it['’]?s|it is|it was) (?:{_VERY}|getting |still )*(?:hot|cold|freezing|boiling|chilly"
    rf"|sunny|warm"
    r"|windy|foggy|humid|icy|stormy|cloudy|grey|gr[ae]y)(?: (?:today|outside|here|in here|out"
    r" there|out|now"
    r"|this morning|tonight))*"
    rf"|(?:it['’]?s|it is) {_VERY}*(?:nice|lovely|beautiful|gorgeous|horrible|awful) (?:outside"
    rf"|out|today)"
    rf"|(?:the )?weather(?:['’]s| is| was| has been) {_VERY}*(?:{_JUDGED}|hot|cold|warm)(?: today"
    rf"| here| now)*"
    r"|(?:lovely|nice|beautiful|awful|terrible|great|horrible) weather(?: today| here)*"
    rf"|(?:hace|ha hecho|est[aá] haciendo) (?:muy |mucho |mucha |un |tanto |tanta |bastante"
    rf" )*(?:buen tiempo"
    rf"|mal tiempo|calor|fr[ií]o|sol|viento|fresco|{_DAY})(?: hoy| aqu[ií]| ahora| fuera)*"
    rf"|(?:(?:it['’]?s been|it has been|it was|it['’]?s|that was|today (?:was|is|has been)|what) )?"
    rf"(?:an? |quite an? |such an? |one )+{_DAY}(?: today| outside| here)*|(?:such an? )?{_DAY}"
    rf" today"
    rf"|(?:today|my (?:day|week)|the (?:day|week)|work)(?:['’]s)? (?:was|is|has been)"
    rf" {_VERY}*{_JUDGED}"
    r"(?: today)?|(?:hoy )?(?:ha sido|es|est[aá] siendo|fue|llevo|vaya|menud[oa]|qu[eé])"
    rf" (?:una? )?(?:buen[oa]? |mal[oa]? |gran )?{_DAY}"
    r"|(?:thank god |finally )*it['’]?s (?:finally )?(?:friday|the weekend)(?: finally| at last)*"
    r"|(?:por fin |ya )+(?:es |llega )?(?:viernes|el viernes|el finde|fin de semana)"
    r"|tengo (?:muchas )?ganas de que (?:llegue|sea) (?:el )?(?:viernes|finde|fin de semana|verano)"
    r"|necesito (?:un |una |unas )?(?:caf[eé]|descanso|vacaciones|trago|abrazo|siesta)"
    # Sayings and small words.
    r"|(?:such |that['’]s |la )*(?:life|vida|work) (?:is|es) (?:so |too |muy )?(?:hard|good|tough"
    r"|short"
    r"|beautiful|unfair|work|dura|bella|as[ií]|corta|injusta)|it is what it is|(?:the )?story of"
    r" my life"
    r"|(?:that['’]s )?just my luck|as[ií] es la vida|el tiempo vuela|es lo que hay|cosas que"
    r" pasan|ya era"
    r" hora|menos mal|small world|time flies|better late than never|m[aá]s vale tarde que nunca"
    r"|maybe(?: later| so| not| tomorrow)?|not (?:now|yet|today)|another time|later|fair enough"
    r"|makes sense"
    r"|whatever|guess what|knock knock|go away|congrat(?:s|ulations)|bravo|no way|for real|same"
    r"|agreed"
    r"|omg|wtf|lmao|rofl|damn|yikes|eek|ugh|phew|oh (?:dear|no|wow|man)|holy [a-z]+|bless you"
    r"|good (?:luck|for"
    r" you)|well played|no worries|all good|(?:happy|merry) (?:birthday|christmas|easter|new year)"
    r"|finally|at last|are you kidding|(?:another|otro) (?:monday|lunes)|(?:monday|lunes) again"
    r"|otra vez lunes"
    r"|same old(?: same old)?|makes no sense|(?:i['’]?m )?loving (?:it|this|that|this weather)"
    r"|madre m[ií]a|dios m[ií]o|ostras|hostia|joder|(?:anda|venga|vamos) ya|(?:lo )?flipo|ni idea"
    r"|por fin"
    r"|lo siento(?: mucho)?|feliz (?:cumplea[ñn]os|navidad|a[ñn]o(?: nuevo)?|d[ií]a)|buena suerte"
    r"|tienes raz[oó]n"
    r"|lo sab[ií]a|quiz[aá]s?|tal vez|ahora no|luego|m[aá]s tarde|otro d[ií]a|adivina(?: qu[eé])?"
    r"|d[eé]jalo|ojal[aá]"
    r"|total|tal cual|ya ves|enhorabuena|felicidades|pobre(?:cit[oa])?|poor (?:thing|you|him|her))"
    r"(?:,? (?:for|of) (?:you|me|him|her|us|them)| to (?:hear|know)|,? (?:lol|lmao|though"
    r"|honestly|tbh|haha"
    r"|actually|right|man|mate|dude|bro|isn['’]?t it|innit|really|though|t[ií][oa]|la verdad|de"
    r" verdad"
    rf"|eh|no|verdad|{_LAUGH}))*[\s.!…)]*$",
    _I,
)
"""Comment on what the speaker hears, reads or lives through: it tells nothing to remember."""
_TOPIC = LazyPattern(
    r"^(?:my|our|mis?|nuestr[oa]s?) (?:[\w-]+(?:['’]s)? (?:de (?:mi |la |el )?)?){0,3}(?:birthday"
    r"|password|name|number"
    r"|address|code|e?mail|phone|pin|age|size|cumplea[ñn]os|contrase[ñn]a|nombre|n[uú]mero"
    r"|direcci[oó]n|c[oó]digo"
    r"|correo|tel[eé]fono|clave|edad|talla)$",
    _I,
)
"""Key words of a question: `my wifi password`."""
_MY_LIST = LazyPattern(
    r"^(?:my|our|mis?|nuestr[oa]s?|la) (?:(?:shopping|grocery|packing|reading|to-?do|task) list"
    r"|to-?dos"
    r"|tasks|reminders|lista de (?:la compra|tareas)|tareas|recordatorios)[.!]*$",
    _I,
)
"""Key words of a question for a list."""
_NOT_TO_KNOW = LazyPattern(
    r"^(?:ya )?no (?:hace falta|es necesario|quiero|necesitas|tienes) (?:que )?(?:me |te |lo )?"
    r"(?:recuerd|record|guard|sep|sab)\w+"
    r"|^(?:me gustar[ií]a|quiero|prefiero|preferir[ií]a|necesito|mejor) que (?:olvid\w+|borr\w+"
    r"|no (?:te |me |l[ao]s? )*(?:recuerd|record|guard|sup|sep|qued|teng|tuv|menci)\w+"
    r"|dej\w+ de (?:saber|recordar|guardar|tener))"
    r"|^you (?:needn['’]?t|don['’]?t (?:need|have) to) (?:remember|keep|know|store)\b"
    r"|^i(?:['’]d| would| do(?:n['’]?t| not))? (?:rather|prefer|like|want|need)(?: it if)? you "
    r"(?:(?:to|not|did(?:n['’]?t| not)|never) )*(?:remember|know|keep|stor|hav|hold|forg[eo]t|delet"
    r"|eras|remov|wip)\w*\b(?! (?:my name|that|me)\b)"
    r"|^i(?:['’]d| would) (?:rather|prefer(?: it if)?) (?:my|the|that) [^,]+? (?:were"
    r"|was)(?:n['’]?t"
    r"| not) (?:on|in) (?:your|the) (?:list|memory|notes|records|files?)\b",
    _I,
)
"""A request not to know something any more, which has the form of a statement."""
TAKEN_BACK = LazyPattern(
    r"^(?:(?:no|nah|oh|ok),? )?(?:(?:i(?:['’]m| am|['’]ve been| was) )?(?:just "
    r"|only )?(?:kidding|joking)"
    r"|just a joke|jk|that['’]?s (?:not true|a joke)|(?:era|es|estaba de) (?:una )?broma"
    r"|(?:estaba |estoy )?bromeando|no es (?:verdad|cierto)|es mentira)\b[\s.!]*$",
    _I,
)
"""A message that takes back what was said before it."""
_UNREAL = LazyPattern(
    r"\b(?:if (?!i (?:forget|need|lose|miss) (?:it|him|her|them)\b|possible|needed|you\b|your late"
    r"|anyone\b|(?:that|it|this) (?:helps|matters|counts|makes)"
    r"|i remember|i recall|memory)|whether|(?:^|[,;] )unless"
    r"|suppose|supposing|imagine (?!that!)\w|let['’]?s say|as if"
    r"|as though|i must be \d\d+|could (?:eat a horse|murder an?|kill for|sleep for a week)"
    r"|['’]d kill for|had (?:\w+ ){1,3}(?:dream|nightmare)s?\b"
    r"|(?:tuve|he tenido) (?:\w+ ){1,3}(?:sue[ñn]os?|pesadillas?)\b"
    r"|(?:was|were) (?:going|about|planning|meant|supposed) to\b.* (?:but|and then"
    r"|though)\b.{0,20}\b(?:not"
    r"|no|nothing|\w+n['’]t|fell through|changed? (?:my|our) minds?)"
    r"|(?:iba|[ií]bamos) a \w+[aei]r(?:me|nos|lo|la)?\b.* pero\b.{0,20}\b(?:nada|no)\b"
    r"|^i (?:doubt|never said|used to think|thought)(?: that)? (?:i|my|we|our|the|(?-i:[A-Z])\w+)\b"
    r"|^(?:nobody|no one) (?:said|says)\b"
    r"|^once (?:my|our|the|he|she|they|(?-i:[A-ZÀ-Þ])\w+)\b(?=[^,]* (?:are|has|have|\w+s)\b)"
    r"(?![^,]*\b(?:was|went|met|had)\b)"
    r"|^once (?:i|we) (?!\w+ed\b|was\b|were\b|went\b|met\b|had\b|saw\b|did\b|got\b"
    r"|knew\b|won\b|lost\b|ate\b|broke\b|fell\b|ran\b|told\b|said\b|found\b|made\b|took\b"
    r"|gave\b|swam\b|sang\b|flew\b|drove\b)\w+ "
    r"|^once (?:i|my|we|our|the)\b[^,]*,"
    r"|^i don['’]?t think (?:that )?(?:my|our|the|(?-i:[A-Z])\w+)\b(?!.*\b(?:will|can|going)\b)"
    r"|^i don['’]?t think (?:i|we)(?:['’]ll| will) (?!go\b|make\b|come\b|be\b|attend\b|do\b)"
    r"|^(?:spell|grammar)[ -]?check\b"
    r"|^(?:la gente|(?:mi|el) (?:personaje|protagonista)) (?:dice|cree|piensa) que\b"
    r"|^(?:creen|pensaba|cre[ií]a|nadie (?:ha dicho|dice)|no es) que\b"
    r"|^en (?:la|el|una?|mi) (?:peli|pel[ií]cula|serie|novela|libro|juego)\b"
    r"|^si (?:mi|el|la|tengo|soy|vivo)\b.*,"
    r"|^si .{4,80}, (?:av[ií]s|d[ií]|recu[eé]rd|ll[aá]m|escr[ií]b|c[aá]mbi)\w*$"
    r"|i wish|wished|if only|in my dreams?|i dreamt|i dreamed"
    r"|(?:^|last night )dream(?:t|ed)(?: last night| that)?(?= (?:that |i|we|my)\b)"
    r"|in (?:this|the|a) (?:game|story|book|movie|film|novel|scenario|dream|example|song)"
    r"|(?:in|en) (?:my|our|this|the|mi|nuestra|la|el|una) (?:d ?(?:&|and|n) ?d|dnd|rpg|larp"
    r"|role[- ]?play(?:ing)?|rol|partida de (?:rol|d&d)|obra(?: de teatro)?"
    r"|funci[oó]n(?: del cole\w*)?)\b"
    r"|in (?:my|our|the|a|this) (?:[\w-]+ )?(?:play|panto\w*|musical)\b(?! (?:area|room|ground))"
    r"|(?:on|in|at|en|al) (?:the )?(?:football manager|monopoly|fifa|sims|gta|minecraft"
    r"|animal crossing"
    r"|stardew valley|los sims)\b"
    r"|(?:called|calling) me an? (?!taxi|cab|uber|ambulance|few|couple|lot)"
    r"|me (?:han|ha) llamado (?!del?\b|para\b|al?\b|por\b|desde\b|en\b|l[ao]s?\b|el\b|mis?\b"
    r"|otra\b|hoy\b"
    r"|ayer\b|esta\b|ya\b|mucho\b|dos\b|tres\b|varias\b|un[oa]?\b|y\b|as[ií]\b|siempre\b|toda\b)(?-i:[a-z])\w*"
    r"|(?:est|viv)[^\W\d_]+ (?:siempre )?en (?:babia|las nubes|la luna|la inopia|otro planeta)\b"
    r"|for example|for instance|hypothetical\w*"
    r"|people say|would(?:n['’]t)? (?!you believe|like|love|prefer|rather)|could have|might be"
    r"|a lo mejor|quiz[aá]s?|tal vez|capaz que|puede (?:ser )?que|es posible que|no s[eé] si"
    r"|(?:maybe|perhaps) (?:i|my|our|the|(?-i:[A-Z])\w+(?:['’]s)? \w+)"
    r"|si (?:[^\W\d_]+ ){0,2}?[^\W\d_]+(?:[aei]ra|[aáeéií]ramos|[aeié]ran)\b"
    r"|si (?:alg[uú]n d[ií]a\b|[^\W\d_]+o(?: [^,;]+)?,? (?:me|nos) [^\W\d_]+(?:o|mos)\b"
    # "Ceno a las ocho, si no duermo mal": or else.
    r"|yo |(?<!, si )no "
    r"|(?<=, si )no (?!\w+o\b|me\b|nos\b|luego\b|despu[eé]s\b)"
    r"|me |fuera|tuvier|viv|trabaj|pudier|gan|tocar)|ojal[aá]"
    r"|sup[oó]n\w*|(?:pon|ponte|ponle|pongamos|digamos) que|hag[aá](?:mos|s)? de cuenta"
    r"|haz de cuenta"
    r"|assum(?:e|ing)|imag[ií]n\w+ (?:que|si|t[uú])\b|como si|en (?:el|un|mi|este) (?:juego|cuento"
    r"|libro"
    r"|sue[ñn]o"
    r"|ejemplo)|en la (?:pel[ií]cula|historia|novela)|so[ñn][eé] que|por ejemplo|alguien"
    r"|tuviera|tuviese"
    r"|(?<!\best[áa] )(?<!\bestoy )(?<!\bviv[eo] )(?<!\bestar )(?<!\bde )(?<!\bpor )fuera(?! de\b)"
    r"(?=\s+\w)|fuese|viviera|viviese|pudiera|gustar[ií]a (?:haber|ser|tener)|ser[ií]a|vivir[ií]a"
    r"|tendr[ií]a|habr[ií]a)\b",
    _I,
)
"""What follows is imagined, wished, told in a story, or a condition."""
_YES = LazyPattern(r"^s[ií],", _I)
"""`Si, vivo en …`: written without its accent, `sí` looks like a condition."""
_SMALL_TALK_PHRASE = (
    r"(?:yes|yeah|yep|yup|no|nope|ok(?:ay)?|k|sure|right|exactly|indeed|great|nice|cool"
    r"|awesome|perfect"
    rf"|good|fine|wow|oh|ah|hm+|{_LAUGH}|lol|oops|whoops|ups|uy|(?:so )?sorry|my (?:bad|mistake)"
    r"|perd[oó]n"
    r"|thanks?(?: you)?(?: (?:so|very) much)?|thank you|cheers|bye"
    r"|goodbye|see you(?: \w+)?|good ?night|you too|me too|same here|no problem|never ?mind|got it"
    r"|i see|can['’]?t complain|(?:i['’]?ll )?be right back|brb|let me (?:think|see|check)|hold on"
    r"|i (?:was|am) (?:only|just) asking|i (?:do not|don['’]?t) (?:understand|get it|follow|mind"
    r"|care)"
    r"|i(?:['’]ve|['’]d)? (?:(?:never|already|just|haven['’]t|hadn['’]t|didn['’]?t|forgot to) )*"
    r"(?:told|tell|mentioned|mention|said|say)(?: you| u)?(?: (?:that|this|yet|before|already))*"
    r"|(?:(?:no|ya|nunca) )*te l[ao] (?:dije|cont[eé]|he (?:dicho|contado))(?: (?:ya|antes|nunca))*"
    r"|(?:please )?don['’]?t get me started"
    # How a mistake came about.
    r"|i (?:mixed|muddled|confused) (?:him|her|it|them|that|the two)(?: up)?(?: with .{,40})?"
    r"|i (?:mis(?:read|heard|typed|remembered)) (?:it|that|the \w+)"
    r"|(?:i )?(?:read|got|had) (?:it|that|the \w+) wrong"
    r"|se me (?:fue|ha ido|escap[oó]) (?:el dedo|la mano|la tecla)"
    r"|me (?:com[ií]|he comido) (?:una|el|la|las) (?:letra|orden|tilde|acento)s?(?: de .{,30})?"
    r"|(?:l[ao]s?|me|siempre) (?:l[ao]s? )?(?:confund\w+|he confundido|le[ií] mal)(?: con .{,40})?"
    r"|(?:the |damn |bloody |stupid )?autocorrect|(?:el |maldito )?(?:auto)?corrector"
    r"|mate|man|dude|buddy|pal|bro|love|guys|my friend|maj[oa]|guap[oa]|crack|amig[oa]"
    r"|colega|t[ií][oa]|jefe|(?:nice|good) (?:one|work|job|stuff)|well done|bien hecho|buen trabajo"
    r"|me alegro(?: (?:mucho|por ti))?|d[eé]jame pensar|i know|i (?:think|guess"
    r"|hope) so|i (?:don['’]t|do not) know|i agree|i understand"
    r"|i(?:['’]m| am) (?:not )?(?:so |very |really |a bit |pretty )?(?:fine|ok(?:ay)?|good"
    r"|great|well|tired|bored|hungry|exhausted|knackered|shattered|starving|dead"
    r"|thirsty|sad|gutted|upset|devastated|heartbroken|worried|nervous|stressed|angry|annoyed"
    r"|chuffed|delighted|happy|sleepy|busy|back|here|sorry|sure|ready|done|afraid|glad|confused"
    r"|lost"
    r"|cold|hot|late"
    r"|listening|curious|excited)(?: (?:today|now|again|too|thanks))?"
    r"|(?:that|this|it)(?:['’]s| is| was| sounds| looks) (?:so |very |really |a |not )*(?:great"
    r"|nice|good|bad|cool|funny|right"
    r"|true|wrong|interesting|amazing|awesome|all|fine|ok(?:ay)?|enough|perfect|helpful|correct"
    r"|lovely|it|weird)"
    r"|(?:it['’]s )?(?:only )?me again|yo otra vez|soy yo"
    r"|soy (?:yo|(?-i:[A-ZÀ-Þ])\w+) (?:otra vez|de nuevo)"
    r"|(?:buen[oa]s d[ií]as )?(?:nos )?d[eé] dios"
    r"|(?:(?:quede|vaya) (?:usted )?con dios|buen[oa]s (?:d[ií]as|tardes|noches) tenga usted)"
    r"|que (?:est[eé]s?|tengas?|pases?|(?:te|le|os|les) vaya) [^\W\d_]+(?: [^\W\d_]+){0,2}"
    r"|(?:que )?dios (?:te|le|se lo|os|nos|l[ao]) \w+(?: siempre)?"
    r"|(?:hijo|hija|hijo m[ií]o|hija m[ií]a)(?=[\s,.!]*$)"
    r"|(?:hello|hi|hey)(?: (?:again|there|everyone|all|dear|love))+"
    r"|hola(?: (?:otra vez|de nuevo|a todos))?"
    r"|(?:that['’]s|that is) (?:all|it|everything)(?: (?:for|from) (?:now|today|me))*"
    r"|eso es todo(?: por (?:hoy|ahora))?|nada m[aá]s(?: por (?:hoy|ahora))?"
    r"|(?:thanks?|cheers) (?:a (?:lot|million|bunch)|so much|again)|th?nx|thx|tysm|much appreciated"
    r"|(?:very |so |how )(?:kind|helpful)(?: of you)?|(?:you['’]re|you are) an? (?:star|legend|gem"
    r"|angel|lifesaver)|mil gracias|gracias (?:por todo|de nuevo|otra vez|tío|tía)|muy amable"
    r"|eres (?:un|una) (?:crack|sol|genio|m[aá]quina)|hasta (?:otra|la pr[oó]xima)|chao|talk soon"
    r"|morning|afternoon|evening|hiya|howdy|yo|ta|cheerio|night night|(?:i(?:['’]m| am) )?(?:off"
    r"|going) to (?:bed|sleep)|(?:i(?:['’]m| am) )?having (?:such )?a (?:really |very )*(?:bad"
    r"|good|nice|great|rough|awful|horrible|lovely|long|hard|weird) (?:day|time|week"
    r"|morning|night)"
    r"|what an? (?:day|week|night|mess)|me voy a (?:la cama|dormir|acostar)|buenas|(?:hoy )?estoy"
    r" (?:muy |tan |un poco |bastante |hech[oa] )*(?:fatal|mal|bien|triste|cansad[oa]|genial"
    r"|de baj[oó]n|polvo|destrozad[oa]|agotad[oa]|content[oa]|feliz|aburrid[oa]|muert[oa]|list[oa]"
    r"|nervios[oa]|enfadad[oa]|preocupad[oa])(?: hoy)?|qu[eé] (?:calor|fr[ií]o|d[ií]a"
    r"|sue[ñn]o|hambre|asco|cansancio|palo)(?: (?:hace|tengo))?|aqu[ií] estamos"
    r"|nice to meet you|pleased to meet you|how are you|what['’]?s up|not really|of course"
    r"|s[ií]|claro|vale|bueno|bien|muy bien|genial|perfecto|estupendo|gracias|muchas gracias"
    r"|de nada|adi[oó]s"
    r"|hasta (?:luego|ma[ñn]ana|pronto)|buen[oa]s (?:d[ií]as|tardes|noches)|igualmente"
    r"|encantad[oa]|entiendo|ya veo|ya"
    r"|menud[oa] [^\W\d_]+ (?:llevo|llevamos|tengo)"
    r"|lo s[eé]|no s[eé]|creo que s[ií]|de acuerdo|exacto|qu[eé] (?:bien|guay|pena|gracia"
    r"|interesante|bonito)"
    r"|estoy (?:muy |tan |s[uú]per ?)?(?:bien|cansad[oa]|aburrid[oa]|aqu[ií]|list[oa]|ocupad[oa]"
    r"|content[oa]|agotad[oa]|muert[oa]|reventad[oa]|rendid[oa]|hech[oa] polvo"
    r"|triste)|menud[oa] [^\W\d_]+"
    r"|tengo (?:mucha |mucho )?(?:hambre|sed|sue[ñn]o|fr[ií]o|calor|prisa)"
    r"|(?:perd[oó]n\w*|disculp\w+|sorry) (?:si|if|por|for) [^,.;]{3,40}"
    r"|mucho gusto|un placer|no pasa nada|da igual)\b[\s,.!…:)(]*"
)
"""Phrases of messages that tell nothing worth keeping, moods of the moment too."""
_SMALL_TALK = LazyPattern(_SMALL_TALK_PHRASE, _I)
_UP_TO_MARK = LazyPattern(rf"{_SMALL_TALK_PHRASE}\0?$", _I)
_BETWEEN_WORDS = LazyPattern(r"[\s,.!…:)(]+|$")
MAX_PHRASE_WORDS = 12
"""Maximum length in words of one phrase of small talk."""
_OWN = LazyPattern(
    r"^(?:(?:so |now |currently |today |tonight |tomorrow |yesterday |recently |lately "
    r"|usually |sometimes"
    r"|since (?:\w+ ){1,3}|when |every \w+,? |on \w+(?: \w+){0,2} ?,? |in \w+(?: \w+)? ?,? "
    r"|last \w+,? |next \w+,? "
    r"|at \w+(?: \w+){0,2} ?,? |these days,? )\s*)?"
    r"(?:i|i['’](?:m|ve|d|ll)|im|ive|we|we['’](?:re|ve|d|ll)|my|our|mine|me and)\b(?!$)",
    _I,
)
"""A statement in the first person, maybe behind its time: `on Mondays I …`."""
_OWN_SPANISH = LazyPattern(
    r"^(?:(?:yo|s[ií]|nosotr[oa]s|ahora|hoy|ayer|ma[ñn]ana|ya|tambi[eé]n|siempre|nunca|normalmente"
    r"|antes|no|a m[ií]"
    r"|todos los \w+|los \w+|el \w+(?: de \w+)?|este \w+|esta \w+|desde lo del? (?:(?:el|la|los"
    r"|las|mi) )?\w+|desde \w+(?: \w+)?"
    r"|en \w+(?: \w+)? ?"
    r"|de (?:peque[ñn][oa]|ni[ñn][oa]|joven)|cuando era \w+|[uú]ltimamente|actualmente"
    r"|por las? \w+|al mediod[ií]a|de (?:noche|d[ií]a)|cada \w+|a las? \w+"
    r"|(?:para|con) (?:el|la|los|las) \w+|para ir (?:al?(?: la)?) \w+"
    # More of them would be tried in too many ways: `en` has one word behind it or two.
    r"|(?:antes|despu[eé]s) de \w+),? ){0,8}"
    r"(?:(?:me|nos|les?|l[ao]s?|se) )?"
    r"(?:soy|estoy|tengo|vivo|voy|hago|s[eé]|he|hemos|somos|tenemos|vamos|estamos|fui|tuve"
    r"|estuve|hice|puedo|quiero"
    r"|mi|mis|nuestr[oa]s?|gustan?|encantan?|llamo|duele|duelen|toca|(?!tiempo|vuelo|precio"
    r"|horario)[a-zß-ÿ]{2,}(?:o|é|í"
    r"|aba|ía|amos|emos|imos|ábamos|íamos))\b"
    r"(?=[\s,]+\S)|^(?:me|nos) (?!gusta que|parece)\w+(?:n|[oó]|a|e)\b\s+\S"
    r"|^¡?(?:por fin |al fin )?(?:he|hemos) \w+(?:ado|ido|to|cho) \S"
    r"|^(?:ya |yo )?no (?:fumo|bebo|conduzco|manejo|trabajo|estudio|nado|cocino|madrugo|desayuno"
    r"|ceno|viajo|bailo|ronco)$"
    r"|^(?:los (?:lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados|domingos))(?:(?:,"
    r"| y) \w+)* \w+(?:o|oy|amos|emos|imos)\b",
    _I,
)
"""The same in Spanish, where the verb's ending says that it is about the speaker."""
_OF_SPEAKER = LazyPattern(
    r"(?=(?:\S+\s+){2})(?:[\w'’@/.-]+[,:]?\s+)*?(?<!\bwhat )(?:i|i['’](?:m|ve|d|ll)|im|ive|we"
    r"|we['’](?:re|ve|d"
    r"|ll)|my|our|(?<!near )(?<!for )(?<!around )me|us"
    r"|mine|myself|(?!caf|aqu|ah[ií]|as[ií]|all|beb|comit|carn|chal)\w{2,}[éí]|doy|creo|veo|salgo"
    r"|vuelvo|conozco|pongo|toy(?= \w+[aey]ndo\b)|soy|tengo|estoy|vivo|voy|hago|llevo|suelo"
    r"|calzo|uso|peso|mido"
    r"|prefiero"
    r"|odio|quiero|fui|tuve"
    r"|hemos"
    r"|somos"
    r"|(?!(?:kilo|mili)?gramos|tramos|ramos|reclamos|extremos|supremos|primos|[uú]ltimos"
    r"|pr[oó]ximos"
    r"|m[ií]nimos|m[aá]ximos|mismos)\w{2,}(?:amos|emos|imos)|mis?|m[ií]|yo|nos|nuestr[oa]s?"
    r"|conmigo)(?![\w'’])(?<!\bUS)",
    _I,
)
"""Three words or more, one of which means the speaker: `penicillin gives me a rash`."""
THIRD_SPANISH = (
    r"(?:es|son|andan?(?= (?:con|en|por|de|mal|bien)\b)|est[aá]n?|eran?|fue|fueron|se llaman?"
    r"|cumpli[oó]|gustan?|encantan?|muri[oó]"
    r"|naci[oó]|nacieron|hay|han?|van?|dijo|tuvo|puso|hizo|vino|pudo|quiso|estuvo|trajo|dio"
    r"|(?:tiene|vive|trabaja|llama|cumple|sale|llega|viene|empieza"
    r"|abre|cierra"
    r"|cuesta|juega|estudia|queda|caduca|vence|dice|prefiere|limpia|come|bebe|habla|quiere|mide|pesa"
    r"|odia|conduce|ense[ñn]a|toma|toca|lleva|guarda|duerme|tarda|dura|puede|sabe|suele|necesita"
    r"|cobra|termina"
    r"|acaba|recoge|vuelve|pide|pone|hace|cuida|practica|canta|pasa|llueve|usa|gana|debe)n?)"
)
"""Spanish verbs in the third person, which need no subject."""
FINITE = (
    r"(?:is|are|was|were|has|have|had|can|will|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t"
    r"|does|do|did|didn['’]t"
    r"|go|live|work|need|cost|start|end|open|close|lives?|works?|due|likes?|loves?|hates?"
    r"|wants?|needs?|plays?|studies|speaks?|means?|says?|said|told|comes?|goes|starts?|ends?"
    r"|costs?|charges?|opens?|closes?|expires?|leaves?|arrives?|keeps?|stays?|moved|died|got|gave"
    r"|broke"
    r"|passed|became|went|came|made|took|bought"
    r"|gets?|takes?|makes?|gives?|brings?|runs?|puts?|sits?|hangs?|holds?|pays?|feels?|smells?"
    r"|tastes?"
    r"|rides?|brings?|collects|picks?|drops?|visits|helps|walks|talks|cooks?|bakes?|writes?|reads?"
    r"|sings?"
    r"|suffers?|snores?|knows?|owns?|sells?|buys?|builds?|manages|hurts?|aches?|contains?|belongs?"
    r"|begins?"
    r"|finishes|happens?|falls?|lasts?|lets|sends?|shares?|breaks?|sees?|sounds?|becomes|used to"
    r"|shuts?|fell"
    r"|grew|sold|sent|paid|won|ran|began|built|chose|drove|flew|forgot|held|hit|hurt|knew|let"
    r"|rang|sang"
    r"|sat|saw"
    r"|slept|spent|spoke|stole|taught|thought|wore|wrote|might|must|should|shall"
    r"|brought|lent|caught|led|fed|lost|found|threw|stood|swam|rode|kept|hid"
    r"|quit|split up|ate|drank|drew|heard|understood|tore|woke|enjoys?|knits|skis|surfs|fosters"
    r"|left|met|meets|eats?|drinks?|drives?|wears?|calls?|called|named|turn(?:s|ed)|weighs?"
    r"|prefers?"
    r"|teaches|sleeps?|barks?|thinks?|\w+ed"
    r"|supports|smokes|follows|attends|coaches|votes|swims|dances|paints|trains|cycles|commutes"
    r"|grows|fishes|climbs|cleans|volunteers|babysits|repairs|designs"
    r"|(?:fuma|vende|colecciona|apoya|cocina|pinta|baila|calza|entrena|viaja|cose|arregla|dibuja"
    r"|monta|vota|cr[ií]a|dirige|pesca|adora|detesta|sufre|padece|ronca|cuelga|pierde|aparca"
    r"|descansa|ladra|crece|huele|suena|funciona|vigila|friega|riega|atiende|acompa[ñn]a|trae"
    r"|sirve|gotea|centrifuga|calienta|arranca|molesta|pertenece|conoce|entiende|aparece"
    r"|mantiene|consigue|sigue|recibe|aprende|escribe|escucha|sube)n?"
    rf"|{THIRD_SPANISH}|hemos|se \w+(?:a|e|an|en)|\w{{3,}}(?:ó|aron|ieron|é|aba[ns]?|ían?))"
)
"""Verbs that make a clause a statement: a noun without one is a key word."""
_OTHERS = LazyPattern(
    r"^(?:(?:he|she|it|they|[eé]l|ell[ao]s?)(?: \S|['’])"
    r"|(?=\S*[^\W\d_]{3}|\S+ \S*[^\W\d_]{3}|[gb]f\b)[\w'’./-]+(?:['’](?:s|re|ve|ll|d)\b"
    r"|,? [\w'’@./&-]+){0,8}?"
    rf"(?:['’](?:s|re|ve|ll|d)\b|,? {FINITE}\b)).*\s\S"
    # A name of two words, or an adverb, before a verb without an object: `Blue Door finally paid`.
    r"|^(?-i:[A-Z])\w+(?: (?-i:[A-Z])[\w'’]+| finally| just| already)+"
    r" (?:\w{3,}ed|paid|left|won|quit|came|lost|sold)[\s.!]*$"
    r"|^(?!(?:they|he|she|it|we|you)\b)(?-i:[A-Z])\w+"
    r"(?: (?-i:[A-Z])[\w'’]+| finally| just| already)* (?:rang|called|phoned|texted"
    r"|wrote|visited|died|left|retired)[\s.!]*$"
    r"|^(?:(?:mi|nuestr[oa]) \w+(?: (?-i:[A-ZÀ-Þ])\w+)?|(?-i:[A-ZÀ-Þ])\w+) (?:ya )?"
    r"(?:se (?:ha |han )?\w{3,}(?:ó|aron|ieron|ado|ido)|(?:ha |han )?(?:muri|fallec|dimit|renunci"
    r"|lleg|volv)"
    r"\w*)[\s.!]*$"
    # An unknown verb behind a name or a noun with an article: `Leo naps at noon`.
    r"|^(?:(?:my|our|the)(?: [\w'’-]+){1,3}?|(?-i:[A-Z])\w+)(?: (?-i:[A-Z])\w+)? \w{3,}s"
    rf" (?:at|in|on|to|from|with|for|by|every|my|our|his|her|the|an?|{MONTHS})\b"
    # … and before an object without an article: `Callum stacks shelves at Aldi`.
    r"|^(?-i:[A-Z])\w+ \w{3,}s [a-z'’-]+ (?:at|in|on|for|with|from|to)\b",
    _I,
)
"""A statement about another being or a thing, with up to nine words before its verb."""
_THIRD_SPANISH = LazyPattern(
    r"^(?:no |ya no |ya (?=les? )|tambi[eé]n |ahora |se )*(?:es|est[aá]|ha|se ha|han"
    r"|se han|tiene|vive|trabaja|se llama|llama|estudia|juega|habla|cumple|naci[oó]"
    r"|le gustan?|le encantan?|prefiere|odia|come|mide|pesa|son|tienen|viven|est[aá]n|era"
    r"|les? \w{3,}|fue|sale|viene|llega|empieza|termina|acaba|cuesta|queda|va|lleva|hace|quiere"
    r"|necesita|sabe"
    r"|toca|nace"
    r"|duerme|cuida|ense[ñn]a|conduce|maneja|estudian|juegan|van|vienen|hay|hab[ií]a|me"
    r"|nos)\b\s+\S"
    r"|^\w{2,}(?:ó|aron|ieron|aban?|ían?) (?:el|la|los|las|mis?|nuestr[oa]s?|un[oa]?|que|al?)\b"
    r"|^(?:no |ya |tambi[eé]n |siempre |se )*[^\W\d_]{2,}(?:an|en) (?:en|con|al?|del?)\b"
    # "Las llaves las tiene Ana": the object stands before its verb, which repeats it.
    r"|^(?:en (?:el|la|mi|casa)[^,;]{0,15}? )?(?:al? )?(?:el|la|los|las|mis?|nuestr[oa]s?)"
    r" [^,;]{2,40}? (?:(?:me|te|se|nos) )?(?:l[ao]s?"
    r"|les?) [^\W\d_]{2,} \S",
    _I,
)
"""The same without a subject, as Spanish allows."""
_ELLIPTIC = (
    (
        LazyPattern(
            r"^(?:just |finally |recently |also |still |never |only )*(?:got|had|went|bought|sold"
            r"|lost|found"
            r"|started|finished|moved|quit|broke|met|became|stopped|gave|left|made|took|ate|saw|ran"
            r"|won|grew|paid|lent|loaned|borrowed|cancel+ed|renewed|joined|deleted|ordered|adopted"
            r"|upgraded|downgraded|ditched|binned|dumped|booked(?! up\b)|turned(?= \d)|used to"
            r"|lives|hate"
            r"|love|like|prefer|want|need"
            r"|have(?! a (?:look|go|guess)\b)"
            r"|(?:live|work|study)(?= (?:at|in|for|as|from|with|near)\b)"
            r"|(?:ca|do(?!n['’]?t forget\b)|did|wo|have|had|could)n['’]?t|cannot"
            r"|switched|swapped|changed(?! to\b)|put(?= (?!the\b|my\b|an?\b)[\w-]+ up to \d)"
            r"|\w+ed (?:my|the|an?|it|them|our"
            r"|out|up|off|in|to|from|on"
            r"|jobs))\b \S",
            _I,
        ),
        "I",
    ),
    (
        LazyPattern(
            r"^(?!\w+ (?:is|are|was|were|has)\b|[^,.:]{,30}: "
            r"|[\w'’ ]{3,30}(?: is|['’]s) (?:at|on) "
            r"|(?:on|from) [^,.]{,30}? (?:i|we|s?he|they)\b"
            r"|on (?:week(?:day|end)s|\w+days)\b)"
            r"(?:just |recently |also |still |not |now |currently |originally "
            r"|happily )*(?:an? (?:\w+ )?(?:fan|member|regular|believer)"
            r"|(?:(?:big|huge|lifelong) )?fan(?= of)|\d\d(?=, (?:married|single|divorced|from))"
            r"|(?!looking|asking|wondering|trying)(?!\w*thing\b|morning|evening|during|spring"
            r"|string)\w{3,}ing"
            r" (?:at|in|on|with|my|for|from|as|every|since|until)|sharing (?:an?|the)"
            r"|allergic|married"
            r"|divorced|engaged|single|widowed|retired|pregnant|born|based|vegan|vegetarian|coeliac"
            r"|diabetic|scared|terrified|afraid|into|from|off to|gonna|going to|about to"
            r"|supposed to|due to|on(?! (?:the )?(?:\d|first|second|third"
            r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day))|living|working|studying|learning"
            r"|training|doing(?= an?\b)|moving|going|putting|charging|paying|raising|renting|flying"
            r"|getting|having|seeing|trying|saving|thinking"
            r"|planning|looking forward|reading|taking|starting|expecting|hiring|using|leaving"
            r"|loving|hating|watching|wearing|(?:(?!during|asking|wondering|regarding|concerning|considering|according|including|depending|assuming|meaning|morning|evening|spring|bring|something|anything|nothing|everything)\w{3,}ing"
            rf"(?= (?:the|an?|my|our) [^,.;:!?]+$)(?!.* {FINITE}\b)))\b \S",
            _I,
        ),
        "I'm",
    ),
    (
        LazyPattern(
            r"^(?:[\w-]+ (?:allergy|intolerance|phobia)\b|(?:\d|two|three|four|five|six) (?:kids"
            r"|children|dogs|cats|sons|daughters|brothers|sisters|siblings)\b|an? new (?:job|boss"
            r"|flat|house|car|phone|girlfriend|boyfriend|dog|cat|puppy|kitten|number|address)\b"
            r"|no (?:kids|children|siblings|pets|allergies)\b)(?!\?)(?:$|[, ])",
            _I,
        ),
        "I have",
    ),
    (LazyPattern(r"^new (?:job|flat|house|car|phone|number)\b \S", _I), "I have a"),
    (
        LazyPattern(
            r"^\d{1,4}[a-z]? (?:(?-i:[A-Z])[\w'’]+ ){1,2}(?:road|street|avenue|lane|close|drive"
            r"|way|court|crescent|terrace|place|gardens|hill|quay|row|square|mews|rd|st|ave)\b"
            r"(?: now)?(?=$|,)",
            _I,
        ),
        "My address is",
    ),
    (
        LazyPattern(
            r"^(?:car|van|bike|motorbike|laptop|phone|landlord|landlady|boss|manager|flat|flatmate"
            r"|cat|dog|hamster|rabbit|salary|commute|locker|haircut|gp|dentist|birthday|surname"
            r"|nickname|driving test|parking space|shoe size|blood type"
            r"|(?:(?:upstairs|downstairs|next[- ]door) )?neighbou?r)"
            r"(?:['’]s|s| is| are| has| was|['’]ve) (?!there\b)\S",
            _I,
        ),
        "My",
    ),
    (
        LazyPattern(
            r"^[a-zß-ÿ]{3,}(?:ina|ol|[aá]n|pril|azol|ona|mida|xina"
            r"|pam) de \d{1,4}(?: ?mg)?(?!\d| euros| pesos)",
            _I,
        ),
        "Tomo",
    ),
    (
        LazyPattern(
            r"^(?:alergia al?|intolerancia al?|(?:dos|tres|cuatro) (?:hij[oa]s|perr[oa]s|gat[oa]s"
            r"|herman[oa]s))\b",
            _I,
        ),
        "Tengo",
    ),
    (
        LazyPattern(
            r"^(?:\d[\d.,]* ?(?:mg|mcg|µg|g|ml|units) of [a-z]+"
            r"|(?:[\w-]+ ){1,2}(?:tablets?|pills?|capsules?|drops) (?:at|in the|every|twice|once"
            r"|before"
            r"|after|with|daily))\b",
            _I,
        ),
        "I take",
    ),
    (LazyPattern(r"^an? \d{1,2} in (?:[a-z]+s|[a-z]+wear)$", _I), "I'm"),
    (
        LazyPattern(
            r"^(?:\w+|\d+) (?:days?|weeks?|months?|years?|yrs?) (?:sober|clean|smoke[- ]free"
            r"|single|vegan)\b",
            _I,
        ),
        "I'm",
    ),
    (
        LazyPattern(
            r"^(?:fan|madre|padre|abuel[oa]|vecin[oa]|hij[oa]) del? "
            r"|^de (?-i:[A-ZÀ-Þ])\w+ de toda",
            _I,
        ),
        "Soy",
    ),
    (
        LazyPattern(
            r"^(?:just |never |always |also )*(?:been|seen|done|taken|eaten|visited) \S", _I
        ),
        "I've",
    ),
)
"""Statements without their subject, and what is missing: `got a new job`, `allergic to nuts`."""
_DOSE = LazyPattern(
    r"^(?!\d|(?:i|my|the|tomo|tomamos|mis?|el|la)\b)"
    r"(?:[\w'’-]+,? ){1,5}\d[\d.,]* ?(?:mg|mcg|µg|ml|units)\b"
    r"(?:$|[,;]| (?:a|per|at|in|every|each|once|twice|before|after|with|for|daily|and|plus)\b)",
    _I,
)
"""A medicine with its dose and no verb: `metformin 500 mg with breakfast`."""
_ADDED = LazyPattern(r"(?:and|plus|also)\b", _I)
_PREPOSITION = LazyPattern(r"(?:from|into|on)\b", _I)
_NOTE = LazyPattern(
    r"^[^\W\d_]{3,}(?: [\w'’.-]+){0,4} (?:on|el|this|next|este) (?:(?:next |this )?(?:mon|tues"
    r"|wednes|thurs"
    r"|fri|satur|sun)day|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)\b.*\d"
    r"|^(?:[\w'’-]+ ){0,4}(?:code|pin|passw\w+|combination|number|plate|size|c[oó]digo|clave"
    r"|contrase[ñn]a"
    r"|n[uú]mero|matr[ií]cula|talla):? (?:de )?\S*\d"
    r"|^(?:favou?rite (?:[\w-]+ ){0,2}[\w-]+"
    r"|new (?:client|customer|student|pupil|patient|friend|contact|member)): \S",
    _I,
)
"""A note of a date or a code: `dentist on Monday at 3`, `gate code 4471`."""
MAX_NOTE_WORDS = 16
_DATED = frozenset({
    "anniversary", "appointment", "babysitter", "birthday", "breakfast", "builder", "cleaner",
    "concert", "deadline", "dental", "dentist", "dinner", "doctor", "electrician", "exam",
    "exercise", "flight", "hairdresser", "hospital", "interview", "lunch", "mechanic", "meeting",
    "mot", "optician", "package", "party", "physio", "plumber", "rehearsal", "rent", "surgery",
    "swim", "therapist", "vaccine", "vet", "wedding", "yoga",
})  # fmt: skip
"""Concepts of what has a date in a note."""
_NUMBERED = frozenset({
    "account", "alarm", "code", "flight", "locker", "numberplate", "parking", "password", "phone",
    "pin", "room", "safe", "shoe", "size", "ticket", "wifi",
})  # fmt: skip
"""Concepts of what has a number or a code in a note."""
_LABEL = LazyPattern(
    r"^(?P<label>(?:my |our |mis? |nuestr[oa]s? )?(?!(?:to|from|cc|re|subject|asunto|para|example"
    r"|ejemplo|options?|opciones|choose|elige)\b)[^\W\d_]{3,}(?: [\w'’-]+){0,3}): "
    r"[^,:;?\"]+(?:, [^,:;?\"]+)*(?:,? (?:and|y|e) [^,:;?\"]+|, [^,:;?\"]+)$",
    _I,
)
"""A label and several things: `clients: Acme, Fizzly and Orchard`."""
_PRICED = LazyPattern(
    r"(?:[£$€]\d[\d.,]*|\b\d[\d.,]* ?(?:quid|pounds?|euros?|€))(?! (?:in|to|into|en|a)\b)", _I
)
"""An amount of money: `haircut 15 quid`, but not `20 pounds in euros`."""
_TOLD_BEHIND_COLON = LazyPattern(r":\s*\S")
_SEARCHED = LazyPattern(
    r"^(?:flights|hotels|trains|tickets|vuelos|hoteles|trenes|entradas|cheap|best|good|happy"
    r"|the best|see|nearest)\b|\b(?:recipes?|ideas?|weather|suggestions|news|near me|receta\w*"
    r"|noticias|restaurante?s|how to)\b",
    _I,
)
"""Key words of a search, which tell nothing."""
CALL_ME = LazyPattern(
    r"^(?:(?:please|you can|just|por favor|puedes),? )*(?:call me|ll[aá]ma(?:me|rme))"
    r" (?!(?:at|on|after|before|later|back|when|if|now|in|tomorrow|tonight|al?|a las|luego"
    r"|ma[ñn]ana|cuando|si|despu[eé]s|antes|m[aá]s tarde|hoy|today|\+?\d)\b)(?=\S)",
    _I,
)
"""It has the form of a request, and is kept as a statement: it says the speaker's name."""
_ANSWER_IN = LazyPattern(
    r"^(?:always |from now on,? |siempre |a partir de ahora,? )(?:answer|reply|respond|write"
    r"|speak|responde|contesta|h[aá]bla|escribe)",
    _I,
)
"""The same: it says how the speaker wants to be answered."""
FINITE_VERB = LazyPattern(rf"\b{FINITE}\b", _I)
SAYING = LazyPattern(
    r"\b(?:say\w*|said|tells?|told|asks?|asked|text\w*|wr[io]te\w*|messag\w+|e-?mail\w*|post\w*"
    r"|quot\w+|note|story|song|lyrics|translat\w+|call(?:ed|s)|named|repl\w+|dic\w*|dij\w+"
    r"|escrib\w+"
    r"|mensaje|cita|nota|canci[oó]n|cuento|letra|traduc\w+|llam\w+|pregunt\w+|respond\w+)\b",
    _I,
)
_QUOTED = LazyPattern(r"[\"“„«][^\"”“»]*(?:[\"”“»]|\Z)|```.*?(?:```|\Z)", re.DOTALL)


def lead_in_end(text: str) -> int:
    """Index of the first character behind greetings and fillers; 0 if there is nothing behind
    them."""
    found = LEAD_IN.match(text)
    return found.end() if found and found.end() < len(text) else 0


NOT_TO_KEEP = (
    r"(?:please )?(?:(?:do(?:n['’]?t| not)|never|no need to|you (?:needn['’]?t"
    r"|don['’]?t (?:need|have) to)|i (?:do(?:n['’]?t| not) want|['’]?d rather) you"
    r" (?:to|not|didn['’]?t)) (?:remember|store|save|keep|record|log|memori[sz]e"
    r"|write(?: down)?|note(?: down)?|jot down)"
    r"|no (?:(?:quiero|hace falta|es necesario) que )?(?:(?:te|lo|la|me|se) )*(?:recuerdes"
    r"|acuerdes?|guardes?|apuntes?|anotes?|registres?|memorices?|almacenes?|conserves?"
    r"|tomes? nota)(?: usted)?(?: de)?)"
)
"""An order not to keep something, without its object."""
_KEEP_NOTHING = LazyPattern(rf"^{NOT_TO_KEEP} \S", _I)


def without_lead_in(text: str) -> tuple[str, bool]:
    """The text without lead-ins, and whether one of them announces a change."""
    bare = text if _GRADED.search(text) else _CHANGE_LEAD_OUT.sub("", text)
    if found := _CORRECTED.match(text):
        bare = found["starred"] or found["starred2"] or found["excused"]
    text, is_change = bare or text, bool(bare) and bare != text
    while True:
        shorter = LEAD_IN.sub("", text)
        found = CHANGE_LEAD_IN.match(shorter)
        if found:
            shorter, is_change = shorter[found.end() :], True
        if shorter == text or not shorter:
            return (shorter or text), is_change
        text = shorter


@lru_cache(maxsize=500)
def classify(part: str) -> Clause:
    """Cached: a part is classified when a sentence is split, and as a clause."""
    if _is_small_talk(part):
        return Clause(text=part, kind=ClauseKind.SMALL_TALK)
    if TAKEN_BACK.match(part):
        return Clause(text=part, kind=ClauseKind.UNREAL)
    text, is_change = without_lead_in(part.lstrip("¡¿ "))
    if (task := as_task(text)) != text:
        return Clause(text=trimmed(task), kind=ClauseKind.STATEMENT, is_change=is_change)
    if is_change:
        # "Actually I'd rather do geography".
        text = _RATHER.sub("I want to ", text)
    subject = next((subject for start, subject in _ELLIPTIC if start.match(text)), "")
    # "No, on Thursday" is about what was said before.
    is_value = is_change and _PREPOSITION.match(text) and len(text.split()) <= MAX_VALUE_WORDS
    is_order = is_question(text) or _KEEP_NOTHING.match(text)
    if subject and not is_value and not is_order:
        is_acronym = text[:2].isupper()
        text = f"{subject} {text if is_acronym else text[0].lower() + text[1:]}"
    elif _DOSE.match(text) and not (is_change or is_question(text) or FINITE_VERB.search(text)):
        text = f"I {'also ' if _ADDED.match(part) else ''}take {text}"
    found = REMEMBER.match(text)
    if found and _asks_to_remember(text, found["content"]):
        content = trimmed(found["content"].rstrip("?"))
        return Clause(text=content, kind=ClauseKind.STATEMENT, is_change=is_change)
    told = _as_sentence(trimmed(text))
    return Clause(text=told, kind=_kind(told or text), is_change=is_change)


def _as_sentence(text: str) -> str:
    """A note with a label as a sentence: `My job is electrician` for `job: electrician`."""
    found = _LABELLED.match(text)
    if not found or not any(map(is_concept, concepts_of(found["label"]) - general())):
        return text
    if is_statement(found["value"]) or is_statement(text) or _is_note(text):
        return text
    label = f"{found['label'][0].lower()}{found['label'][1:]}"
    is_many = label.split()[0].endswith("s")
    if _SPANISH_LABEL.match(label) or language_of(text) == "es":
        return f"{'Mis' if is_many else 'Mi'} {label} {'son' if is_many else 'es'} {found['value']}"
    return f"My {label} is {found['value']}"


_SPANISH_LABEL = LazyPattern(
    r"(?:oficio|edad|coro|correo|tel[eé]fono|m[oó]vil|direcci[oó]n|alergias?|altura|talla|peso"
    r"|trabajo|empresa|jef[ea]|pareja|novi[oa]|herman[oa]|hij[oa]|madre|padre|perr[oa]|gat[oa]"
    r"|vecin[oa]|m[eé]dic[oa]|pelu\w*|coche|carro|matr[ií]cula|banco|clave|contrase[ñn]a|taquilla"
    r"|plaza|caser[oa]|piso|alquiler|basura|seguro|aseguradora|gimnasio|deporte|carrera|universidad"
    r"|serie|peli\w*|libro|comida|caf[eé]|equipo|apodo|mote|nombre|apellidos?|cumplea[ñn]os|llaves?"
    r"|hora|horario|hipoteca|port[aá]til|grupo|color|fin)\b",
    _I,
)
_LABELLED = LazyPattern(
    r"^(?:(?:my|our|mis?|nuestr[oa]s?) )?(?P<label>(?!(?:note|nota|to|from|cc|re|subject|asunto"
    r"|para|de|date|fecha|time|hora|example|ejemplo|options?|opciones|choose|elige|answer|question"
    r"|shopping|compras?|list|lista|new|nuev[oa])\b)[^\W\d_]{2,}(?: [\w'’-]+){0,3}): "
    r"(?P<value>[^:?;,]{1,60})$",
    _I,
)


_KEEP_IN_MIND = LazyPattern(
    r"(?:please )?(?:don['’]t|never) forget (?:my|our) [\w'’-]+(?: [\w'’-]+)?\W*$"
    r"|(?:por favor,? )?no (?:te )?olvides (?:de )?(?:mis?|nuestr[oa]s?) [\w-]+(?: [\w-]+)?\W*$",
    _I,
)
"""Request that tells nothing: `don't forget my birthday`."""


_TO_FORGET_ALL = LazyPattern(
    r"(?:please )?(?:(?:forget|delete|erase|wipe|purge|remove) (?:all|everything|your memory)"
    r"|(?:olv[ií]d|b[oó]rr|elim[ií]n)[aeá]\w* (?:tod[oa]s?|de m[ií])|(?:olv[ií]da|b[oó]rra)me)\b",
    _I,
)
"""Request that tells nothing: `delete everything you know about me`. What it means is read in
forgetting.py."""


def _asks_to_remember(text: str, content: str) -> bool:
    """Check whether a text asks to keep its content, rather than asks for it: `can you remember
    (that) my locker is 12?`, `can you remember my name?`."""
    if _QUESTION_WORD.match(content) or _KEEP_IN_MIND.match(text):
        return False
    return not is_question(text) or bool(_TOLD_TO_KEEP.match(content))


def _kind(text: str) -> ClauseKind:
    """The first that applies. The order matters: a question may look like any other kind (`can you
    write …?`), `call me Al` like a request, and `if I lived in Rome` like a statement."""
    if is_question(text):
        return ClauseKind.QUESTION
    if CALL_ME.match(text) or _ANSWER_IN.match(text):
        return ClauseKind.STATEMENT
    if _is_small_talk(text) or any(
        one.match(text) for one in (_EXCLAMATION, _TO_ASSISTANT, _WEATHER, _COMMENT)
    ):
        return ClauseKind.SMALL_TALK
    if any(
        one.match(text)
        for one in (
            IMPERATIVE,
            _COMMAND,
            _NOT_TO_KNOW,
            _KEEP_NOTHING,
            _KEEP_IN_MIND,
            _TO_FORGET_ALL,
        )  # fmt: skip
    ):
        return ClauseKind.REQUEST
    if _TOPIC.match(text):
        return ClauseKind.OTHER
    if _UNREAL.search(_IN_CASE.sub("", _ONLY_IF.sub("", text))) and not _YES.match(text):
        return ClauseKind.UNREAL
    return ClauseKind.STATEMENT if is_statement(text) or _is_note(text) else ClauseKind.OTHER


_ONLY_IF = LazyPattern(r"(?<=\bonly ).* if (?=(?:it|they|he|she|the|there)\b)", _I)
"""`He'll only eat fish if it's fried` tells a habit."""


_IN_CASE = LazyPattern(
    r",? (?:solo )?por si .*$"
    r"|(?<=\d)#?(?:,? (?:and|but) (?:ask|call|ring|text|use)\b[^,.]*?)?,? (?:but )?(?:only |even )?"
    r"if (?:it|the|they|there|that|he|she)\b(?!.*\b(?:would|could|might)\b).*$",
    _I,
)
"""Case in which a thing is needed: `her number is 77 12 if it leaks`, `por si me caigo`."""


def _is_note(text: str) -> bool:
    """Check whether a text without a verb tells a date, a code or a number of something that people
    note: `lunch w Kate friday 1pm`, `locker 42 at the gym`, `wifi pw: abc123`."""
    if not 2 <= len(text.split()) <= MAX_NOTE_WORDS or _SEARCHED.search(text):
        return False
    if (label := _LABEL.match(text)) and not SAYING.search(label["label"]):
        return True
    if _PRICED.search(text):
        return True
    values, concepts = typed_values(text).keys(), concepts_of(text)
    times = {ValueType.DAY, ValueType.TIME}
    is_dated = bool(values & times and concepts & _DATED) or times <= values
    # "Anniversary supper at Tito's, 3 July".
    is_dated = is_dated or bool(len(text.split()) >= MIN_DATED_WORDS and _FULL_DATE.search(text))
    return is_dated or bool(
        concepts & _NUMBERED and (ValueType.NUMBER in values or _TOLD_BEHIND_COLON.search(text))
    )


def is_question(text: str) -> bool:
    """Check whether a sentence asks something, also without a question mark."""
    bare = text.strip()
    if bare.endswith(("?", "？")) or bare.startswith("¿") or _MY_LIST.match(bare):
        return True
    if _SUBORDINATE.match(bare):
        return False
    return bool(
        _TOPIC_ASKED.match(bare)
        or (
            _QUESTION_WORD.match(bare) and not _EXCLAMATION.match(bare) and not _COMMENT.match(bare)
        )
        or _ASK_AGAIN.match(bare)
    )


_TOPIC_ASKED = LazyPattern(
    r"(?:(?:y|pero|oye),? )?(?:para|de|en|con|a|el|la|los|las|mis?|nuestr[oa]s?)\b"
    rf"(?: (?!(?:que|{THIRD_SPANISH}|[^\W\d_]+(?:[éó]|aron|ieron))\b)[^\s;]+){{1,7}}?,? "
    r"(?:(?:a|en|de|con|para|desde|por|cada) )?(?:qué|cuál(?:es)?|dónde|cuándo|cómo|quién(?:es)?"
    r"|cuánt[oa]s?|cual (?=era|es)) [^\s,;]+(?: [^\s,;]+){0,5}\s*$",
    _I,
)
"""What is asked about, and a question word with its accent: `y la del coche cuál era`."""
MIN_DATED_WORDS = 4
"""Minimum length in words of a note that only its date tells from the key words of a search."""
_FULL_DATE = LazyPattern(
    rf"\b(?:(?:{MONTHS})\.? \d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)?(?: of| de)? (?:{MONTHS}))\b", _I
)
_OBJECT_FIRST = LazyPattern(
    r"(?:lo|el|la|los|las|mis?) [^,;]{3,60} (?:(?:me|te|se|nos) )?l[ao]s? (?:he|hemos|tengo|tenemos"
    r"|llevo|llevamos|\w+é)\b",
    _I,
)
"""`La cita la he tenido que mover`: a Spanish statement that begins with its object."""
_STATEMENTS = (
    _OWN, _OWN_SPANISH, _OF_SPEAKER, _OTHERS, _THIRD_SPANISH, _OBJECT_FIRST, _NOTE,
)  # fmt: skip
_SUBORDINATE = LazyPattern(r"(?:cuando|donde) (?!.*[¿?]).*[áéíóú]", _I)
"""`Cuando llego a casa, ceno`, by a person who writes accents: a question would begin with one."""


def _is_small_talk(text: str) -> bool:
    """Check whether a text of at most MAX_STATEMENT_CHARS is phrases of small talk, and nothing
    else."""
    if len(text) > MAX_STATEMENT_CHARS or not _SMALL_TALK.match(text):
        return False
    # Some phrases are the beginning of others (`good`, `good night`): a single pattern for all of
    # them would try each way to divide the text, and their number doubles with every phrase.
    ends = list(dict.fromkeys(found.end() for found in _BETWEEN_WORDS.finditer(text)))
    reached = {0}
    for number, start in enumerate([0, *ends[:-1]]):
        if start not in reached or not _SMALL_TALK.match(text, start):
            continue
        for end in ends[number : number + MAX_PHRASE_WORDS]:
            # The mark tells that the text goes on: some phrases are its last ones only.
            cut = f"{text[:end]}\0" if end < len(text) else text
            if _UP_TO_MARK.match(cut, start):
                reached.add(end)
    return len(text) in reached


def is_statement(text: str) -> bool:
    """Check whether a sentence tells something about the speaker, another being or a thing."""
    if len(text) > MAX_STATEMENT_CHARS or _is_small_talk(text):
        return False
    bare = _QUOTED.sub('"', text)
    return any(one.match(bare) for one in _STATEMENTS) and not is_question(text)


def trimmed(text: str) -> str:
    return _LEAD_OUT.sub("", text).strip().rstrip(" .!;,…")
