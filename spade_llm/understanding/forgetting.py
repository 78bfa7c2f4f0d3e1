"""Requests to forget, in words: what is meant, and which statements it matches."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import EMOJI, is_statement, lead_in_end
from spade_llm.understanding.clauses import told_off_the_record
from spade_llm.understanding.features import NOTE, Statement, features, is_changed
from spade_llm.understanding.plain_sentences import spelled_out
from spade_llm.understanding.pronouns import is_noun_phrase, leading_noun
from spade_llm.understanding.replacement import (
    BEARER,
    DOES_SPANISH,
    OF_OWN,
    SECRETS,
    SPEAKER,
    are_two_of_a_kind,
    bearer_of,
    key_of_being,
    owner_of,
    replaces,
    tells_own_home,
)
from spade_llm.understanding.spelling import plain_spanish
from spade_llm.understanding.statements import MAX_EARLIER, read_message
from spade_llm.understanding.substitution import outside
from spade_llm.understanding.things import COPULA
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    is_concept,
    is_function_word,
    kin,
    read_table,
    stems_of,
    typed_values,
    value_key,
    values_of_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_I = re.IGNORECASE

MAX_CHARS = 500
"""Maximum length of a request; the rest is ignored."""
MIN_COVERAGE = 0.6
"""Minimum share of the request's concepts that a statement has."""
MIN_MENTIONED = 0.8
"""Minimum share of a statement's concepts that a text has that says the same."""
MIN_REPEATED = 0.6
"""The same for messages, which may correct a part of it only."""
MAX_MESSAGE_CHARS = 1500
"""Maximum length of a message whose statements are compared; a longer one is more likely pasted."""

STEM_CHARS = 4
"""Letters by which forms of one word are recognized if the vocabulary does not know them."""
_VERB = (
    r"(?:forget|delete|erase|remove|drop|wipe|scrub|purge|scrap|get rid of|clear|cross out"
    r"|rub out|stop (?:remembering|knowing|storing|keeping)|scratch|strike|unlearn|un-?remember"
    r"|un-?know"
    r"|take (?:back|out)|(?:take|cross|rub|strike|leave) (?:it|that|this|them) (?:out|off|back)"
    r"|take(?= .+ (?:off|out of|from) (?:(?:your|the) (?:memory|records?|notes|files?)"
    r"|your lists?)\b)"
    r"|get(?= (?:\w+ ){1,4}out of your (?:memory|records?|notes|files?)\b)"
    r"|(?:do(?:n['’]t| not) be (?:remember|stor|keep|sav|record|hold)ing(?: on ?to)?"
    r"(?! (?:me|us|him|her|them)\b)"
    r"|(?:do(?:n['’]t| not)|not|(?<=better )not to|you(?:['’]re| are) not to|you (?:needn['’]t"
    r"|mustn['’]t"
    r"|must not"
    r"|shouldn['’]t"
    r"|should not|don['’]t (?:need|have) to)|(?:there['’]s )?no need to|never) (?:remember|store"
    r"|keep|save"
    r"|know|(?:hold|hang) on ?to|retain|recall|record|bring up|mention|note))"
    r"|(?<=you )(?:did(?:n['’]t| not)|not) (?:know|remember|keep|store|have|(?:hang|hold) on ?to)"
    r"|(?:(?<=if you )|(?<=rather you ))(?:forgot|deleted|erased|wiped|scrapped)"
    r"|(?:i )?do(?:n['’]t| not) want you (?:to (?:know|remember|keep|store|have|hold)"
    r"|(?:know|remember|keep|stor|hav)ing|holding on ?to)"
    r"|(?:que )?(?:te |se ){0,2}(?:olv[ií]d|b[oó]rr|elim[ií]n|qu[ií]t|supr[ií]m|desc[aá]rt|t[aá]ch"
    r"|descart)"
    r"(?:a|á|e|es|ar|en|as|aras)(?:te|me|se|mel[ao]s?|sel[ao]s?|l[aoe]s?)?(?: (?:usted|de))*"
    r"|no (?:quiero que )?(?:(?:lo|la|te|se|me) )*(?:recuerdes?|guardes?|sepas?|acuerdes?(?: de)?"
    r"|tengas?|menciones?|conserves?|retengas?|quedes? con|memorices?"
    r"|registres?|supieras?|tuvieras?|quedaras? con|(?:record|guard|conserv|mencion|memoriz)aras?)"
    r"(?: m[aá]s)?(?: de)?"
    r"|(?:que )?dej(?:a|e|es|ara|aras) de (?:recordar|guardar|saber|tener|acordarte de)"
    r"|(?:un-?remember|forgett|delet|eras|remov|wip)ing"
    r"|(?:ya )?no (?:hace falta que|tienes que|necesitas) (?:recuerdes|recordar|guard(?:ar|es)"
    r"|sepas|saber))"
)
"""Verbs that ask to forget, whatever their object is."""
_VERB_OF_MANY = (
    r"(?:lose|bin|trash|ditch|dump|discard|omit|nuke|bury|skip|undo"
    r"|s[aá](?:c[aá]|que)(?:l[ao]s?)?|b[oó]t[aá]r?(?:l[ao]s?)?|t[ií]r[aá]r?(?:l[ao]s?)?|anula(?:l[ao]s?)?"
    r"|limpia|ignor[ae]|deshazte de|mata)"
)
"""Verbs that ask it only if their object is something that was said."""
_WHAT_WAS_SAID = (
    r"(?:(?:all|everything|anything|whatever|todo) )?(?:(?:the|that|this) (?:\w+ )?(?:bit|part"
    r"|thing"
    r"|stuff|fact|info\w*|story|business|note|memory|entry|record|message)s?\b"
    r"|(?:the|that|this) (?:[\w'’-]+ ){1,3}(?:bit|part|thing|stuff|story|business)\b"
    r"|(?:the|my|our|el|la|mi|nuestr[oa]) (?:\w+ )?(?:numbers?|plates?|reg|phone|e-?mail|address"
    r"|(?:user)?name|nick|handle|login|usuario"
    r"|password|pin|code|combination|keypad|digits|matr[ií]cula|n[uú]mero|tel[eé]fono|correo|direcci[oó]n|contrase[ñn]a"
    r"|c[oó]digo|clave)\b"
    r"|what(?:ever)? (?:i|you)\b|(?:i|you) (?:ever )?(?:said|told|mentioned)|about\b"
    r"|(?:lo|eso|esto) (?:de|que|del)\b|(?:la|el|los) (?:parte|cosa|dato|tema|asunto|historia"
    r"|mensaje|recuerdo)s? (?:de|que|sobre)\b)"
)
"""Beginning of an object that is something that was said: `the bit about …`, `lo de …`."""
_ASKING = (
    r"(?:please |kindly |actually,? |(?:can|could|would|will) you |you (?:can|should|may"
    r"|could) |just "
    r"|i(?:['’]d| would)? "
    r"(?:want|like|prefer|need|rather)(?: not)? (?:you to |that you |you )?|let['’]?s |por favor,? "
    r"|puedes? |podr[ií]as? |me |(?:haz(?:me)?|h[aá]ga(?:me)?)(?: usted)? (?:el|un) favor (?:de|y) "
    r"|do me a favou?r and |can we (?=forget|delete|erase|scrap)|make sure (?:that )?(?:you |to )"
    r"|i(?:['’]d| would) (?:prefer|like|love|appreciate) it if you (?:could |would )?"
    r"|i(?:['’]d| would) (?:feel|be|sleep|rest) (?:[\w'’]+ ){0,3}?(?:better|happier|easier|glad"
    r"|grateful|comfortable) if you "
    r"|(?:ah|oh|aw|och|here|listen|look),? "
    r"|it(?:['’]d| would) be \w+ if you (?:could |would )?"
    r"|(?:would it be|is it) possible (?:for you )?to |is there (?:any|a) way (?:for you )?to "
    r"(?:make you |get you to )?|(?:it(?:['’]s| is) )?better (?:if you |that you |to )?"
    r"|any chance (?:of |(?:that )?you (?:could |can |might )?)"
    r"|would you (?:ever|kindly) |would you mind (?:awfully |terribly |very much )?|(?:te"
    r"|le) agradecer[ií]a que "
    r"|te importar[ií]a |a ver si |(?:te|le) (?:pido|ruego) que "
    r"|(?:ser[ií]a|es) posible (?:que )?|hay (?:alguna )?(?:forma|manera) de que "
    r"|aseg[uú]rate de (?:que )?"
    r"|(?:quiero|prefiero|preferir[ií]a|necesito|me gustar[ií]a|mejor) que |mejor |ya )*"
)
_BEFORE_VERB = (
    r"(?:(?!(?:i|i['’]\w+|you|he|she|we|they|it|my|our|his|her|never|not|\w+n['’]t|to|always|often"
    r"|sometimes|who|that|what|if|when|yo|no|nunca|se|me|nos|te|[eé]l|ella|mi|mis|su|suelo|siempre"
    r"|si|que|cuando|quien|a|de)\b)(?-i:[a-z'’áéíóúñ]+) )"
)
_LEADING = rf"(?:{_BEFORE_VERB}{{1,4}}?|(?-i:(?!I\b)[A-Z]\w*) {_BEFORE_VERB}{{1,3}}?)"
"""Words before the verb that are neither a subject nor a negation: `for heaven's sake forget …`."""
_REQUEST = LazyPattern(
    rf"^{_ASKING}(?:{_VERB}\b|{_VERB_OF_MANY} (?={_WHAT_WAS_SAID}))(?P<rest>.*)$"
    rf"|^{_LEADING}(?:{_VERB}|{_VERB_OF_MANY}) (?={_WHAT_WAS_SAID})(?P<rest2>.*)$",
    _I,
)
_POLITE = LazyPattern(
    r"(?:can|could|would|will) (?:you|we)\b|any chance\b|(?:would it be|is it) possible\b"
    r"|is there (?:any"
    r"|a) way\b"
    r"|puedes?\b|podr[ií]as?\b|te importar[ií]a\b|(?:ser[ií]a|es) posible\b"
    r"|hay (?:alguna )?(?:forma|manera) de\b",
    _I,
)
_SECOND_THOUGHT = LazyPattern(
    r"^(?:(?:actually|sorry|wait|oops|che|oye|mira|oiga|hey|look|listen|on second thoughts?"
    r"|pens[aá]ndolo (?:bien|mejor))[,.]? )+"
    r"(?=\w)",
    _I,
)
_AGREED = LazyPattern(
    r",? ¿?(?:ok(?:ay)?|yeah|yes|alright|please|vale|s[ií]|porfa|por favor|de acuerdo|eh)\?$", _I
)
"""A question behind a request: `delete it, ok?`."""
_BEHIND = LazyPattern(
    r"^(?P<topic>(?:.*\b(?:(?:esto|eso|lo) (?:de|del|que)|what i|the (?:bit|part|thing|stuff)|that)"
    r"\b|(?:mis?|el|la|los|las)\b)[^:]{3,80}?),? "
    r"(?:(?:que )?no (?:me )?l[ao]s? (?:guard|recuerd|sep|teng|conserv|apunt|almacen)[ae]s?"
    r"|(?:b[oó]rra|elim[ií]na|olv[ií]da|b[oó]rre|elim[ií]ne|olv[ií]de)(?:me|te|se)?l[aoe]s?"
    r"|(?:ya )?l[ao]s? puedes (?:ir )?(?:borr|olvid|tach|elimin)\w+)\b.{0,15}$"
    r"|^(?P<thing>(?:la|el|los|las|mis?) [\w-]+(?: de [\w ]+?)?)(?: es[aeo]s?)?"
    r" ya no (?:hace falta|tienes|necesitas) (?:que )?l[ao]s? (?:sep|guard|teng|record|recuerd)"
    r"\w+.{0,10}$"
    r"|^(?P<own2>(?:lo de|el|la|mi) [^:]{3,40}?) (?:ya )?no te (?:incumbe|importa|interesa)\b"
    r".{0,20}$"
    r"|^(?P<matter>(?:eso|esto|lo) (?:de|del|que) [^:]{3,60}?),? (?:s[aá]c[aá]l[ao]s?"
    r"|que no (?:quede"
    r"|conste|aparezca) ?\w*|haz como (?:que|si) no l[ao] (?:has|hubieras) \w+)\b.{0,15}$"
    r"|^(?P<left>(?:eso|esto|lo) (?:de|del|que) [^:]{3,60}?),? no (?:me )?l[ao]s? dej[ae]s?"
    r" (?:guardad|anotad|apuntad|escrit|registrad|ah)(?:[oa]s?|[ií]).{0,15}$"
    r"|^(?P<off>(?:the|that|this) [^,.:]{3,40}?) (?:business|thing|stuff|bit|part) (?:can|could"
    r"|should|may) (?:go|be (?:forgotten|deleted|dropped|removed|wiped|binned))\b.{0,12}$"
    r"|^(?P<own>(?:my|our) [^,.:]{3,40}?) (?:is|are) (?:nobody|no one)['’]?s business,? (?:so )?"
    r"(?:please )?(?:take|delete|remove|get|drop|lose|forget|wipe)\b.{0,15}$"
    r"|^de (?P<about>(?:lo|eso|esto) (?:de|del|que) [^:]{3,60}?),? olv[ií]date\b.{0,30}$"
    r"|^no quiero que quede (?:nada|rastro) de (?P<rest>[^:,]{2,40}?)(?: ac[aá]| aqu[ií])?$"
    r"|^a (?P<name>(?-i:[A-ZÀ-Þ])\w+) (?:ya )?no me l[aeo] (?:vuelvas a )?(?:nombr|mencion"
    r"|record)\w+.*$",
    _I,
)
"""The verb behind what is meant: `eso que te dije de Ana bórralo ya`."""
_EXPLICIT = LazyPattern(
    r"\b(?:forget|remember\w*|unlearn|memor(?:y|ia)|your (?:notes|records)|tus? (?:notas|registros)"
    r"|(?:you|i) (?:know|told|said)|want you to|olvid\w+|recuerd\w+"
    r"|recordar|sab[eé]s|sepas|dije|cont[eé])\b",
    _I,
)
_NOT_YOURS = LazyPattern(
    r"^you (?:really |probably |definitely |certainly )*(?:should(?:n['’]?t| not| never)"
    r"|do(?:n['’]?t| not) need(?: to)?|needn['’]?t|mustn['’]?t|(?:were|are)(?:n['’]?t| not| never)"
    r" (?:supposed|meant) to) "
    r"(?:(?:know|hold|store|remember)(?: about)? (?=the |that |what |(?-i:[A-Z]))"
    r"|(?:know|have|keep|hold|store|remember)(?: about)? (?=my |our )"
    # "You don't need my car to get there" asks for nothing.
    r"|(?=(?:my|our) [^,.]{2,60}[,.] (?:so |please |just )*(?:take|lose|delete|remove|forget"
    r"|get rid|wipe|bin|erase|drop)\b))(?P<topic>[^,.]{2,60})(?:[,.].*)?$",
    _I,
)
"""Things that the assistant should not know: `you shouldn't have our alarm code, …`."""
_NEVER_SAID = LazyPattern(
    r"^(?:scratch|strike|ignore|disregard|ignora|olvida)(?: (?:that|this|it|eso"
    r"|lo))?,? (?:i (?:never|didn['’]t)|no (?:he dicho|dije)|yo no)\b",
    _I,
)
_FILLER = (
    r"bits?|parts?|things?|stuff|facts?|info(?:rmation)?|story|business|notes?|memor(?:y|ies)"
    r"|entr(?:y|ies)|details?|partes?|cosas?|datos?|temas?|asuntos?|rollo|historia|mensajes?"
    r"|recuerdos?"
)
"""Nouns for something that was said, which do not tell what about."""
_ALL_ABOUT = LazyPattern(
    r"^ *(?:all|any of|everything|anything|whatever|todo)\b"
    r"|^ *(?:that )?i (?:ever )?(?:said|mentioned|told you about|brought up)\b"
    r"|^ *que te (?:he hablado|hablé|he mencionado|mencioné) de\b"
    r"|^ *(?:about|what(?:ever)? (?:i|you)\b.*\babout|(?:lo|eso|esto) (?:del?"
    r"|que (?:(?:te|le|os) )?(?:dije|cont[eé]|he (?:dicho|contado)"
    r"|acabo de (?:decir|contar)(?:te|le|os)?) (?:del?|sobre))"
    rf"|(?:the|that|this|el|la|los|las|nada) (?:\w+ )?(?:{_FILLER}) (?:i (?:said|told you) )?"
    r"(?:about|with|del?|sobre)|nada (?:del?|sobre))\b",
    _I,
)
_INTRODUCTION = LazyPattern(
    r"^ *(?:(?:(?:de|from) (?:tus?|your) (?:memoria|recuerdos|memory|records)"
    rf"|all|everything|anything|whatever|todo|what|the (?:{_FILLER})|{_FILLER}"
    r"|lo|eso|esto|that|this|i|you|me|know|knew|said|told|mentioned|brought|up|hablado|hablé"
    r"|mencionado|mencioné|nada|was|le|os|m[aá]s|usted"
    r"|just|have|['’]ve|ever|about|of|que|del?|sobre|te|le|he|dicho|dije|cont[eé]|contado|sabes"
    r"|acabo|(?:decir|contar)(?:te|le|os)?|me|la|el)\b[ ,:]*)+",
    _I,
)
_BIN_IT = LazyPattern(
    rf"^{_ASKING}(?:{_VERB}|{_VERB_OF_MANY}) (?P<rest>it|that|this|eso)[.!?]*$", _I
)
_REGRETS = LazyPattern(
    r"\b(?:wish i|should(?:n['’]?t| not| never) (?:have|of|['’]ve)|i regret|ojal[aá] no"
    r"|no (?:ten[ií]a que|deb[ií])"
    r"|me arrepiento)\b.*\b(?:said|told|mentioned|brought|telling|dicho|contado|cont[eé]|contarte"
    r"|hablado|decir\w*)\b",
    _I,
)
"""Regret that something was said, before `can you bin that`."""
_LAST = LazyPattern(
    r"^ *(?:(?:all|everything|what|that|this|it|one|ese|esa|lo|eso|esto|la|las|los"
    r"|i|you|just|very|the|last|thing|message|said|told|acabo de|decir|decirte|he dicho"
    r"|[uú]ltimo|bit|please|por favor|about|de|me|que|te|dije|now|ahora|anything)\b[ ,.!]*)*[.!]*$",
    _I,
)
_REASON = LazyPattern(
    r"(?:,| because| since| as i| before (?:my|the|he|she|they|any\w+|some\w+|i)\b| so (?:that|my"
    r"|no)\b"
    r"| in case| que me (?:da|puede|pueden|va a|perjudica|compromete)\b| or (?:else|i)\b| cos"
    r"| cuz| que es| it['’]s| porque| ya que"
    r"| antes de que| para que"
    r"| no vaya a| por si| (?:ya )?no te (?:incumbe|importa|interesa))(?: .*)?$"
    r"|(?<!\bde)(?<!\blo)(?<!\beso)(?<!\besto)(?<!\btodo) que (?:mi|mis|luego|aqu[ií]|en casa)\b.*$"
    r"|(?: please| pls| por favor| porfa| (?:that )?i (?:told you|mentioned|said)(?: about)?"
    r"| (?:from|off|out of) (?:(?:the|your) )?(?:memory|records?|list"
    r"|notes|files?)| de (?:tus?|sus?) (?:memoria|recuerdos|listas?|notas|registros?|datos"
    r"|archivos)"
    r"| (?:thing|stuff|business)| would you| for me| for good"
    r"| already| any ?more| any longer| either| tampoco| m[aá]s"
    r"| completely| right now| now| ok(?:ay)?| ya| anda| fuera| ac[aá]| aqu[ií])+$",
    _I,
)
_APPOSITION = LazyPattern(r"^[^,]+, (?:the|my|el|la|mi) [\w-]+$", _I)
"""The same named again: `my skin illness, the psoriasis`."""
_IT = LazyPattern(
    r"^(?:it|him|her|them|(?:that|this)(?: (?:one|number|code|thing|info|detail))?"
    r"|th[oe]se (?:numbers|digits|details)"
    r"|es[oa]s (?:numeritos|n[uú]meros|datos)|eso|esto|[eé]s[ae]|about it|eso da igual"
    r"|(?:apuntad|guardad|anotad|registrad|almacenad|escrit)[oa]s?)?"
    r"(?:(?:^| )(?:please|now|out|anda|ya|porfa|por favor))*$",
    _I,
)
_IDIOM = LazyPattern(r"^(?:about )?(?:it)?$|^eso da igual$", _I)
"""`Forget it` is not about memory."""
_PRIVATE = LazyPattern(
    r"^(?P<topic>.+ (?:thing|stuff|business|part|bit|matter)|(?:lo|la cosa|el tema|el asunto)"
    r" de .+?) (?:is|are|was|were|es|son|era|fue) (?:\w+ )?(?:private|personal|confidential"
    r"|secret|sensitive|privad[oa]s?|personal(?:es)?|confidencial(?:es)?|secret[oa]s?)\b",
    _I,
)
"""The reason of a request that names what is meant: `forget it, the therapy thing is private`."""
_KEPT = LazyPattern(
    r",? (?:but|just|pero) (?:(?:please |do )?(?:keep|remember|leave|not|(?:hang|hold) on to)"
    r"|no|s[ií]|guarda|conserva"
    r"|deja|recuerda)(?: that| que)? (?P<kept>.+)$",
    _I,
)
"""Things that are not to be forgotten along with it: `…, but keep the date`."""
_AND = LazyPattern(
    r",? (?:and|y) (?=(?:my|our|the|that|what|where|when|who|how|mis?|el|la|los|las|lo|que)\b)",
    _I,
)
"""The beginning of the next of several things: `my phone number and my address`."""
_DATE = LazyPattern(r"^(?:the |la |el )?(?:date|day|time|when|fecha|d[ií]a|hora|cu[aá]ndo)\b", _I)
_JUDGEMENT = LazyPattern(
    r"\b(?:was|is|were|era|es|fue)\b.*$|,? (?:ya )?no (?:te )?l[ao]s? (?:ten[ií]a|deb|quise"
    r"|hubiera)"
    r".*$|,? i (?:should(?:n['’]t| not| never)|never should|ought not).*$",
    _I,
)
_TOLD_YOU = LazyPattern(
    r"\b(?:said(?: anything)?(?= about)|mentioned|told (?:you|ya)|tell(?:ing)? you|gave you"
    r"|giv(?:en|ing) you|(?:hand|giv)(?:e|ing)? (?:out|away)|keep(?:ing)?|stor(?:e|ing)"
    r"|haber(?:te)?(?:l[ao]s?)? (?:dado|contado|dicho)|dar(?:te)?|contar(?:te)?|andar dando)"
    r"(?: about| de| sobre)? "
    r"(?P<topic>(?:my|our|the|(?:lo |eso )del?(?: la)?|el|la|los|las|mi|nuestr[oa]) (?:(?!in\b"
    r"|on\b|here\b"
    r"|aqu[ií]\b)[\w'’-]+ ?){1,4}"
    r"|(?-i:[A-ZÀ-Þ])\w+(?: (?:and|y) (?-i:[A-ZÀ-Þ])\w+)*(?:['’]s(?: [\w-]+){1,3})?)",
    _I,
)
"""Things that should not have been told: `it's silly to keep the safe code in a chat`."""
_LO_DE = LazyPattern(r"\b(?:lo|eso) (?:que te (?:dije|cont[eé]) )?del? [^.;]+$", _I)
_ABOUT_THEM = LazyPattern(r"\babout (?:him|her|them)$|^(?:him|her)$", _I)
_SEE_NO_MORE = LazyPattern(r"\b(?:ever again|again|any ?more|nunca m[aá]s|m[aá]s)$", _I)
_ELLIPTIC = LazyPattern(r"^(?:el|la|los|las) (?=del? )", _I)
"""`La del banco`, behind what names the noun: `no debería dar claves`."""
_CAPITAL = re.compile(r"(?<=\s)(?!I\b)[A-ZÀ-Þ][\w-]+(?: [A-ZÀ-Þ][\w-]+)*")
_YOUR_MEMORY = r"(?:tus?|your) (?:memoria|recuerdos|notas|memory|notes|records)"
_OF_MEMORY = LazyPattern(rf"^(?:(?:de|from|out of) )?{_YOUR_MEMORY}$", _I)
_ANYWHERE = LazyPattern(r"(?:^|\s)(?:(?:in )?here|anywhere|at all|(?:por )?aqu[ií])[\s.!]*$", _I)
_THAT = LazyPattern(
    rf"^(?: *(?:that|que|about|the|(?:guard|anot|apunt|registr)ad[oa]s?|lo de(?: que)?"
    rf"|(?:(?:de|from) )?{_YOUR_MEMORY}|de que"
    r"|por favor|please)\b)+ *",
    _I,
)
_EVERYTHING = LazyPattern(r"(?:all|both|everything|anything|todo|amb[oa]s|l[oa]s dos)\b", _I)
_PARTS = LazyPattern(r"(?<=[.!?;])\s+|,\s+")
_LAUGHS = LazyPattern(
    rf"(?:\s(?:lol|lmao|xd|(?:ha){{2,}}|(?:ja){{2,}}|thanks|thx|ta|asap|eh)|{EMOJI}|\s)+[.!]*$",
    _I,
)
_ALL_OF = LazyPattern(
    r"^(?:anything|everything|whatever|todo)(?: lo que| that)? (?:you|sepas|sabes|tengas|tienes"
    r"|recuerdes)(?: (?:know|have|hold|remember|keep))?(?: stored)? (?:about|on|of|del?|sobre) "
    r"(?P<topic>[^,]+?),? (?:can go|should go|must go|has to go|i want (?:it|that) gone|in the bin"
    r"|al olvido|a la basura|fuera|que desaparezca)\b.*$"
    r"|^del? (?P<trace>[^,]+?) no (?:quiero que )?(?:quede|dejes|quedes? con|(?:guard|recuerd"
    r"|conserv)es|sepas|tengas)"
    r" (?:ni )?(?:rastro"
    r"|nada)\b.*$"
    r"|^(?:no quiero|prefiero) que (?:no )?qued\w+ (?:ning[uú]n )?(?:registro|constancia|rastro"
    r"|nada) (?:del?|sobre) (?P<record>[^,]+)(?:,.*)?$"
    r"|^que (?P<unkept>[^,]+?) no quede (?:guardad[oa]|registrad[oa]|anotad[oa])\b.*$"
    r"|^i (?:do(?:n['’]?t| not)) want (?:anything|things|stuff|that|any of that|what i said)"
    r" (?:about|on) (?P<wish>[^,]+?) (?:kept|stored|saved|remembered|recorded|on record"
    r"|in there)\b.*$"
    r"|^i(?:['’]d| would) (?:rather|prefer(?: it if)?) (?P<listed>(?:my|the|that) [^,]+?) (?:were"
    r"|was)(?:n['’]?t| not) (?:on|in) (?:your|the) (?:list|memory|notes|records|files?)\b.*$"
    r"|^nothing (?:about|on|of) (?P<nothing>[^,]+?) (?:should|must|may|can|is to) (?:stay|remain"
    r"|be (?:kept|stored|saved|left))\b.*$"
    r"|^you (?:did(?:n['’]?t| not)|never) (?:hear|heard|get|got) (?P<heard>(?!(?:it|this"
    r"|that) from\b)[^,]+?) from me\b.*$"
    rf"|^(?:keep|leave) (?P<out>(?:the|that|this) (?:\w+ )?(?:{_FILLER}) (?:about|with) [^,]+?)"
    r" out of (?:it|this|that|there|your \w+)\b.*$"
    rf"|^(?:i want "
    rf"|quiero )?(?P<gone>(?={_WHAT_WAS_SAID})[^,.!?]{{3,60}}?)(?<!['’]s)(?<! is)(?<! are)"
    r"(?<! was)(?<! has)(?<! have)(?<! been)(?<! got)(?<! est[aá])(?<! ha)(?: ?[-–—,:])?"
    r" (?:gone|deleted|erased|wiped|forgotten|fuera|borrad[oa]s?|olvidad[oa]s?|eliminad[oa]s?)"
    r"(?: please| now| por favor| ya)*(?:, (?:que|por|porque|because|since|so) [^.]*)?$"
    r"|^no me (?:parece|gusta|agrada|conviene|hace)(?: [\w]+){0,2} que (?:lo )?(?:tengas?|guardes?"
    r"|sepas?|recuerdes?|conserves?|tuvieras?) (?P<disliked>[^,.;]+)(?:[,.;].*)?$"
    r"|^i(?:['’]m| am)(?: not| n['’]t) (?:\w+ )?(?:comfortable|happy|keen|easy)"
    r"(?: with| about| on)? you (?:having|keeping|knowing|storing|holding(?: on to)?|remembering)"
    r" (?P<uneasy>[^,.;]+)(?:[,.;].*)?$",
    _I,
)
"""`Anything you know about Ann can go`, `de Ana no quiero que quede ni rastro`."""
_PRETEND = LazyPattern(
    r"^(?:let['’]?s |can we )?(?:act|pretend|behave|haz|hagamos|act[uú]a|finge)\b.{0,20}?"
    r"\b(?:never|not|no|nunca|[\w]+n['’]t)\b.{0,30}?"
    r"\b(?:told|said|mentioned|gave|given|shared|d(?:icho|ije|ado)|contado|cont[eé]|mencionado"
    r"|hablado|habl[eé])(?: (?:you|te))?(?: (?:anything|nada))?"
    r"(?: (?:about|of|de|sobre))? (?P<topic>.+)$",
    _I,
)
_UNTOLD = LazyPattern(
    r"^(?:(?:so|as[ií] que|y|and) )?(?:haz|hag[ae]mos|act[uú]a|finge|act|pretend|behave)\b.{0,15}?"
    r"\b(?:no|nunca|never|not|\w+n['’]t) (?:te |l[ao] )?(?:he |has |hubieras? )?(?:dij|dich|cont"
    r"|o[ií]d|sab|said|told|heard|knew)\w*",
    _I,
)
"""`Pretend I never told you`, behind what is meant."""
_NAMED = LazyPattern(
    r"\b(?i:my|our|mi|nuestr[oa]) (?P<noun>\w+)(?:(?: is|['’]s| es)?(?: called| named)?| se llama)"
    r" (?P<name>[A-ZÀ-Þ]\w+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """Request of a message to forget something."""

    topic: str
    """Words of what is to be forgotten; empty: what was said last."""
    is_all: bool
    """Everything that matches, instead of one thing."""
    is_everything: bool = False
    """It says so: `everything about …`."""
    is_statement: bool = False
    """The topic is what the message tells, and does not want remembered: only what says the same is
    meant."""
    kept: str = ""
    """Words of what is not to be forgotten."""
    is_explicit: bool = True
    """It can only mean the memory; `delete my last email` may also be meant for a tool."""
    by_pronoun: bool = False
    """It means `it` or `that`: if nothing known has the words of the topic, what was said last."""
    is_loose: bool = False
    """The topic is all that the message tells beside the request: what has most of it is meant."""


def read_forget_request(text: str) -> ForgetRequest | None:
    """The request that a message makes; None if it makes none, like `don't forget that …`."""
    whole = _normalized(text)
    unquoted = _QUOTED.sub(" ", whole)
    if _SAID_TO_OTHERS.search(whole) or (unquoted != whole and not read_forget_request(unquoted)):
        return None
    plain = _read_plain_request(whole)
    return plain.request if plain else next(iter(_implied_requests(whole)), None)


def asks_to_forget_all(text: str, *, has_tools: bool) -> bool:
    """Check whether a message asks to forget everything about its writer: `delete all you know
    about me`, `olvídate de mí`. `has_tools`: `erase everything` may be meant for one."""
    text = _normalized(text).strip(" .!?¿¡")
    is_for_tool = has_tools and _ERASE_ALL.match(text)
    return not is_for_tool and bool(_FORGET_ALL.match(text))


_ERASE_ALL = LazyPattern(
    r"(?:(?:please|can you|could you|por favor|puedes) )*(?!forget|olv)\w+(?: out)?"
    r" (?:absolutely |absolutamente )?(?:all|everything|all of it|todo)"
    r"(?:,? (?:please|pls|now|por favor|porfa|ya))*$",
    _I,
)


_KNOWN_TO_YOU = (
    r"(?: (?:that )?(?:you(?:['’]ve| have)? (?:know|have|remember|got|stor\w+|sav\w+|learn\w*"
    r"|h[eo]ld|ke[ep]\w+)|i(?:['’]ve| have)? (?:ever )?(?:told|said)(?: to)?(?: you)?))?"
    r"(?: (?:stored|saved|on file|(?:in|from) your (?:memory|records|notes|database)))?"
)
_KNOWN_TO_YOU_ES = (
    r"(?: lo)?(?: que (?:sab[eé]s|sepas|ten[eé]s|tienes|tengas|record[aá]s|recuerdas|recuerdes"
    r"|guard[aá]s|guardes|has guardado|(?:yo )?te (?:he dicho|dije|he contado|cont[eé])))?"
)
_FORGET_ALL = LazyPattern(
    r"^(?:(?:hi|hey|ok(?:ay)?|please|pls|now|just|hola|oye|che|por favor|porfa|vale)[ ,]+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:['’]d| would)? (?:want|like) you to "
    r"|(?:puedes|podr[ií]as|quiero que|me gustar[ií]a que) )?"
    r"(?:(?:forget|delete|erase|wipe|remove|purge|clear|destroy|scrub)(?: out)? "
    rf"(?:(?:absolutely )?(?:all|everything|all of it){_KNOWN_TO_YOU}"
    r"(?: (?:about|on|of|regarding) (?:me|myself|us))?"
    r"|(?:all (?:of )?)?(?:my|your) (?:personal )?(?:data|memory|memories)(?: (?:of|about|on) me)?"
    r"|(?:all (?:of )?)?your (?:notes|records|memory|memories) (?:of|about|on) me"
    r"|me(?: completely| entirely|,? (?:from|out of) your (?:memory|records|notes))?)"
    r"|(?:olv[ií]d|b[oó]rr|elim[ií]n|suprim)[aeá]\w* "
    rf"(?:(?:absolutamente )?(?:(?:de )?todo){_KNOWN_TO_YOU_ES}(?: (?:sobre|de|acerca de) m[ií])?"
    r"|tod[oa]s? (?:mis|tus) (?:datos|recuerdos|memorias)(?: (?:sobre|de) m[ií])?|mis datos"
    r"|(?:toda )?(?:mi|tu) memoria(?: (?:sobre|de) m[ií])?"
    r"|(?:por completo )?de m[ií](?: por completo)?)"
    r"|b[oó]rra(?:me|nos) de (?:tu memoria|tus (?:notas|registros)))"
    r"(?:,? (?:please|pls|now|right now|thanks|por favor|porfa|gracias|ya))*$",
    _I,
)


def _normalized(text: str) -> str:
    return plain_spanish(spelled_out(" ".join(text[:MAX_CHARS].split())))


def _read_plain_request(text: str) -> _Found | None:
    """Find the request of a text that begins with its verb, or is one of the sentences that ask for
    it; None for another text."""
    text = _AGREED.sub("", _LAUGHS.sub("", _SECOND_THOUGHT.sub("", text))).strip(" .!¿¡")
    if text.endswith("?") and not _POLITE.match(text):
        return None
    if told := told_off_the_record(text):
        return _Found(ForgetRequest(topic=told, is_all=True, is_statement=True))
    bare = text[lead_in_end(text) :]
    if _NEVER_SAID.match(bare):
        return _Found(ForgetRequest(topic="", is_all=True))
    if topic := _topic_of_sentence(bare):
        return _Found(ForgetRequest(topic=topic, is_all=True))
    parts = _PARTS.split(text)
    requests = (
        _request_of_part(part, ", ".join(parts[:number]), parts[number + 1 :], text)
        for number, part in enumerate(parts)
    )
    return next((one for one in requests if one), None)


def implied_requests(text: str) -> list[ForgetRequest]:
    """Readings of a message as a request in any other form: something is to leave the memory, or is
    not to be in it. What is meant are the words of the clause that asks, or else all words of the
    message. The first MAX_CHARS are read."""
    return _implied_requests(_normalized(text))


def _implied_requests(text: str) -> list[ForgetRequest]:
    if _NOT_IMPLIED.search(text):
        return []
    forms = _forms()
    parts = [part for one in _CLAUSES.split(text) if (part := one.rstrip(" .!…"))]
    asking = [
        part
        for (is_task, before), part in zip(_tasks_before(parts), parts, strict=True)
        if any(one.search(part) for one in forms.asking)
        and not (is_task and not _ADDRESSED.search(part))
        and not (_TO_OTHERS.search(part) or _INTRODUCES_SPEECH.search(before))
    ]
    if not asking:
        return []
    spared = [part for part in parts if part not in asking and _MAY_STAY.search(part)]
    others = [
        part
        for part in parts
        if part not in spared and (part in asking or not _REASON_ONLY.search(part))
    ]
    named = [_named(found) for part in others if (found := _OUTRIGHT.search(part))]
    with_object = [part for part in asking if _OBJECT.search(part)]
    # Of what is named outright, nothing else is meant.
    topics = [_words_of_topic(one) for one in ([named] if named else [with_object, others])]
    request = ForgetRequest(
        topic="",
        kept=" ".join(forms.of_request.sub(" ", _MAY_STAY.sub(" ", part)) for part in spared),
        is_all=True,
        is_explicit=any(map(forms.of_memory.search, asking)),
        is_loose=True,
        by_pronoun=not named and any(map(_IT_OR_THAT.search, asking)),
    )
    return [replace(request, topic=one) for one in dict.fromkeys(topics) if one] or [request]


def _tasks_before(parts: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """For each clause the one before it, and whether it goes on with a list of the speaker's tasks:
    `I have to paint the hall, remove the old tiles, delete my old photos`."""
    is_task, before = False, ""
    for part in parts:
        is_task = bool(_TASKS.search(before)) or (is_task and not is_statement(before))
        yield is_task, before
        before = part


def _words_of_topic(parts: Sequence[str]) -> str:
    """Words of clauses that are none of a request; empty if they mean nothing in particular."""
    topic = " ".join(_WORD.findall(" ".join(_forms().of_request.sub(" ", one) for one in parts)))
    return topic if concepts_of(topic) - general() else ""


_OBJECT = LazyPattern(
    r"\b(?:the|my|our|his|her|their|that|this|el|la|los|las|mis?|del|nuestr[oa]s?|es[aeo]s?)"
    r" (?!(?:way|one|goes?|is|was|de|que|del)\b)[^\W\d_]{3}|(?<=\w )(?-i:[A-ZÀ-Þ])\w{2}",
    _I,
)
"""What a clause is about, with its article, or a name."""
_OUTRIGHT = LazyPattern(
    r"\b(?:lo|eso|esto) del? (?:que |l[aeo]s? )?(?P<matter>[^,.;!?]{3,60}?)"
    r"(?=,? (?:(?:ya |todav[ií]a |mejor )?(?:no|que no|me|se)|es|era|fue|sobra)\b|[,.;!?]|$)"
    r"|\b(?P<thing>(?:the|that|this) (?:(?!and\b|or\b|is\b|are\b|was\b|were\b)[\w'’-]+ ){1,4}?)"
    r"(?:thing|bit|part|stuff|business|comment|story)\b(?! (?:about|with|of))"
    r"|\b(?:bit|thing|part|stuff|comment|story|said|told you) (?:about|with)"
    r" (?P<about>[^,.;!?]{3,60}?)"
    r"(?=,? (?:was|is|were|are|isn|wasn)\b|[,.;!?]|$)",
    _I,
)
"""What was told, named as such: `lo de las pastillas`, `the cooking comment`."""

_SAID_TO_OTHERS = LazyPattern(
    r"^(?!(?:sorry|oops|please|hey|look|listen|perd[oó]na?|oye|mira|uy)\b)"
    r"(?-i:[A-ZÀ-Þ])\w+, (?:no |don['’]t )"
    r"|^[\w'’]+, (?:me|le|les|nos) (?:dij|dic|contest|grit)\w+"
    r"|, (?:me|le|les|nos) (?:dijo|dije|dice|digo|contest[oó]|grita|gritaba)\b"
    r"|, (?:i|he|she|they) says?\b"
    r"|, i (?:always )?tell (?:all |both )?(?:my|our|the|him|her|them)\b"
    r"|\b(?:said|say|told|tell|tells|scream\w*|shout\w*|yell\w*) (?:to )?(?:all )?"
    r"(?:him|her|them|(?:my|our|the) [\w'’]+)[,:]"
    r"|\b(?:les?|me|nos) (?:digo|dije|dice|dijo|decía|grita|gritaba)\b[^:,]*[:,]"
    r"|\b(?:dije|digo) a (?:mis?|la|el|los|las) [^:,]*[:,]"
    r"|\bolv[ií]dat?e de [^\W\d_]*[aei]r(?:se|te|lo|la)?\b",
    _I,
)
"""An order to another person: `Gael, no guardes los juguetes mojados`."""
_TASKS = LazyPattern(
    r"\b(?:i|we)(?:['’]ve)? (?:have|need|ought|got) to (?!ask you\b)|\b(?:tengo|tenemos|hay) que\b"
    r"|\bto[- ]?do(?: list)?:|\b(?:tareas|pendientes):",
    _I,
)
_ADDRESSED = LazyPattern(
    r"^(?:so|please|pls|can|could|would|will|as[ií] que|por favor|porfa|puedes|podr[ií]as)\b"
    r"|\b(?:please|you|your|por favor|porfa|t[uú]|tus?)\b",
    _I,
)
"""Words of an order to the assistant, behind tasks of the speaker: `…, so please forget it`."""
_QUOTED = re.compile('[«"“][^«»"“”]*[»"”]')
_FORGET_IT = LazyPattern(r"(?:just )?(?:forget it|olv[ií]d[ae](?:te|lo)+)\b", _I)
_IT_OR_THAT = LazyPattern(
    r"\b(?:it|that|this)(?: please| pls| now|[.!]|$)|\b(?:eso|esto)\b(?! (?:del?|que)\b)"
    r"|\b(?:olv[ií]d|b[oó]rr|elim[ií]n|t[aá]ch|qu[ií]t|s[aá]c|desc[aá]rt|supr[ií]m)\w*l[ao]s?\b"
    r"|\bl[ao]s? (?:guard|qued|apunt|anot|conserv|sep|teng|record|recuerd)\w*$",
    _I,
)
"""The object of a request that only points to what was said."""
_POINTS_BACK = LazyPattern(
    r"\b(?:that|this|it|said|told|tell|mentioned|eso|esto|dije|dicho|cont[eé]|contado|contarlo)\b",
    _I,
)
"""A sentence before a request that may not name what is meant."""
_WORD = re.compile(r"[\w'’-]*\w")
_CLAUSES = LazyPattern(
    r"(?<=[.!?…])\s+|[;:]\s+|,\s+(?:(?:and|but|so|y|pero|as[ií] que) )?"
    r"|\s+(?:so(?! (?:kind|good))|but|pero|as[ií] que|conque) (?=\w)"
    r"|\s+and (?=(?:please|pls|she|he|they|the|must)\b)"
)


@dataclass(frozen=True, slots=True)
class _Forms:
    """The patterns of `forget_requests.toml`."""

    asking: tuple[LazyPattern, ...]
    """Forms of a request that something leaves the memory, or does not stay in it."""
    of_memory: LazyPattern
    of_request: LazyPattern
    """Words of such requests, which tell nothing of what is meant."""


@cache
def _forms() -> _Forms:
    table = read_table("forget_requests.toml")

    def filled(pattern: str) -> LazyPattern:
        # Patterns have lists of words in common; later lists are made of earlier ones.
        for name, words in reversed(table["WORDS"].items()):
            pattern = pattern.replace(f"{{{name}}}", f"(?:{'|'.join(words)})")
        return LazyPattern(pattern, _I)

    return _Forms(
        asking=tuple(filled(one["pattern"]) for one in table["requests"]),
        of_memory=filled(r"\b{MEMORY}(?!\w)|\bforget\b|\bolv[ií]d"),
        of_request=filled(table["OF_REQUEST"]),
    )


_INTRODUCES_SPEECH = LazyPattern(
    r"\b(?:says?|said|tells? (?:me|him|her|them)|told (?:me|him|her|them|the \w+)|to the \w+"
    r"|dice|dijo|digo|contest[oó]|gritaba|grita)$",
    _I,
)
"""The end of a clause that introduces the speech of another person."""
_TO_OTHERS = LazyPattern(
    r"\b(?:told|tells?|asked|asks|(?<!i )said|says?|saying|advised|begged|reckons|dijo|dice|dicen"
    r"|digo|pidi[oó]|pide|aconsej\w+|contest[oó]|gritaba|grita|escribi[oó]|wrote|texted)\b"
    r"(?! (?:you|te)\b)(?!.*\b(?:your|here|tu memoria)\b)"
    r"|^(?-i:[A-ZÀ-Þ])\w+, no\b",
    _I,
)
"""Speech of others, or to them."""
_NOT_IMPLIED = LazyPattern(
    r"\b(?:do(?:n['’]t| not)|never|can(?:no|['’])t|won['’]t|didn['’]t)\b.{0,25}\b(?:forget|delete"
    r"|erase|lose|slip your)\b|\bno (?:te|se|lo|la|me) (?:(?:lo|la) )?(?:olvid|borr)\w+"
    r"|\bhow (?:do|can) (?:people|you|we|i) (?:delete|remove|erase|wipe)\b|\bno hay manera\b"
    r"|\b(?:remember|save|write down|note) (?:that|this)\b"
    r"|\?\s*(?:(?:just|pues|bah),? )?(?:forget it|olv[ií]dal[ao])\b",
    _I,
)
"""The opposite of such a request, or a question how something is done."""
_MAY_STAY = LazyPattern(
    r"\b(?:can|may) stay\b|\bfine to (?:remember|keep)\b"
    r"|\b(?:is|are) (?:fine|ok(?:ay)?|no problem)\b|\b(?:no me importa|i don['’]?t mind)$"
    r"|^(?:keep|remember|leave) |\bhang on to\b|\bhold on to\b|\bby all means\b"
    r"|\bno hay problema\b|\bqu[eé]date con\b|\b(?:d[eé]jal[ao]|dejal[ao])\b|\bno me importa que\b"
    r"|\b(?:puedes?|pod[eé]s) (?:guardar|quedarte|recordar)\b|^(?:guarda|recuerda|conserva) "
    r"|\bs[ií] (?:puede|pueden|que puede) (?:quedar|seguir|estar)\w*"
    r"|\b(?:is|are|['’]s|['’]ll be|will be) (?:quite |more than )?enough\b"
    r"|\bte (?:basta|sobra con)\b"
    r"|\b(?:con|cn) .{3,20} (?:basta|(?:es|tienes) (?:suficiente|bastante))\b",
    _I,
)
"""A clause about what is to be kept."""
_REASON_ONLY = LazyPattern(
    r"\b(?:reads?|uses?|shares?|sees?|checks?|looks?|coge|lee|usan?|mira|comparte|ve)\b.*\b(?:phone"
    r"|tablet|account|computer|laptop|chat|screen|m[oó]vil|tel[eé]fono|celular|tableta|cuenta"
    r"|ordenador|pantalla|todo)\b",
    _I,
)
"""The reason of a request: others can read the conversation."""
_TO_SPEAKER = LazyPattern(r"\b(?:me|us|mine|nos|m[ií][oa])\b", _I)
_OF_ANYTHING = frozenset({"number"})
"""Concepts of what many things have, which do not tell which thing is meant."""
MIN_CLOSEST = 1.0
"""Minimum points of what a request in other forms means: a concept, or the same word."""


def closest(topic: str, statements: Sequence[str]) -> list[int]:
    """Indices of the statements with most of the concepts of a topic; several if they have as
    many. A day counts only if the topic names nothing else."""
    dates = {kind: typed_values(topic).get(kind, ()) for kind in (ValueType.DAY, ValueType.TIME)}
    undated = outside(topic, dates)
    topic = undated if concepts_of(undated) - general() else topic
    wanted, stems, beginnings = concepts_of(topic) - general(), stems_of(topic), _stems(topic)
    # "My year of birth" is not that of my wife.
    is_own = bool(OF_OWN.match(topic)) and not concepts_of(topic) & kin()
    points = [
        len(wanted & features(one).concepts)
        + len(stems & stems_of(one)) / 2
        + len(beginnings & _stems(one)) / 2
        if not (is_own and _is_of_being(one) and not _TO_SPEAKER.search(one))
        and not _is_other_number(topic, one)
        else 0.0
        for one in statements
    ]
    best = max(points, default=0.0)
    return [number for number, one in enumerate(points) if one == best and best >= MIN_CLOSEST]


@dataclass(frozen=True, slots=True)
class _Found:
    """Result of reading a part of a message. `request`: None if it turns out to ask for nothing."""

    request: ForgetRequest | None


def _request_of_part(part: str, before: str, behind: Sequence[str], text: str) -> _Found | None:
    """The request in a part of a message (`text`); None if it has no verb of one."""
    bare = part[lead_in_end(part) :]
    if _TASKS.search(before) and not _ADDRESSED.search(part):
        return None
    if found := _BEHIND.match(bare):
        topic = _INTRODUCTION.sub("", _named(found))
        return _Found(ForgetRequest(topic=topic, is_all=True))
    if behind and _NONE_OF_YOURS.match(bare):
        return _Found(ForgetRequest(topic=", ".join(behind), is_all=True))
    if before and (_UNTOLD.match(bare) or _is_order_behind(before, bare)):
        return _Found(ForgetRequest(topic=_named_before(before), is_all=True))
    if found := _REQUEST.match(bare) or _of_regret(bare, before):
        rest = ", ".join([_named(found), *behind]).strip(" .!?,")
        request = _request(rest, before, is_explicit=bool(_EXPLICIT.search(text)))
        if request and _FORGET_IT.match(bare):
            # "A ticket? Forget it, they are sold out" is not about what was said last.
            request = replace(request, by_pronoun=False)
        return _Found(request)
    return None


def _is_order_behind(before: str, text: str) -> bool:
    """Check whether a text only orders to forget what the words before it name: `no quiere que se
    sepa lo del cáncer, sácalo`, `el préstamo ya fue, que no conste`."""
    is_told = bool(_LO_DE.search(before)) and bool(_TAKE_IT_OUT.match(text))
    return is_told or bool(_NOT_TO_STAY.match(text))


_TAKE_IT_OUT = LazyPattern(
    r"(?:s[aá]ca|qu[ií]ta|b[oó]rra|supr[ií]me|elim[ií]na|olv[ií]da|t[aá]cha)(?:me|te)?l[ao]s?$", _I
)
_NOT_TO_STAY = LazyPattern(r"que no (?:quede|conste|aparezca)$", _I)
_NONE_OF_YOURS = LazyPattern(
    r"^(?:that|it)['’]?s (?:none|not any) of your (?:business|concern)(?: any ?more| now)?$", _I
)
"""`That's none of your business any more, where my ex lives`."""


def _of_regret(text: str, before: str) -> re.Match[str] | None:
    """The request of `can you bin that` behind `I wish I hadn't told you about Ann`."""
    return _BIN_IT.match(text) if _REGRETS.search(before) else None


def _topic_of_sentence(text: str) -> str:
    """The topic of a request that is a whole sentence without an order to forget; empty if a text
    is none."""
    found = _PRETEND.match(text) or _NOT_YOURS.match(text) or _ALL_OF.match(text)
    return _INTRODUCTION.sub("", _REASON.sub("", _named(found).rstrip(" ?"))) if found else ""


def _named(found: re.Match[str]) -> str:
    """The one group of a match that has a text; empty if none has."""
    return next((one for one in found.groups() if one), "")


def _request(rest: str, before: str, *, is_explicit: bool) -> ForgetRequest | None:
    """The request with the words behind its verb, and those of the sentences before it."""
    head, _, behind = rest.partition(",")
    if _tells_again(head.strip(), behind.strip()):
        return None
    if _IT.match(head.strip()) and (private := _PRIVATE.match(behind.strip())):
        topic = _INTRODUCTION.sub("", private["topic"])
        return ForgetRequest(topic=topic, is_all=True, is_explicit=is_explicit)
    rest = _ANYWHERE.sub("", _OF_MEMORY.sub("", rest)) or "it"
    kept = found["kept"] if (found := _KEPT.search(rest)) else ""
    rest = _KEPT.sub("", rest)
    rest = _without_reason(rest)
    if _ABOUT_THEM.search(rest) and (name := _CAPITAL.search(before)):
        rest = name[0]
    if _IT.match(rest) and before:
        return ForgetRequest(
            topic=_named_before(before),
            is_all=True,
            by_pronoun=bool(_POINTS_BACK.search(before)),
            is_explicit=is_explicit,
        )
    if _ELLIPTIC.match(rest) and before:
        rest = _ELLIPTIC.sub(f"{before.split()[-1]} ", rest)
    if _IDIOM.match(rest):
        return None
    if _LAST.match(rest):
        return ForgetRequest(topic="", is_all=True)
    is_all = bool(_ALL_ABOUT.match(rest))
    topic = _INTRODUCTION.sub("", rest) if is_all else _THAT.sub("", rest)
    return ForgetRequest(
        topic=re.sub(r"^a (?=mi\b|[A-ZÀ-Þ])", "", topic.strip(" ?")) or rest,
        kept=kept,
        is_all=is_all,
        is_everything=bool(_EVERYTHING.match(rest)),
        is_explicit=is_explicit,
    )


def _without_reason(rest: str) -> str:
    """The topic of a request, without its reason and what stands before that: `… from your notes,
    it's private`."""
    return rest if _APPOSITION.match(rest) else _REASON.sub("", _REASON.sub("", rest))


def _named_before(said: str) -> str:
    """The topic of a sentence before the request to forget `it`; empty: what was said last."""
    if _LAST.match(said):
        # "That last thing I told you, please forget it".
        return ""
    # "The e-mail is enough, the phone number I don't like you to have: remove it".
    said = ", ".join(one for one in _CLAUSES.split(said) if not _MAY_STAY.search(one)) or said
    said = _CONFIDED.sub("", said).strip(" .,")
    if told := _TOLD_YOU.search(said):
        return told["topic"].strip()
    if _SEE_NO_MORE.search(said) and (name := _CAPITAL.search(said)):
        # "I don't want to see the name Sid ever again, get him out of your notes".
        return name[0]
    if about := _OUTRIGHT.search(said):
        return _JUDGEMENT.sub("", _named(about)).strip()
    # "That about Kate was confidential, please wipe it".
    named = _JUDGEMENT.sub("", said)
    bare = _INTRODUCTION.sub("", named)
    # "What I earn is none of your business": the verb alone does not tell it.
    return _REASON.sub("", (named if _WHAT_I.search(named) else bare).strip())


_WHAT_I = LazyPattern(r"\b(?:what i|lo que) \w+\s*$", _I)
_CONFIDED = LazyPattern(
    r"\b(?:(?:stay|is|was|just|only|strictly) )*between (?:me|us) and [^,.;!?]+"
    r"|\bentre [^,.;!?]+ y yo\b",
    _I,
)
"""Who else may know it: `could my medication stay between me and Dr Lomax`."""
_INSTEAD = LazyPattern(r"\b(?:instead|en (?:su lugar|vez de eso)|en cambio)\b", _I)


def _tells_again(head: str, behind: str) -> bool:
    """Check whether a request corrects what was said: `forget that, it's on Friday`, `scrap the
    player bit, my favourite player is Ann`."""
    if _KEPT.match(f", {behind}"):
        # "Forget what I said about Tom, but not what I said about Tim".
        return False
    if _IT.match(head) and (typed_values(behind) or is_changed(behind)):
        return True
    if _INSTEAD.search(behind) and any(map(is_statement, _PARTS.split(behind))):
        # "Scrap Crete, too hot, we've booked Norway instead".
        return True
    named = (concepts_of(head) - general()) | stems_of(head)
    is_told = bool(typed_values(behind)) and is_statement(behind)
    return is_told and bool(named & (concepts_of(behind) | stems_of(behind)))


def several_topics(topic: str) -> list[str]:
    """The things that a topic names: `my phone number and my address`."""
    return [part for part in _AND.split(topic) if part]


def spared(request: ForgetRequest, statements: Sequence[str]) -> list[int]:
    """Indices of the statements that the request wants to keep."""
    if not request.kept:
        return []
    if _DATE.match(request.kept):
        return [number for number, one in enumerate(statements) if _is_dated(one)]
    return matching(request.kept, statements)


def _is_dated(statement: str) -> bool:
    return bool({ValueType.DAY, ValueType.TIME} & set(typed_values(statement)))


def matching(topic: str, statements: Sequence[str], *, with_mentions: bool = False) -> list[int]:
    """Indices of the statements that the topic means, the closest only. `with_mentions`: also those
    that only mention it: `I owe Alun £300` for `Alun`."""
    wanted = concepts_of(topic)
    specific = wanted - general() or wanted
    if not wanted:
        return []
    beings = features(topic).beings
    is_own = not beings and bool(_OWN_STATE.search(topic))
    possible = {
        number: one
        for number, one in enumerate(statements)
        if not (_is_of_another(topic, one) or _is_other_number(topic, one))
    }
    covered = [
        (len(specific & features(one).concepts) / len(specific), number)
        for number, one in possible.items()
        if beings <= features(one).beings | features(one).concepts
        and not (is_own and _is_of_being(one))
    ]
    best = max((share for share, _ in covered), default=0.0)
    found = [number for share, number in covered if share >= MIN_COVERAGE and share == best]
    if OF_OWN.match(topic):
        # "My cell number" is not Dana's, but "the Spotify password" may be "my password".
        own = (
            one for one in found if OF_OWN.match(statements[one]) or not owner_of(statements[one])
        )
        found = [*own] or found
    # "The depression" is not the asthma, which is an illness, too.
    words = stems_of(topic)
    said = [number for number in found if words & stems_of(statements[number])]
    found = said or [number for number in found if best == 1]
    if wanted & _PAYS:
        found = _with_numbers(found, possible)
    # "That I take iron" is not said by "I take aspirin".
    found = [number for number in found if words <= stems_of(statements[number])] or found
    # "What I earn" is the salary rather than the bonus that is paid in April.
    named = [number for number in found if specific & _subject_concepts(statements[number])]
    if not found and specific & SECRETS and specific - SECRETS:
        # "The wifi password" is what "the wifi at mum's is …" tells.
        found = [
            number
            for number, one in enumerate(statements)
            if specific - SECRETS <= _subject_concepts(one)
        ]
    if not found and "address" in specific <= {"address", "home"}:
        found = [number for number, one in enumerate(statements) if tells_own_home(one)]
    if is_noun_phrase(topic) and topic[:1].isupper():
        named = found = [*found, *_of_same_role(found, topic, statements)]
    if len(found) > 1 and len(specific) > 1:
        # "The loan to Walter" is not Walter's job.
        near = closest(topic, statements)
        found = [number for number in found if number in near] or found
    akin = _akin(topic, statements) if not found else []
    akin = [number for number in akin if number in possible]
    return (not with_mentions and [one for one in named if one in found]) or found or akin


def _of_same_role(found: Sequence[int], name: str, statements: Sequence[str]) -> list[int]:
    """Indices of the statements about the role of a being if a found one tells the name with that
    role: `my ex lives in Palermo` beside `my ex is called Leandro`."""
    roles = {
        leading.text.lower()
        for number in found
        if (leading := leading_noun(statements[number])) and name not in leading.text
    }
    return [
        number
        for number, one in enumerate(statements)
        if number not in found
        and (leading := leading_noun(one))
        and OF_OWN.match(leading.text)
        and leading.text.lower() in roles
    ]


def _with_numbers(found: Sequence[int], statements: Mapping[int, str]) -> list[int]:
    """Found statements with a number (`what the lodger pays` is not the lodger's name); if none
    is found, the only one with an amount of money."""
    numbered = [one for one in found if ValueType.NUMBER in typed_values(statements[one])]
    priced = [number for number, one in statements.items() if _PRICED.search(one)]
    return numbered or [*found] or (priced if len(priced) == 1 else [])


_PRICED = LazyPattern(r"[£$€] ?\d|\b\d[\d.,]* ?(?:euros?|d[oó]lares|pesos|pounds?|quid|€)", _I)
_PAYS = frozenset({"price", "money", "salary"})


def _is_of_another(topic: str, statement: str) -> bool:
    """Check whether a topic is a thing of the speaker or of a being (`my dog`, `my husband's
    number`, `where Ana works`), and a statement tells that of another one (`my daughter's dog is
    called Rex`)."""
    owner = owner_of(f"{topic} is") or _doer_in(topic)
    head = _OF_THING.split(topic, maxsplit=1)[0]
    if not owner and OF_OWN.match(topic) and concepts_of(head) & kin():
        # "My ex" may be told of by her name, "my dog" is not my daughter's.
        other = owner_of(statement)
        return bool(other) and not other & value_key(topic)
    owner, bearer = owner or bearer_of(f"{topic} is"), bearer_of(statement)
    if not owner or not bearer or owner & bearer:
        return False
    named = value_key(statement) - bearer
    if owner != SPEAKER and OF_OWN.match(statement) and (bearer - owner) & value_key(topic):
        # "My doctor is Dr Hill" is not of "Ana's doctor".
        return not owner & named
    return not owner & named and not (bearer - SPEAKER) & value_key(topic)


_OF_THING = LazyPattern(r" (?:with|at|for|con|en|para) ")


def _doer_in(topic: str) -> frozenset[str]:
    """Words for the being that does what a topic asks for: `where my sister lives`, `el número que
    calza Ana`, `lo que gano`; none if it names no such thing."""
    found = _DONE_BY.match(topic)
    if not found:
        return frozenset()
    named = found["name"] or found["name2"]
    return key_of_being(named) if named else SPEAKER


_DONE_BY = LazyPattern(
    rf"(?:where|what|when|who|how(?: \w+)?|which \w+) (?:(?:i|we)\b|(?P<name>{BEARER}))"
    r"(?:['’]m|['’]s)? [\w-]+"
    r"|(?:d[oó]nde|qu[eé]|cu[aá]ndo|cu[aá]nt[oa]s?|c[oó]mo|lo que|(?:el|la|los|las) \w+ que) "
    rf"(?:(?:me )?(?:soy|estoy|voy|[^\W\d_]{{3,}}o)$|{DOES_SPANISH} (?P<name2>{BEARER})$)",
    _I,
)


def _is_other_number(topic: str, statement: str) -> bool:
    """Check whether a statement tells the number of something else (`the card number`: not that of
    the locker), or the password of the wifi, and a topic is a PIN, or a password of something else
    (`my bank password`)."""
    wanted, known = concepts_of(topic) - general(), features(statement).concepts
    if wanted & known == _OF_ANYTHING < wanted:
        return True
    is_of_thing = any(map(is_concept, wanted - SECRETS))
    is_secret = bool(wanted & SECRETS) and ("pin" in wanted or is_of_thing)
    return is_secret and "wifi" in known - wanted


_OWN_STATE = LazyPattern(
    r"\b(?:where|what|how much|d[oó]nde|qu[eé]|cu[aá]nto) (?:i|we|vivo|trabajo|gano|cobro|peso)\b",
    _I,
)
"""Clauses about what the speaker does: `where I live` is not where an aunt does."""


def _is_of_being(statement: str) -> bool:
    subject = leading_noun(statement)
    return subject is not None and subject.is_being


def names_more(topic: str, statements: Sequence[str]) -> bool:
    """Check whether a topic names something that none of the statements has: of `Frank being in
    prison`, they only tell of Frank."""
    told = concepts_of(" ".join(statements))
    named = (concepts_of(one) for one in split_words(topic))
    return any(not one & told for one in named if one - general())


def without_part(topic: str, statement: str) -> tuple[str, str]:
    """A statement without the number, address, code or price that a request means, and that part:
    `my landlord is Mr Ross`, `his number is 555 0101`. Empty if it tells nothing else."""
    part = _PRICE_ASIDE.search(statement) if _OF_PRICE.search(topic) else None
    if _OF_PART.search(topic):
        asked = concepts_of(topic) & _PARTS_OF or _PARTS_OF
        every = _TOLD_ASIDE.finditer(statement)
        part = next((one for one in every if concepts_of(one["part"]) & asked), None)
    if not part:
        return "", ""
    rest = f"{statement[: part.start()]}{statement[part.end() :]}".strip(" ,;")
    is_told = len(rest.split()) >= MIN_REST_WORDS
    return (rest[:1].upper() + rest[1:], part["part"]) if is_told else ("", "")


_OF_PART = LazyPattern(
    r"\b(?:number|phone|mobile|e-?mail|address|code|pin|password|keypad|digits|combination|n[uú]mero"
    r"|tel[eé]fono|m[oó]vil|correo|direcci[oó]n|c[oó]digo|clave|contrase[ñn]a)\b",
    _I,
)
_PARTS_OF = frozenset({"address", "code", "email", "number", "password", "phone", "pin"})
_TOLD_ASIDE = LazyPattern(
    r"(?:[,;]| and| y) (?P<part>"
    r"(?:(?:his|her|its|their|the|my|our|su|el|la|mi) )?(?:[\w'’-]+ ){0,2}?"
    r"(?:number|phone|mobile|e-?mail|address|code|pin|password|keypad|combination|n[uú]mero"
    r"|tel[eé]fono|m[oó]vil|correo"
    r"|direcci[oó]n|c[oó]digo|clave|contrase[ñn]a)(?:['’]s| is| es|:)? [^,;]+"
    r"|[\w.+-]+@[\w.-]+\w|\+?\d[\d ]{5,}\d)(?=$|[,;.]| and | y )",
    _I,
)
"""A number, an address or a code behind what else a statement tells."""
_OF_PRICE = LazyPattern(
    r"\b(?:rent|price|cost|salary|wages?|pay|mortgage|alquiler|renta|sueldo|salario|precio|hipoteca"
    r"|cobro|pago)\b",
    _I,
)
_PRICE_ASIDE = LazyPattern(
    r"(?:[,;]| and| y) (?P<part>(?:(?:i|we) (?:pay|earn|make) |(?:cobro|pago|pagamos|gano) )?"
    r"(?:[£$€] ?\d[\d.,]*|\d[\d.,]* ?(?:€|euros?|pounds?|quid|dollars?)|\d[\d.,]*(?= (?:a|per"
    r"|al|por"
    r"|each) ))(?: (?:a|per|al|por) (?:month|week|year|hour|mes|semana|a[ñn]o|hora))?)"
    r"(?=$|[,;.]| and | y )",
    _I,
)
"""A price behind what else a statement tells: `I live in Hull, £600 a month`."""
MIN_REST_WORDS = 3
"""Minimum length in words of what is left of a statement."""


def _akin(topic: str, statements: Sequence[str]) -> list[int]:
    """Indices of the statements with another form of a word of the topic: `ronquidos`, `ronca`."""
    wanted = _stems(topic)
    return [number for number, one in enumerate(statements) if wanted & _stems(one)]


def _stems(text: str) -> frozenset[str]:
    """Beginnings of the longer words, with one letter for each sound."""
    words = (re.sub("qu|z", "c", strip_accents(word)) for word in split_words(text))
    return frozenset(
        word[:STEM_CHARS] for word in words if len(word) > STEM_CHARS and not is_function_word(word)
    )


def _subject_concepts(statement: str) -> frozenset[str]:
    """Concepts of the noun that a statement begins with: `my ex` in `my ex Ana lives in Rome`."""
    if subject := COPULA.match(statement):
        return concepts_of(subject["noun"])
    if being := _NAMED.match(statement):
        return concepts_of(f"{being['noun']} {being['name']}")
    first = leading_noun(statement)
    return concepts_of(first.text) if first else frozenset()


_OF_MANY = frozenset({
    "clothes", "health", "illness", "injury", "instrument", "medicine", "plant", "symptom",
})  # fmt: skip
"""Concepts of many different things: depression is not asthma."""
_THIRD_PERSON = LazyPattern(r"\b(?:the user|el usuario|la usuaria)\b", _I)


def mentions(statement: str, text: str) -> bool:
    """Check whether a text says what a statement says: most of its concepts, in any words."""
    return bool(mentioning([statement], [text]))


def mentioning(
    statements: Sequence[str], texts: Sequence[str], *, least: float | None = None
) -> list[int]:
    """Indices of the texts that say what one of the statements says: a share of its concepts of at
    least `least` (MIN_MENTIONED). Texts of any length are read completely, in about two
    milliseconds for 1000 characters."""
    share = MIN_MENTIONED if least is None else least
    bare = [_THIRD_PERSON.sub(" ", one) for one in statements]
    wanted = [(said, stems_of(one)) for one in bare if (said := concepts_of(one) - general())]
    found: list[int] = []
    for number, text in enumerate(texts):
        said, stems = concepts_of(text), stems_of(text)
        if any(
            len(one & said) >= share * len(one) and (words & stems or one & said - _OF_MANY)
            for one, words in wanted
        ):
            found.append(number)
    return found


def repeating(
    statements: Sequence[str], messages: Sequence[str], *, former: Sequence[str] = ()
) -> list[int]:
    """Indices of the messages of a person that say what one of the statements says, correct it
    (`it's Anna, not Ana`), or say what it has replaced, which would be believed again. `former`:
    statements that the messages may correct, of which no message is given."""
    told = [Statement(text=one, is_change=True) for one in statements]
    # "It's on the 28th" has no word of the statement that it changed.
    wanted = {one.strip(" .").casefold() for one in statements}
    known = [*former]
    # A statement can have words of another message: what its pronoun means, or the one before it.
    parts = [part for one in statements for part in NOTE.sub("", one).split("; ")]
    found = set(mentioning(parts, messages, least=MIN_REPEATED))
    for number, message in enumerate(messages):
        if len(message) > MAX_MESSAGE_CHARS:
            continue
        read = read_message(message, known)
        known = [*known, *(one.text for one in read.statements)][-MAX_EARLIER:]
        if number in found:
            continue
        is_source = any(one.text.casefold() in wanted for one in read.statements)
        earlier = read_message(message).statements
        if is_source or any(replaces(new, old.text) for new in told for old in earlier):
            found.add(number)
    return sorted(found)


def replaced_by(statement: str, other: str) -> bool:
    """Check whether `other` is a former value of the fact that a statement tells."""
    return replaces(Statement(text=statement, is_change=True), other)


def are_same(statement: str, other: str) -> bool:
    """Check whether two statements say the same, for instance a told and a learned form of it."""
    return mentions(statement, other) and mentions(other, statement)


def are_about_different_things(statements: Sequence[str]) -> bool:
    """Check whether statements are about several people, animals or things of one kind, for
    instance two brothers, or a red and a black bag."""
    names = {name for one in statements if (name := _name_of_being(one))}
    beings = {features(one).beings for one in statements}
    return (
        len(names) > 1
        or len(beings) > 1
        or any(are_two_of_a_kind(one, other) for one, other in combinations(statements, 2))
    )


_ONE_THING = LazyPattern(r"^(?:the|my|our|el|la|mi|nuestr[oa]) [\w-]+$", _I)


def means_one(topic: str, statements: Sequence[str]) -> bool:
    """Check whether a topic means one thing, and the statements, at least two, tell of several:
    `the trip` of two journeys, or what is on Friday."""
    types = values_of_part(topic)
    if (
        types
        and types.keys() <= {ValueType.DAY, ValueType.TIME}
        and not concepts_of(outside(topic, types)) - general()
    ):
        return True
    if not _ONE_THING.match(topic) or topic.endswith("s"):
        return False
    told = [
        (frozenset(filter(is_concept, features(one).topic)), value_key(one)) for one in statements
    ]
    return any(one[0] == other[0] and one[1] != other[1] for one, other in combinations(told, 2))


def _name_of_being(statement: str) -> str:
    """The noun and the name of a being of the speaker: `ex jason`; empty if there is no name."""
    named = _NAMED.search(statement)
    return f"{named['noun']} {named['name']}".lower() if named else ""
