"""Vocabulary: concepts of everyday facts (synonyms in English and Spanish) and typed values."""

# Patterns and lists of words are read best on long lines.
# ruff: noqa: E501, SIM905

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import ENGLISH, STOP_WORDS, split_words, stem_word, strip_accents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN_WORDS = 40
"""Maximum number of words of one concept in a search: the first ones are the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The contents of `concepts.toml`."""

    words: Mapping[str, tuple[str, ...]]
    concepts: Mapping[str, frozenset[str]]
    """The concepts of each word."""
    kin: frozenset[str]
    replaceable: frozenset[str]
    swap: str
    """Pattern of the verbs of a change from one thing to another."""
    events: tuple[tuple[LazyPattern, frozenset[str]], ...]
    sexes: Mapping[str, frozenset[str]]
    general: frozenset[str]
    classes: frozenset[str]
    things: frozenset[str]
    apart: frozenset[str]
    """Words that only look like a typo or another form of a word of the table."""


def read_table(name: str) -> dict[str, Any]:
    """The contents of a TOML file of this package."""
    # Imported here: importing the package must stay fast.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


@cache
def _table() -> _Table:
    read = read_table("concepts.toml")
    kinds = ("relations", "actions", "classes", "beings", "things")
    words = {
        concept: tuple(dict.fromkeys(listed.split()))
        for kind in kinds
        for concept, listed in read[kind].items()
    }
    concepts: dict[str, set[str]] = {}
    for concept, listed in words.items():
        for word in listed:
            concepts.setdefault(word, set()).add(concept)
    return _Table(
        words=words,
        concepts={word: frozenset(found) for word, found in concepts.items()},
        kin=frozenset(read["KIN"]),
        replaceable=frozenset(read["REPLACEABLE"]),
        swap="|".join(read["SWAP"]),
        events=tuple(
            (
                LazyPattern(rf"\b(?:{'|'.join(one['events'])})\b", re.IGNORECASE),
                frozenset(one["ends"]),
            )
            for one in read["events"]
        ),
        sexes={"female": frozenset(read["FEMALE"]), "male": frozenset(read["MALE"])},
        general=frozenset(read["GENERAL"]),
        classes=frozenset(read["classes"]),
        things=frozenset(read["things"]),
        apart=frozenset(read["APART"].split()),
    )


def kin() -> frozenset[str]:
    """Concepts that name another being: a statement about one is not about the speaker."""
    return _table().kin


@cache
def relatives() -> frozenset[str]:
    """Concepts of beings of which no other takes the place, as of a sister or a cousin."""
    return _table().kin - _table().replaceable


_SEX_OF_WORD = LazyPattern(
    r"\b\w*(?:(?P<female>daughter|mother|sister|girl|lass|woman|a)|(?P<male>son|father|brother|boy|lad"
    r"|man|o))\b(?! (?-i:[a-z]))",
    re.IGNORECASE,
)
"""Endings of the nouns of beings that are female or male: `stepson`, `nieta`."""


def sex_of(noun: str) -> str:
    """`female` or `male` for a noun of one sex (`my sister`); else empty."""
    concepts = concepts_of(noun)
    found = [sex for sex, members in _table().sexes.items() if members & concepts]
    if len(found) == 1:
        return found[0]
    word = _SEX_OF_WORD.search(noun) if concepts & kin() else None
    return str(word.lastgroup) if word else ""


def swap_verbs() -> str:
    """Pattern of the verbs of a change from one thing to another of its kind."""
    return _table().swap


def events() -> tuple[tuple[LazyPattern, frozenset[str]], ...]:
    """Expressions for events that end facts, and the concepts of those facts."""
    return _table().events


def general() -> frozenset[str]:
    """Concepts that include others: they match, but do not tell two things apart."""
    return _table().general


def is_concept(found: str) -> bool:
    """Check whether a member of `concepts_of` is a concept, not the stem of a word without one."""
    return found in _table().words


def things() -> frozenset[str]:
    """Concepts of single things, which tell as much as a name."""
    return _table().things


MIN_TYPO_CHARS = 6
"""Minimum length of a word in which a missing or wrong letter is tolerated."""


@cache
def _typos() -> Mapping[str, frozenset[str]]:
    """The known words with one letter missing."""
    typos: dict[str, frozenset[str]] = {}
    for word, found in _table().concepts.items():
        if len(word) >= MIN_TYPO_CHARS:
            for at in range(1, len(word)):
                typos.setdefault(word[:at] + word[at + 1 :], found)
    return typos


_PETS = r"(?:(?:dog|cat|puppy|kitten|bunny|pony|parrot|budgie|hamster|rabbit|tortoise|fish|goldfish|pet|guinea pig|perr[oa]|gat[oa]|cachorr[oa]|conej[oa]|tortuga|loro|p[aá]jaro|pez|pececito|mascota|cobaya|canario|periquito)(?:e?s)?|mouse|puppies)"
_CHILDREN = r"(?:kids?|children|son|daughter|boys?|girls?|baby|twins|little ones?|ni[ñn][oa]s?|hij[oa]s?|cr[ií][oa]s?|peques?|beb[eé]s?|nen[ea]s?)"
_OUR = r"(?:my|our|the|your) (?:\w+ )?"
_NUESTRO = (
    r"(?:al?|el|la|los|las|mis?|nuestr[oa]s?|de|del)(?: (?:el|la|los|las|mis?|nuestr[oa]s?))?"
)
_ROLES_BY_TASK = (
    (rf"\b(?:repairs|fixes|services|repair|fix|service|fixed|repaired|serviced) {_OUR}(?:car|van|motor(?:bike)?)\b|\b(?:arregl|repar)(?:a|an) (?:el|mi|la|nuestro) (?:coche|carro|auto|furgo\w*|moto)\b", "mechanic"),
    (rf"\b(?:does|doing|do|handles|keeps) {_OUR}(?:tax(?:es)?|accounts|books|bookkeeping|vat)\b|\blleva(?:n)? (?:las cuentas|los papeles|los libros|los impuestos|la contabilidad)|\bhace(?:n)? (?:la|los|el) (?:declaraci[oó]n|renta|contabilidad|impuestos|iva)\b", "accountant tax"),
    (rf"\b(?:who(?:['’]s)?|which \w+)\b.{{0,12}}\b(?:does|cleans|cleaning|do|doing) {_OUR}(?:cleaning|house|flat|home)\b|\bwho cleans\b|\bqui[eé]n(?:es)? (?:me |nos )?(?:limpia|hace la limpieza|viene a limpiar)|\b(?:se[ñn]ora|mujer|chica|persona) (?:de la limpieza|que (?:nos |me )?limpia)\b|\bcleaning (?:lady|woman)\b", "cleaner clean"),
    (rf"\b(?:mows|cuts|does|tends) {_OUR}(?:lawn|grass|garden|hedge)\b|\bwho(?:['’]s)? .{{0,20}}(?:lawn|garden)\b|\bcuida(?:n)? (?:el|mi|nuestro) jard[ií]n\b|\bcorta(?:n)? el (?:c[eé]sped|pasto)\b", "gardener lawn"),
    (rf"\bwho .{{0,12}}(?:treats?|treating|sees|looks? at|attends|vaccinates?|operat\w+) (?:\w+ )?{_OUR}{_PETS}|\bqui[eé]n (?:me )?(?:atiende|trata|cura|visita|vacuna|ve|oper[oóa]) {_NUESTRO} {_PETS}", "vet"),
    (rf"\bwho .{{0,12}}(?:teach(?:es)?|teaching|takes|has) {_OUR}{_CHILDREN}\b|\bqui[eé]n (?:le|les) da clases?\b", "teacher"),
    (rf"\b(?:minds|watches|babysits|babysit|mind|sits|minding|watching|looks? after|looking after) {_OUR}{_CHILDREN}\b|\b(?:cuida|vigila|se queda con)n? {_NUESTRO} {_CHILDREN}\b", "babysitter childcare"),
    (r"\b(?:looks?|looking|cares?|caring) (?:after|for) (?:my|our) (?:mum|mom|mother|dad|father|parents|gran\w*|nan\w*|aunt)\b|\bcuidan? (?:al?|de|del) mi (?:madre|padre|mam[aá]|pap[aá]|abuel[oa]|t[ií]a)\b|\bcuidan? de mis (?:padres|abuelos)\b", "carer"),
    (r"\b(?:fixes|fix|repairs|repair|unblocks?|sees to|fixed|repaired|sorts) (?:\w+ )?(?:the|our|my) (?:\w+ )?(?:taps?|pipes?|leak|toilet|sink|drains?|plumbing)\b|\b(?:arregl|repar|desatasc)\w+ (?:el|la|las|los) (?:grifos?|tuber[ií]as?|ca[ñn]er[ií]as?|fuga|desag[uü]e|v[aá]ter|inodoro|canilla)\b", "plumber"),
    (rf"\bwho .{{0,12}}(?:does|did|fix\w*|repair\w*) {_OUR}(?:electrics|wiring|lights)\b|\bqui[eé]n .{{0,12}}(?:arregl|hac|hiz)\w* (?:la luz|la instalaci[oó]n|los enchufes)", "electrician"),
    (r"\bwho (?:does|did|do) my nails\b|\bhace las u[ñn]as\b", "manicurist"),
    (r"\bwho .{0,12}(?:alter\w*|mends|takes? (?:up|in)) (?:my|our) \w+|\bqui[eé]n .{0,12}(?:cose|arregla) (?:la ropa|los (?:bajos|pantalones)|los vestidos)", "tailor"),
    (r"\bwho(?:['’]s| is)? (?:operat\w+) (?:on )?me\b|\bqui[eé]n me (?:oper[oóa]|va a operar)\b", "surgeon"),
    (r"\bwho .{0,12}(?:handles|handled|dealt with|deals with|does|did) (?:my|our|the) (?:divorce|conveyancing|will|case|legal)|\bqui[eé]n .{0,12}(?:llev\w+|defiend\w+) (?:el|mi) (?:divorcio|caso|juicio)", "lawyer"),
    (r"\bwho (?:do i|should i) (?:see|ring|go to) when i(?:['’]m| am) (?:ill|sick|unwell)\b|\bfamily doctor\b", "doctor"),
    (r"\bwho owns (?:the|our|my|this) (?:house|flat|place|home|apartment|building)\b|\bdue[ñn][oa] (?:del?|de (?:la|mi)) (?:piso|casa|depa\w*|apartamento)", "landlord rent"),
    (r"\b(?:rents?|renting|lets?) (?:our|the|my|a) (?:spare |back |little |upstairs )?(?:room|annexe?)\b|\balquil\w+ (?:la|una|nuestra) (?:habitaci[oó]n|pieza)\b", "lodger"),
    (r"\bnext[- ]door\b|\b(?:people|couple|family|man|woman|lady|guy|lad) (?:upstairs|downstairs|opposite|above us|below us)\b|\bwho lives (?:upstairs|downstairs|opposite|across|above|below)\b|\b(?:los|las|el|la) (?:de arriba|de abajo|de al lado|de enfrente|del (?:primero|segundo|tercero|cuarto|quinto|[aá]tico|bajo))\b|\bqui[eé]n(?:es)? viven? (?:arriba|abajo|al lado|enfrente|encima|debajo|puerta con puerta)\b", "neighbour"),
    (r"\bcomparto (?:departamento|depa|apartamento)\b|\bcompa[ñn]er[oa] de (?:piso|casa|cuarto|habitaci[oó]n|departamento|depa)\b|\broomies?\b", "roommate"),
    (r"\bborrow(?:ing)? (?:\w+ )?books\b|\b(?:sacar|tomar|saco) (?:prestados? )?libros\b", "library"),
)  # fmt: skip
"""Services that people do for others, with the concept of the provider: `who repairs my car?` asks for the
mechanic."""

_SPOUSE = r"(?:wife|husband|partner|spouse|missus|hubby|fianc[eé]e?|marido|mujer|espos[oa]|pareja|novi[oa])"
_OFFSPRING = r"(?:son|daughter|boy|girl|lad|eldest|youngest|hij[oa]|ni[ñn][oa])"


def _relatives() -> tuple[tuple[str, str], ...]:
    """Patterns of relatives that are told by another one: `my wife's dad`, `el padre de mi mujer`."""
    mother = ("mum|mom|mother|mummy", "madre|mam[aá]")
    father = ("dad|father|daddy", "padre|pap[aá]")
    parents = ("parents|folks", "padres|pap[aá]s")
    sister, brother = ("sister", "hermana"), ("brother", "hermano")
    wife, husband = ("wife", "mujer|esposa"), ("husband", "marido|esposo")
    boy, girl = ("son|boy|lad", "hijo|ni[ñn]o|nene"), ("daughter|girl|lass", "hija|ni[ñn]a|nena")
    children = ("kids?|children", "hijos|ni[ñn]os")
    spouse, offspring = (_SPOUSE, _SPOUSE), (_OFFSPRING, _OFFSPRING)
    sibling = (f"(?:{sister[0]}|{brother[0]})", "herman[oa]")
    parent = (f"(?:{mother[0]}|{father[0]})", f"(?:{mother[1]}|{father[1]})")
    of_relation = (
        (spouse, mother, "motherinlaw"),
        (spouse, father, "fatherinlaw"),
        (spouse, parents, "motherinlaw fatherinlaw"),
        (spouse, sister, "sisterinlaw"),
        (spouse, brother, "brotherinlaw"),
        (sibling, wife, "sisterinlaw"),
        (sibling, husband, "brotherinlaw"),
        (offspring, wife, "daughterinlaw"),
        (offspring, husband, "soninlaw"),
        (offspring, boy, "grandchild"),
        (offspring, girl, "grandchild"),
        (offspring, children, "grandchild"),
        (sibling, boy, "nephew"),
        (sibling, girl, "niece"),
        (sibling, children, "nephew niece"),
        (parent, sister, "aunt"),
        (parent, brother, "uncle"),
        (parent, mother, "grandmother"),
        (parent, father, "grandfather"),
        (parent, parents, "grandmother grandfather"),
        (spouse, boy, "stepchild"),
        (spouse, girl, "stepchild"),
        (spouse, children, "stepchild"),
        (mother, husband, "stepfather"),
        (father, wife, "stepmother"),
    )
    return tuple(
        (
            rf"\b(?:my|our) (?:\w+ )?(?:{one[0]})['’]?s (?:\w+ )?(?:{other[0]})\b"
            rf"|\b(?:{other[1]}) de (?:mi|nuestr[oa]) (?:{one[1]})\b",
            concept,
        )
        for one, other, concept in of_relation
    )


_RELATIVES = _relatives()

_PHRASES = (
    (r"\bmi viejo\b(?! (?:coche|carro|auto|piso|trabajo|m[oó]vil|celular|tel[eé]fono|ordenador|amigo|jefe|profe\w*|perro|gato|barrio|colegio)\b)", "father"),
    (r"\bluna de miel\b", "trip"),
    (r"\bi (?:report|answer) to\b|\brespondo ante\b", "boss"),
    (r"\b(?:started|empec[eé]|entr[eé]) (?:work(?:ing)? |a trabajar )?(?:at|with|en) (?-i:[A-ZÁÉÍÓÚÑ]).* (?:as|como|de) ", "work"),
    (r"\b(?:moved|came) (?:here |over |up |down )?(?:here )?from (?-i:[A-Z])", "origin"),
    (r"\bgo(?:ing)? out with (?-i:[A-Z])|\bgo(?:ing)? out with\W*$", "partner girlfriend boyfriend"),
    (r"\b(?:i|we)(?:['’]ve| have) been in (?-i:[A-ZÁÉÍÓÚÑ])[\w' -]+ (?:since|for) ", "home"),
    (r"\b(?:see|seeing|saw) (?:the|my|a) (?:\w+ )?(?:consultant|specialist|surgeon|nurse|gp|physio|dietician)\b", "doctor appointment"),
    (r"\b(?:on|doing|working|do|work) (?:nights|days|earlies|lates|shifts) (?:at|in|for)\b|\bfreelanc\w+|\bretired from\b", "work"),
    (r"\bcompart\w+ (?:piso|casa|cuarto|habitaci[oó]n)\b", "roommate home"),
    (r"\b(?:i|we)(?:['’]ve)? lent\b|\ble(?:s)? (?:he prestado|prest[eé])\b", "owe"),
    (r"\bentra(?:ba|bas|ban) (?:antes|a (?:las?|trabajar))\b", "work begin"),
    (r"\b(?:don['’]?t|do not) i (?:like|eat|enjoy)\b|\bqu[eé] no me gustan?\b", "dislike"),
    (r"\b(?:flat|apartment|room|place|house|bedsit|live|piso|apartamento|habitaci[oó]n|casa|viv(?:o|imos))\b[^.;]{1,40}, ?[£$€]? ?\d[\d.,]*(?: ?(?:€|euros?|pounds?|quid|dollars?))? (?:a|per|al|por) (?:month|week|mes|semana)\b", "rent"),
    (r"\bmi se[ñn]ora\b(?! (?:madre|de la limpieza))", "wife partner"),
    (r"\b(?:get|getting|move|moving) (?:around|about)\b", "transport"),
    (r"\b(?:landlord|landlady|due[ñn][oa]|caser[oa])\b.*\b(?:bump\w*|rais\w+|put|upped|dropped|lowered|sub\w+|baj\w+|aument\w+)\b.*\d{3}", "rent price"),
    (r"\bon (?:defen[cs]e|the wing|the bench)\b|\bin (?:goal|the net|midfield)\b|\bplays? (?:in )?(?:defen[cs]e|wing|goal|midfield|up front|at the back)\b", "position"),
    (r"\bput down (?:for )?\w+ at (?-i:[A-Z])|\bview to \w+(?: \w+)? at (?-i:[A-Z])", "study"),
    (r"\bliv(?:e|es|ing)(?: in [\w'’ ]{2,30}?)? with (?:\w+ )?others\b|\b(?:vivo|vivimos) con otr[oa]s\b", "roommate"),
    (r"\b(?:i|we) (?:do|did|fix|sell|make|build) (?:[\w&-]+ ){1,5}for (?-i:[A-Z])", "work"),
    (r"\bl[ao]s? (?:han |ha )?(?:cogi(?:eron|do)|contrat\w+|tom(?:aron|ado)|fich\w+) (?:en|de|como|para) (?!serio\b|broma\b)", "work"),
    (r"\bband practi[cs]e\b|\b(?:choir|band|orchestra) (?:practi[cs]es?|rehears\w+)\b", "rehearsal"),
    (r"\bhad (?:a|my|her|our) (?:little |baby )?(?:boy|girl)\b|\btuv\w+ una? niñ[oa]\b", "baby"),
    (r"\b(?:amoxi|ampi)cil\w+", "penicillin medicine"),
    (r"\bmi vieja\b", "mother"),
    (r"\b(?:hips?|knees?|shoulders?|valves?) (?:was |been |is being |being )?replaced\b|\bnew (?:hip|knee)\b|\b(?:tooth|teeth|tonsils|appendix|gallbladder) (?:taken )?out\b|\bpr[oó]tesis de (?:cadera|rodilla)\b", "surgery"),
    (r"\b(?:been|are|we['’]re) together\b|\b(?:been|are|we['’]re) a couple\b|\bllevamos (?:\w+ ){1,3}juntos\b|\bsomos pareja\b", "partner relationship"),
    (r"\b(?:one|two|three|four|1|2|3|4)[- ]bed(?:room)?(?:ed)?\b(?! (?:with|for))", "flat"),
    (r"\bleisure cent(?:re|er)s?\b|\bsports cent(?:re|er)s?\b|\bpolideportivo\b", "exercise gym"),
    (r"\b(?:we|i)(?:['’]ve)? (?:just )?lost (?!(?:my|our|the|a|an|some|all|weight|\w+ (?:kg|kilos?|pounds|stone))\b)(?-i:[A-Z])\w+(?! (?:the|a|my|our|by|to)\b)", "die"),
    (r"\b(?:got|was|been|get) promoted\b|\bascendid[oa]\b", "work role"),
    (r"\b(?:married|engaged) (?:to )?(?-i:[A-ZÁÉÍÓÚÑ])|\bcas(?:ad[oa]|é|arme) con (?-i:[A-ZÁÉÍÓÚÑ])", "partner"),
    (r"\bwhat did i (?:use to )?do *\W*$|\ba qu[eé] me dedicaba\b|^¿?qu[eé] (?:hac[ií]a|era)(?: yo)? *\W*$", "work profession role"),
    (r"^what\b.{1,30}\bstud(?:y|ies|ying)\b|^¿?qu[eé] (?:carrera |est[aá] )?estudi(?:o|a|an|ando)\b", "subject"),
    (r"\b(?:date|day) of birth\b|\bd\.?o\.?b\b|\bfecha de nacimiento\b", "birthday"),
    (r"\bwho (?:am i|is \w+|are we) (?:married|engaged) to\b|\bcon qui[eé]n (?:estoy|me|est[aá]|se) cas\w+", "partner husband wife"),
    (r"\b(?:health|medical) (?:problem|issue|condition|concern)s?\b|\b(?:problemas?|temas?) (?:de salud|m[eé]dicos?)\b|\benfermedad(?:es)?\b", "illness"),
    (r"\b(?:problems?|trouble) (?:with|eating) (?:\w+ )?foods?\b|\bfood (?:problem|issue|restriction|intolerance)s?\b|\bproblemas? con (?:la |alguna )?comidas?\b|\bintolerancias?\b", "allergy diet"),
    (r"\b(?:pay|paying|pago|pagamos)\b.{1,30}\b(?:for|de|por) (?:my|the|our|mi|el|la|nuestr[oa]) (?:flat|apartment|room|house|place|bedsit|studio|piso|apartamento|depa\w*|habitaci[oó]n|cuarto|casa)\b", "rent"),
    (r"\bin (?:year|class|form|reception|p) ?\w* with (?:mr|mrs|miss|ms)\b", "teacher teach"),
    (r"\b(?:keep|stay|keeping|staying) (?:fit|in shape|active)\b|\b(?:en forma|hago (?:de )?ejercicio)\b", "exercise gym sport"),
    (r"\b(?:eat|eats|eating|como|comemos|comer|comiendo)\b.{0,12}\b(?:meat|fish|chicken|eggs?|dairy|cheese|carne|pescado|pollo|huevos?|l[aá]cteos|queso)\b.{0,10}\b(?:again|now|these days|ahora|otra vez|de nuevo)\b|\b(?:ahora|vuelvo a|he vuelto a|volv[ií] a) com\w+ (?:carne|pescado|pollo|huevos?|l[aá]cteos|queso)\b", "diet"),
    (r"\bqu[eé] compa[ñn][ií]a (?:estoy|estamos|soy|tengo|uso|era|estaba)\b|\b(?:estoy|estamos) con (?-i:[A-ZÁÉÍÓÚÑ])\w+,? (?:y )?pag(?:o|amos)\b", "provider"),
    (r"\bc[oó]mo quiero que me (?:llames|digas)\b|\bwhat should (?:you|people) call me\b|\bwhat do i (?:like|want) to be called\b", "name"),
    (r"\b(?:been|worked) (?:at|with|for) (?-i:[A-Z])[\w'’]+ .{0,12}\b(?:years?|months?|weeks?)\b|\bllev(?:o|amos) .{0,15}\b(?:a[ñn]os?|mes(?:es)?) en .{2,25} de (?!vacaciones|baja|viaje)\w+", "work profession"),
    (r"\bcan['’]?t (?:do|have|tolerate|stomach) (?:\w+ )?(?:dairy|gluten|lactose|milk|nuts?|eggs?|shellfish|wheat|soya?|fish|meat)\b", "allergy diet"),
    (r"\boff (?:the )?(?:fags|cigs|ciggies|smokes|cigarettes)\b|\bsin (?:fumar|tabaco)\b", "smoke"),
    (r"\bpay ?day\b|\b(?:get|getting) paid\b|\bd[ií]a de (?:cobro|paga)\b|\b(?:cu[aá]ndo|qu[eé] d[ií]a) cobro\b|\bcobro (?:el|los)\b|\bme (?:pagan|ingresan)\b", "payday"),
    (r"\b(?:left|right)(?:y|ie)\b|\b(?:left|right)[- ]handed\b|\bzurd[oa]\b|\bdiestr[oa]\b|\b(?:which|what) hand\b|\b(?:qu[eé]|cu[aá]l) mano\b", "handedness"),
    (r"\bcan['’]?t get enough of\b|\bno me canso de\b", "like"),
    (r"\b(?:me|nos|l[aeo]s?) (?:han? )?(?:subi(?:eron|do)|ascend(?:ieron|ido)|promovi(?:eron|do)) a (?!\d|las?\b)", "work profession"),
    (r"\b(?:start|starts|finish|finishes|clock (?:on|off)) at \d[\w:.]* (?:at|in) (?:the|my|our)\b", "work shift"),
    (r"\bnos (?:han )?(?:traslad\w+)\b", "office work"),
    (r"\b(?:on|to) (?:days|nights|earl(?:y|ies)|lates)\b", "shift"),
    (r"\bme (?:han )?contrat\w+|\bme (?:han (?:cogido|fichado)|cogieron|ficharon) (?:en|de|como|para)\b|\b(?:hired|took) me (?:on|as|at)\b|\b(?:got|been|was) hired\b", "work"),
    (r"\b(?:seeing|dating|going out with) (?:someone|somebody|anyone|a\b|(?-i:[A-ZÁÉÍÓÚÑ]))|\b(?:who|what) (?:am|was) i (?:seeing|dating|going out with)\b|\bin a relationship\b|\b(?:saliendo|salgo|salir|sal[ií]a) con (?:alguien|una? (?:chic|t[ií]|muchach|pib)[oa]\b|(?-i:[A-ZÁÉÍÓÚÑ]))|\b(?:est(?:oy|aba)|sigo|sos|eres) de novi[oa]", "marital partner girlfriend boyfriend"),
    (r"\bme (?:he )?cas(?:[eé]|ado)\b|\bnos (?:hemos )?casa(?:mos|do)\b|\bgot (?:married|hitched)\b|\btied the knot\b", "marital"),
    (r"\bse cas(?:an?|ar[aá]n?)\b", "wedding marriage"),
    (r"\b(?:gone|moved|went) (?:back )?into (?!town\b|work\b|business\b)|\ba vivir\b|\bse (?:ha|han) (?:venido|vuelto) a (?!\w+[aei]r\b)|\bse (?:ha|han) quedado en (?-i:[A-ZÁÉÍÓÚÑ])|\bupped sticks\b|\bstay(?:ing)? put\b|\b(?:gone|come|went) to live\b|\b(?:me|nos) (?:vine|vinimos|vengo) (?:a|para)\b", "home"),
    (r"\b(?:what|which|my|our|home|(?:an?|the) (?:small|little|big|nice|new|same)) ?(?:city|town)\b|\bhometown\b|\b(?:qu[eé]|mi|nuestra|una) (?:\w+ )?ciudad\b", "home"),
    (r"\bfor a living\b|\ba qu[eé] (?:me|te|se) dedic[oa]s?\b|\bde qu[eé] trabaj[oa]\b", "work profession"),
    (r"\bwhat do i do\b(?! \w)|\ben qu[eé] (?:trabaj|curr|labur)[oa]", "work profession role"),
    (r"\b(?:i(?:['’]m| am)|we(?:['’]re| are)) (?:now |currently )?in (?-i:[A-ZÁÉÍÓÚÑ])\w+|\best(?:oy|amos) (?:viviendo )?en (?-i:[A-ZÁÉÍÓÚÑ])\w+", "home"),
    (r"\bhow old\b|\bcu[aá]ntos a[ñn]os\b|\byears old\b|\b(?:turn(?:ed|s|ing)?|am|(?<!number )(?<!code )(?<!space )(?<!size )(?<!room )(?<!locker )(?<!plot )(?<!seat )(?<!door )(?<!pin )(?<!floor )(?<!bay )(?<!gate )(?<!bus )(?<!platform )(?<!flat )is) \d{1,3}$", "age"),
    (r"\bi(?:['’]m| am) \d{1,3}\b(?! ?(?:kg|kilos|cm|min|%|pounds|lbs|foot|feet|ft))", "age"),
    (r"\b(?:live|vivo|house|flat) (?:at|on|en) (?:the )?(?:\d|[^,;]{0,40}\b(?:street|road|avenue|lane|calle|avenida|plaza)\b)", "address home"),
    (r"^i(?:['’]m| am) (?-i:[A-Z][a-z]+)(?=$|,| and\b|\.)|^(?:yo )?soy (?-i:[A-ZÁÉÍÓÚÑ]\w+)(?=$|,| y\b)", "name"),
    (r"\b(?:get|gets|got|getting|wake|wakes|woke|waking) up\b", "wake"),
    (r"\b(?:go|goes|going|went) to (?:bed|sleep)\b|\b(?:voy|ir|vas|va) a (?:la cama|dormir)\b", "sleep"),
    (r"\b(?:grew|grow|brought) up\b", "origin"),
    (r"\b(?:pass(?:ed|es)? away|no longer with us)\b", "die"),
    (r"\b(?:gave|give|giving) birth\b|\bdar a luz\b|\bdio a luz\b", "birth"),
    (r"\bwork(?:s|ed|ing)? out\b|\b(?:do|did|doing) (?:any |some )?sports?\b|\bhacer? ejercicio\b|\bhag[oa] (?:ejercicio|deporte)\b", "exercise sport"),
    (r"\bd(?:oy|ar|as|an|aba|ando) clases?\b", "teach work"),
    (r"\bwork(?:s|ing)? (?:from|at) home\b|\bwfh\b|\btrabaj\w+ (?:desde|en) casa\b|\bhome office\b", "remote"),
    (r"\bget(?:ting)? to (?:the )?(?:work|office|school|uni\w*)\b|\b(?:llegar|ir|voy|llego) (?:al? )(?:la )?(?:trabajo|curro|oficina|facultad)\b", "commute transport"),
    (r"\b(?:day|days|morning|afternoon)s? off\b|\b(?:d[ií]as?|tardes?) libres?\b|\b(?:libro|libras|libra|librar) (?:el|los) \w+", "dayoff"),
    (r"\b(?:free|spare) time\b|\btiempo libre\b|\bratos libres\b", "hobby"),
    (r"\bhow often\b|\bcada cu[aá]nto\b|\b(?:once|twice|\w+ times) an? (?:day|week|month|year)\b|\b\w+ (?:vez|veces) (?:al|a la|por) \w+", "frequency"),
    (r"\bhalf[- ](?:brother|sister)\b|\bmedio herman[oa]\b", "stepsibling"),
    (r"\b(?:left|right)[- ]?handed\b|\bleftie\b", "handed"),
    (r"\b\d['’′]\s?\d{1,2}\b|\b\d (?:ft|foot|feet)\b|\b[12][.,]\d\d ?m\b", "height"),
    (r"\blo m[ií]o\b|\b(?:partial to|keen on|big on|my (?:thing|cup of tea)|a sucker for)\b", "like"),
    (r"\bmis? viej[oa]s?\b(?= (?:es|se|le|cumple|vive|tiene|trabaja|est[aá]|\w+ó)\b|\W*$)", "mother father parent"),
    (r"\b(?:what|which) make\b|\bde qu[eé] marca\b", "brand"),
    (r"\b(?:(?:run|own|manage)s?|running|managing) (?:an?|my own|the) (?:\w+ )?(?:shop|store|bakery|caf[eé]|pub|bar|restaurant|farm|salon|gym|firm|business|company|studio|school|hotel|hostel|garage|stall|nursery|agency)\b|\b(?:llevo|regento) una? (?:tienda|bar|negocio|panader\w+|restaurante|taller|granja|peluquer\w+|tall\w+|librer\w+|quiosco|hostal)\b", "work business"),
    (r"\b(?:shopping|grocery) list\b|\bgroceries\b|\blista de la compra\b|\bneed to (?:buy|get)\b|\b(?:tengo|hay|falta) que comprar\b", "shoppinglist"),
    (r"\bhay fever\b", "allergy pollen health"),
    (r"\b(?:i['’]?m|i am|soy) (?:an? )?(?:aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces|c[aá]ncer|tauro|g[eé]minis|escorpio|sagitario|capricornio|acuario|piscis)\b", "zodiac"),
    (r"\b(?:me|te|le|nos) (?:dicen?|llaman)\b(?! que)|\b(?:call me|calls me|go by|goes by|known as|answers? to (?-i:[A-ZÁÉÍÓÚÑ])\w+|responde a (?-i:[A-ZÁÉÍÓÚÑ])\w+)\b", "name nickname"),
    (r"\bcolou?r[- ]?blind\b|\bdalt[oó]nic[oa]\b", "sight health"),
    (r"\b(?:expecting|esperamos|espero) (?:our|my|a|an?|twins?|gemel\w+|un|nuestr\w+|mi) ?\b|\bde cuentas\b|\bnace(?:r[aá])? (?:el|la|mi|nuestr[oa]) ", "due pregnant birth"),
    (r"\bi(?:['’]?m| am| was| turned?) (?:in my )?(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)\w*\b(?! (?:min|mile|kil|per|day|week|month))", "age"),
    (r"\bbig day\b", "birthday wedding"),
    (r"\bstar sign\b|\bsigno del zod\w+", "zodiac"),
    (r"\bblood pressure\b|\btensi[oó]n (?:alta|baja|arterial)\b", "bloodpressure health"),
    (r"\bdate of birth\b|\bfecha de nacimiento\b", "birthday"),
    (r"\b(?:number|licen[cs]e|registration) plates?\b", "numberplate"),
    (r"\bdriv(?:ing|er['’]?s?) licen[cs]e\b|\b(?:carnet|carn[eé]|permiso|licencia) de (?:conducir|manejo)\b|\bcarn(?:é|et)s?\b(?! de (?:la |identidad|familia|socio|estudiante|vacun|bibliotec))", "licence"),
    (r"\b(?:credit|debit|bank) card\b|\btarjeta(?: de (?:cr[eé]dito|d[eé]bito))?\b", "card"),
    (r"\bwashing machine\b", "washingmachine"),
    (r"\bice[- ]?creams?\b|\bhelados?\b", "icecream"),
    (r"\bsun ?glasses\b|\bgafas de sol\b", "sunglasses"),
    (r"\bnew year['’]?s?(?: eve)?\b|\ba[ñn]o nuevo\b|\bfin de a[ñn]o\b", "newyear"),
    (r"\bdue (?:date|in|on|to give)\b|\bsal(?:go|e) de cuentas\b|\bexpecting (?:a|our)\b", "due"),
    (r"\bwater (?:is with|company|supplier|provider)\b|\bagua (?:es|la tengo|la tenemos) con\b", "bill"),
    (r"\bbank account\b|\bcuenta (?:del banco|bancaria|corriente)\b", "bank account"),
    (r"\bi(?:['’]m| am|['’]ve been| have been| was) (?:an?|the) (?!bit\b|little\b|lot\b|fan\b)", "work role"),
    (r"\b(?:he|she|\w+)(?:['’]s| is) an? (?:(?-i:[a-z])\w*(?:er|or|ist|ian)|nurse|chef|pilot)\b", "work role"),
    (r"^(?:yo )?soy (?!del?\b|al[eé]rg|muy\b|m[aá]s\b|el\b|la\b|vegan|vegetar|cel[ií]ac|diab|budis|cat[oó]l|musulm|jud[ií]|ate[oa]|agn[oó]|cristian|evang|viud|solter|casad|divorc|separ|hij[oa]|zurd|diestr|hincha|fan\b|intoler|hipert|asm[aá]|soci[oa]|miembro|padre|madre|abuel|gemel|t[ií][oa]\b)\w+", "work role"),
    (r"(?:['’](?:m|s|re)|\b(?:am|is|are|comes?|came)) (?:originally )?from\b|\bwhere .* from\b|\bam i from\b|\bfrom\?$|\bsoy de\b|\bde d[oó]nde soy\b|^i['’]?m an? (?:\w+ ){1,3}from (?-i:[A-ZÁÉÍÓÚÑ])", "origin"),
    (r"\bborn (?:in|at)\b|\bnac[ií] en\b", "origin"),
    (r"\bcan(?:['’]t|not) (?:stand|bear|abide)\b|\bdo(?:es)?(?:n['’]t| not) (?:really )?like\b|\bno (?:me )?(?:gusta|soporto)n?\b", "dislike"),
    (r"\bcan(?:['’]t|not)(?: i)? (?:eat|have)\b|\bno puedo (?:comer|tomar)\b|\bprohib\w+", "allergy health food"),
    (r"\ballerg\w+|\bal[eé]rgi\w+", "food"),
    (r"(?:\b(?:my|our|his|her|their)(?: new| old)?|\b(?:the )?new|^\W*|[,;:.]) ?number\b(?! of\b| plate)|\bphone number\b|\bn[uú]mero de tel[eé]fono\b", "phone"),
    (r"\bwi-?fi\b", "wifi"),
    (r"\b(?:broke up|split up|broken up|hemos roto|lo hemos dejado|rompimos)\b", "partner separation"),
    (r"\b(?:knock|clock)(?:s|ed)? (?:off|out)\b|\bfinish(?:es)? (?:work|my shift)\b|^i (?:get off|finish) (?:work )?at\b|\b(?:salgo|sale|acab[oa]|termin[oa]) (?:de trabajar|del (?:curro|trabajo))\b|^(?:(?:ahora|ya|hoy) )?(?:salgo|acabo|termino) a las?\b", "finish work"),
    (r"\bclock(?:s|ed)? (?:in|on)\b|\bstart(?:s)? work\b|\bshift (?:begin|start)s?\b|^(?:entro|empiezo) a las?\b|\b(?:entr[oa]|empiez[oa]) a trabajar\b|\bat work (?:by|for)\b", "begin work"),
    (r"\bi(?:['’]m on| make| am on) (?:about |around )?[£$€]?\d[\d.,]*(?:k\b| (?:a|per) (?:month|year|hour))", "salary money"),
    (r"\bpay(?:ing)? (?:for|off) (?:the|our|my) (?:house|flat)\b|\bpag(?:o|amos|ar) (?:por la|de|la|el) (?:casa|piso)\b", "rent mortgage"),
    (r"\b(?:as|when i was) an? (?:little |small |young )?(?:kid|child|boy|girl)\b|\bde (?:ni[ñn][oa]|peque[ñn][oa]|cr[ií][oa])\b", "origin"),
    (r"\bshar(?:e|ing) (?:a|the|my) (?:flat|house|room|place) with\b|\bcompart(?:o|imos) (?:piso|casa|habitaci[oó]n|cuarto) con\b", "roommate"),
    (r"^(?:ahora |ya )?(?:soy|somos) del (?-i:[A-ZÁÉÍÓÚÑ])|\bde qu[eé] (?:cuadro|equipo)\b|\bhinchas? de\b", "team"),
    (r"\bpassed (?:away|on\b|last|in (?:19|20)\d|peacefully|when)", "die"),
    (r"\bmy old man\b", "father parent"),
    (r"\bmi chica\b", "girlfriend partner"),
    (r"\bmi chico\b", "boyfriend partner"),
    (r"\bonly child\b|\bhij[oa] [uú]nic[oa]\b", "sibling brother sister"),
    (r"\b(?:cuts?|cutting|does|dye[sd]?|done) (?:my |our )?hair\b|\bhair (?:cut|done|dyed)\b|\bcort\w+ el pelo\b", "hairdresser haircare"),
    (r"\b(?:looks?|looking) after the (?:kids|children|baby)\b|\bcuidan? (?:a los ni[ñn]os|al beb[eé]|al ni[ñn]o|a la ni[ñn]a)\b", "childcare"),
    (r"\b(?:passed|took|taking|failed|do|sit) (?:my |the )?(?:driving )?(?:driving|theory) test\b", "licence"),
    (r"\bi(?:['’]m| am) with (?-i:[A-ZÁÉÍÓÚÑ])|\bestoy con (?-i:[A-ZÁÉÍÓÚÑ])\w+$", "provider phone wifi bank insurance"),
    (r"\bbuilding work\b", "building builder"),
    (r"\bjourney to (?:work|school|the office)\b", "commute transport"),
    (r"\bon (?:annual )?leave\b|\btime off\b", "holiday trip"),
    (r"\boff on (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:don['’]?t|not) (?:i |have to )?work\W*$|\bno (?:trabajo|curro)\W*$|^libro los\b", "dayoff"),
    (r"\bwhich hand\b|\bqu[eé] mano\b", "handed"),
    (r"\bhelp(?:s|ing)? out\b", "volunteer"),
    (r"\b(?:driv(?:es?|ing)|cook(?:s|ing)?|cod(?:es?|ing)|teach(?:es|ing)?|clean(?:s|ing)?) for (?-i:[A-Z])", "employer work"),
    (r"\bwork(?:s|ed|ing)? for (?:the|an?)\b|\btrabaj[oa] para\b", "employer work"),
    (r"\b(?:hand|turn)(?:ed|s|ing)? (?:it|them|that|this)? ?in\b", "deadline"),
    (r"\bhow much (?:do|am|did) i (?:now )?(?:get|make|on|earn|paid)\b(?! up)", "salary money"),
    (r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[a-z]", "email"),
    (r"\b(?:an|per) hour\b|\bhourly\b|\d ?/ ?h(?:r|our)?\b|\bpor hora\b|\bla hora\b", "hourly"),
    (r"^i(?:['’]m| am| now)? (?:now )?(?:work\w*|get paid|(?:got|have) an? (?:\w+ )?job)\b.*\d[\d.,]*(?:k|p)?(?: (?:an?|per) (?:hour|week|month|year)| ?/ ?h(?:r|our)?)\b", "salary money"),
    (r"^[¿\W]*what (?:does|did) (?:my [\w-]+|our [\w-]+|[\w-]+) do\W*(?:\(my \w+\))?$", "work profession role"),
    (r"(?-i:\b[A-Z])\w+ \(\d{1,2}\)", "age"),
    (r"\bturn(?:s|ing)? (?:\d{1,3}\b|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)\w*)", "birthday age"),
    (r"\bdolor(?:es)? de cabeza\b", "headache health pain"),
    (r"\bbad (?:back|knees?|hip|neck|shoulder|foot|leg|stomach|tooth)\b|\b(?:back|knees?|hip|neck|shoulder|foot|leg|stomach) (?:is|are|['’]s) (?:bad|killing)\b|\btengo (?:el|la|los|las) \w+ (?:fatal|mal|hech[oa]s? polvo)\b", "pain health"),
    (r"\bcan(?:['’]?t|not)(?: i)? (?:do\b|swim|cook|drive|sing|dance|ride|draw|ski|skate|whistle|spell)|\bno s[eé] (?:hacer|nadar|cocinar|conducir|cantar|bailar|montar|dibujar|esquiar|patinar|silbar)\b", "unable"),
    (r"\b(?:finish|complete) (?:my|the) (?:degree|course|studies)\b|\b(?:acab|termin)\w+ la carrera\b", "graduation"),
    (r"\bllev(?:o|amos) (?:aqu[ií]|viviendo)\b|\b(?:i|we)['’]ve (?:been|lived) here\b", "home"),
    (r"\b(?:estoy|estamos) viendo\b|\bwatching\b|\bqu[eé] veo\b", "series film"),
    (r"\blleva?o? un equipo\b|\ba mi cargo\b|\bi (?:run|head) (?:a|the) team\b", "lead"),
    (r"\bqu[eé] puesto\b|\bjob title\b", "role work"),
    (r"\bno (?:puedo|puede|pueden) (?:comer|tomar)\b|\bcan(?:['’]?t|not)(?: \w+)? eat\b", "allergy food"),
    (r"\b(?:tomo|como|eat|have) (?:por la|in the) (?:ma[ñn]ana|morning)\b", "breakfast meal"),
    (r"\b(?:bad|hopeless|useless|rubbish|terrible|awful|no good|crap) at\b|\bse (?:me|le) dan? (?:fatal|mal|de pena)\b", "badat"),
    (r"\b(?:good|great|brilliant|ace) at\b|\bse (?:me|le) dan? (?:bien|genial)\b", "goodat"),
    (r"\b(?:in|into|en) (?:year|grade|form|reception|sixth form)(?: \d+)?\b", "study school schoolyear"),
    # Other words for what people ask about themselves.
    (r"^(?:i['’]?m|we['’]?re|my place|i live|we live)\b.*\b\d+[a-z]?,? (?-i:[A-Z])[\w'’]+ (?:(?-i:[A-Z])[\w'’]+ )?(?i:road|street|avenue|lane|close|drive|way|court|crescent|terrace|place|gardens|hill|rd|st|ave)\b", "address home"),
    (r"\b(?:street and number|house number|number and street|street[- ](?:address|wise)|postal address|delivery form|road name)\b|\bwhich street\b.*\blive\b|\bla calle de mi casa\b|\b(?:traigan|manden|env[ií]en) algo a casa\b", "address home"),
    (r"\bstoreys?\b|\bhow high up\b.*\b(?:flat|apartment|building)\b|\bbutton\b.*\blift\b|\blevel\b.*\b(?:flat|apartment)\b|\bsubo andando hasta\b", "floor"),
    (r"\bpays my wages\b|\bemploys? me\b|\bon an? (?:permanent|temporary|fixed[- ]term) contract\b|\bcontratad[oa] (?:por|en|con)\b|\bme paga la n[oó]mina\b|\bempleador\w*\b", "work employer"),
    (r"\b(?:gan(?:o|arme|amos) la vida|gano el pan|earn (?:my|a) living)\b", "work profession role"),
    (r"\bin charge of me\b|\bask for (?:time off|leave|holidays?)\b|\b(?:me|qui[eé]n) manda\b|\bpor encima en (?:el trabajo|la oficina|el curro)\b|\bpedir(?:le)? las vacaciones\b|\bde jef[ea]\b", "boss"),
    (r"\b(?:in the office|at work|on shift|contracted hours|en la oficina|en el trabajo|horario laboral|jornada laboral|mis? horas?|my hours)\b.*\b(?:from )?\d+(?:[:.]\d\d)? (?:to|till|until|a|hasta) \d+|\b(?:start|begin) and (?:finish|end) work\b|\bon shift\b|\bjornada laboral\b|\bhorario laboral\b|\bentro y salgo\b|\bhorario\b.*\b(?:oficina|trabajo|curro)\b", "work shift workhours schedule"),
    (r"\bwhat (?:times|hours) .*\b(?:working|at work)\b|\bfrom when to when\b.*\bwork|\bde qu[eé] hora a qu[eé] hora\b|\bde cu[aá]ndo a cu[aá]ndo\b", "work shift workhours schedule"),
    (r"\bi['’]?m on (?:about |around )?[£$€]\d|\bmoney am i on\b|\btake in [£$€]|\bbefore tax\b|\bpercibo\b|\bingreso (?:cada mes|al mes)\b|\bdinero ingreso\b", "salary"),
    (r"\b(?:minutes?|mins?|minutos?|hours?|horas?)\b.*\b(?:door to door|to (?:work|the office)|on the way to work|into work|al trabajo|a la oficina)\b|\b(?:get|getting) (?:in)?to (?:work|the office) .*\b(?:minutes?|hours?)\b|\bjourney time\b|\b(?:trip|travel\w*|way|journey) to (?:work|the office)\b|\bhow (?:long|far)\b.*\b(?:reach (?:my desk|work|the office)|work\b.*\btime)|\bspend travelling\b", "commute"),
    (r"\ben qu[eé] me muevo\b|\bc[oó]mo (?:llego|voy)\b.*\b(?:oficina|trabajo|curro)\b|\bmedio de transporte\b|\bpara ir (?:a la oficina|al trabajo|al curro)\b|\bal (?:trabajo|curro) (?:siempre )?en\b", "commute transport"),
    (r"\b(?:going out|in a relationship|a couple|walking out) with\b|\band i are a couple\b|\bin a relationship\b|\blove of my life\b|\bsignificant other\b|\bbetter half(?:['’]?s)?\b|\bplus one\b|\bsalgo con\b|\bcon qui[eé]n (?:salgo|estoy en una relaci[oó]n|comparto mi vida)\b|\bmi amor\b|\bla (?:mujer|chica) con la que (?:estoy|salgo)\b|\bel (?:hombre|chico) con el que (?:estoy|salgo)\b", "partner"),
    (r"\btie the knot\b|\bregalarle algo a mi pareja\b", "anniversary wedding"),
    (r"\b(?:get|turn|be) (?:a year )?older\b|\bsoplo? (?:las )?velas\b|\bfecha de nacimiento\b|\bdate of birth\b|\bmy mum ha(?:ve|d) me\b|\bhacerme mayor\b|\bme (?:tienen que )?felicit\w+", "birthday"),
    (r"^i['’]?m (?:aged )?\d{2}\b(?!['’:.]|\s?(?:cm|kg|st|k\b|%|minutes|miles|weeks))|\b\d{2} years young\b|\bon this planet\b|\bcandles\b|^at \d{2} i['’]?m\b|\bi turned \d{2}\b|\bqu[eé] tan viej[oa]\b|\ba[ñn]os (?:he cumplido|tengo|cumplo)\b|\bcon \d{2} a[ñn]os\b|\bando en los \d{2}\b|\bcumplir \d{2}\b", "age"),
    (r"\b(?:bro|best compa|mejor compa|number one pal|best pal|mejor colega)\b", "friend bestfriend"),
    (r"\b(?:next door|next to (?:me|us)|other side of my fence|over the fence)\b|\b(?:al lado de mi casa|puerta contigua|en la puerta de al lado)\b", "neighbour"),
    (r"\bpooch\b|\bmi can\b|\bfour[- ]legged friend\b", "dog pet"),
    (r"\b(?:take|taken|registered|looks? after|jabs|vaccin\w+|check[- ]?ups?|llevo|vacun\w+|atienden)\b.*\b(?:pets?|animals?|mascotas?|animales|bichos)(?:['’]s?)?\b|\b(?:pets?|animals?|mascotas?|animales|bichos)(?:['’]s?)?\b.*\b(?:registered|jabs|check[- ]?ups?|vacun\w+|vet|vete|atienden|health)\b", "vet"),
    (r"\bsick note\b|\bcita en el centro de salud\b|\bbaja m[eé]dica\b", "doctor"),
    (r"\bconsulta dental\b|\bdental (?:check[- ]?up|appointment)\b|\bin my mouth with a drill\b", "dentist appointment"),
    (r"\breacts? badly to\b|\bbrings? me out in\b|\ballergic reaction\b|\bcome out in hives\b|\bme sientan? mal\b|\bno me llevo bien con\b", "allergy"),
    (r"\bpill time\b|\bhora de (?:la|mi) (?:pastilla|medicina|medicaci[oó]n)\b", "medicine"),
    (r"\bdietary (?:requirement|preference|need)s?\b|\bthe way i eat\b|\btipo de alimentaci[oó]n\b|\bestilo de alimentaci[oó]n\b", "diet"),
    (r"\b(?:[oab]|ab|0) (?:negative|positive|negativo|positivo)\b|\bblood group\b|\bdonor card\b|\btransfusion\b|\btipo de sangre\b|\bgrupo sangu[ií]neo\b", "blood"),
    (r"\b(?:\d+ ?(?:ft|foot|feet|cm)\b(?: ?\d+)?|\d['’]\d+)|\bhead to toe\b|\bfeet and inches\b|\bqu[eé] tan alt[oa]\b|\bc[oó]mo soy de alt[oa]\b|\bde alt[oa]\b(?=$|[?])|\bde altura\b|\btop of my head\b", "height"),
    (r"\b(?:specs|eye tests?|eyewear|glasses prescription)\b", "glasses optician sight"),
    (r"\bon a treadmill\b|\blift(?:ing)? weights\b|\bgym membership\b|\bpuregym\b|\bhago pesas\b|\b(?:joined|member of)\b.*\bgym\b", "gym exercise sport"),
    (r"\bjuego me mantengo en forma\b|\bdisciplina deportiva\b|\bwhat game do i play\b|\bneed a racket\b|\bkeep(?:ing)? (?:fit|in shape)\b", "sport exercise"),
    (r"\bparkrun\b|\bfive kilomet\w+\b|\b\d+ ?k (?:time|run|race|best)\b|\bbest \d+ ?k\b|\brun (?:an? |the )?\d+ ?k\b|\bmarca en \d+ ?km?\b|\br[eé]cord en los? \d+\b", "run record"),
    (r"\bmake music on\b|\bplay in terms of music\b|\bjam session\b|\btoco (?:yo )?en la banda\b|\bmusically\b", "instrument"),
    (r"\b(?:on duolingo|lingo|working on a language|qu[eé] lengua)\b", "speak study"),
    (r"\bacademic field\b|\b(?:did|read|took) [\w ]+ at uni\b|\bme (?:titul[eé]|licenci[eé]|gradu[eé]) en (?!\d)|\bde qu[eé] es mi t[ií]tulo\b|\ben qu[eé] me (?:titul[eé]|licenci[eé]|gradu[eé])\b|\bt[ií]tulo universitario\b|\bgrado universitario\b", "study degree"),
    (r"\balma mater\b|\bat \w+ for uni\b|\begresad[oa] de\b|\bme form[eé] en\b|\bd[oó]nde hice la carrera\b|\bfacultad\b", "university study"),
    (r"\bcap and gown\b|\bcap in the air\b|\bobtuv\w+ el t[ií]tulo\b|\bme (?:recib[ií]|gradu[eé]|licenci[eé])\b(?! en (?!el a[ñn]o|\d))|\ba[ñn]o de graduaci[oó]n\b|\b(?:acab|termin)[eé] la (?:carrera|uni\w*)\b", "graduation"),
    (r"\bmoney['’]?s? (?:kept|with)\b|\bchecking account\b|\bcurrent account\b|\bentidad(?: bancaria)?\b|\bguardo mi dinero\b|\bbanking[- ]wise\b|\bmy account\b(?=.*\b(?:with|at|have|holds?)\b)|\bhave my account\b", "bank"),
    (r"\bn[uú]mero secreto\b|\b(?:el|mi|qu[eé]) nip\b|\bsacar dinero con la tarjeta\b|\bpagar con la tarjeta\b|\bcifras\b.*\btarjeta\b", "pin card code"),
    (r"\b(?:security (?:system|panel)|disarm)\b", "alarm code"),
    (r"\b(?:get on|join|connect to) (?:our|my|the|your) (?:wi-?fi|wireless|network)\b|\bwireless\b|\b(?:contrase[ñn]a|clave) de la red\b|\bred inal[aá]mbrica\b|\bconectarse a (?:la|mi) red\b|\bconectarse al wi-?fi\b", "wifi password"),
    (r"\bcontact number\b|\b(?:call|ring|text|reach(?:ed)?|phone) me\b.*\bon \+?\d|\bpeople (?:can )?(?:ring|call|phone|text) me\b|\bcan i be called\b|\bfolk can text me\b|\btel[eé]fono de contacto\b|\bn[uú]mero me llaman\b|\bpara que me llamen\b", "phone number"),
    (r"\b(?:e-?mail|mail|write to|send (?:it|stuff|mail) to) me\b|\bescr[ií]beme a \S+@|\S+@\S+\.\w+", "email"),
    (r"\benergy company\b|\bcompa[ñn][ií]a el[eé]ctrica\b|\bsuministro el[eé]ctrico\b|\belectric(?:ity)? (?:company|supplier|provider)\b", "electricity provider bill"),
    (r"\b(?:being online|online) at home\b|\bisp\b", "wifi provider"),
    (r"\bhouse (?:is )?paid off\b|\bpay(?:ing)? off the house\b|\bcr[eé]dito hipotecario\b|\bpr[eé]stamo de la (?:vivienda|casa)\b|\b[uú]ltima cuota de la casa\b|\bser[aá] m[ií]a (?:del todo )?la casa\b", "mortgage"),
    (r"\bbin ?days?\b|\bbaj\w+ (?:el cubo|la basura)\b|\bpasa el basurero\b|\b(?:bins|rubbish) (?:go|goes|get|gets) (?:out|collected)\b", "rubbish"),
    (r"\bowner of my (?:flat|apartment|house|place)\b|\brent (?:my (?:place|flat|house|room) )?(?:from|off) (?-i:[A-Z])|\bde qui[eé]n es el (?:piso|apartamento)\b|\bdue[ñn][oa] del piso\b", "landlord"),
    (r"\b(?:other room (?:of|in) the flat|split the bills|compi de piso|roomie|comparto (?:el )?(?:piso|departamento|depa|casa|apartamento))\b|\bcon qui[eé]n comparto\b", "roommate"),
    (r"\bbest (?:picture|film|movie) ever\b|\bno hay otra (?:peli|pel[ií]cula)\b|\bcomo pel[ií]cula\b|\bhe visto mil veces\b", "film like"),
    (r"\b(?:eat|have) (?:\w+ )?every day\b|\bfave (?:meal|food|dish)\b|\bcook me for a treat\b|\bmeal (?:would )?make me happ\w+\b|\bone meal for ever\b|\bplato que m[aá]s\b|\bdisfrut\w+ comer\b|\bdarme una alegr[ií]a\b|\bnothing beats\b|\bdish i like best\b|\bmore than any other food\b", "food like"),
    (r"\b(?:make|makes) me gag\b|\bstand eating\b|\bable to stomach\b|\bno trago\b|\bno puedo con (?:ella|[eé]l)\b", "dislike food"),
    (r"\bflat white\b|\bfrom starbucks\b|\bbarista\b|\bgetting the coffees in\b|\ben la cafeter[ií]a\b|\bcortado\b|\bcoffee order\b|\blatte\b|\bcappuccino\b|\bcapuchino\b|\bcaf[eé] con leche\b", "coffee drink"),
    (r"\b(?:root|cheer) for\b|\bon match day\b|\bseason ticket\b|\bwhose scarf\b|\bwant to win at the weekend\b|\banimo en el f[uú]tbol\b|\bde qu[eé] cuadro\b|\ba qu[eé] equipo (?:le )?voy\b", "team"),
    (r"\bnose in\b|\bantes de dormir leo\b|\bleo\b(?=.*\bantes de dormir)|\bqu[eé] (?:leo|novela|lectura)\b|\bentre manos\b|\blectura\b", "book read"),
    (r"\bbinge\w*|\bon my telly\b|\bwatch in the evenings\b|\bput on an episode\b|\bepisodes? a night\b|\bhalfway through (?-i:[A-Z])|\bgot into (?-i:[A-Z])[\w ]+ recently\b", "series"),
    (r"\b(?:my|our|the) hols\b|\bd[ií]as libres de verano\b", "trip"),
    (r"\bin the air\b|\bwe take off\b|\bflights? (?:at|is at)\b|\bdespeg\w+\b", "flight"),
    (r"\b(?:sleeping|staying) when i['’]?m away\b|\bbooked a room\b|\bput up in\b|\bcheck in\b|\bdouble at the\b|\bdormir durante el viaje\b|\bme alojo\b|\bnos alojamos\b", "hotel"),
    (r"\bmake a claim\b|\bcovers my car\b|\baseguradora\b", "insurance"),
    (r"\bstreaming\b", "subscription series"),
    (r"\bscrimping for\b|\bspare (?:cash|penny|pennies)\b|\bpropuse juntar\b|\bquiero (?:guardar|juntar|ahorrar)\b", "save"),
    (r"\bget into my house\b.*\bkey\b|\bhiding place for my key\b|\block (?:myself|ourselves) out\b|\b(?:otra|extra) llave\b|\bllave (?:extra|de emergencia)\b|\bdonde hay otra\b|\bd[oó]nde hay otra\b|\bfuera de casa sin llaves\b", "sparekey key"),
    (r"\bmy trim\b|\bhaving a trim\b|\bhair be shorter\b|\barregl\w+ (?:el )?(?:cabello|pelo)\b", "haircare appointment"),
    (r"\b(?:mates|friends|people|everyone|everybody|folks|they) (?:all )?(?:call|calls|know) me\b|\bdo (?:my (?:mates|friends)|people|they) call me\b|\bknown (?:as|to)\b|\bshould you call me\b|\bpet name\b|\bme (?:llaman|dicen|conocen como)\b|\bmis amigos me\b|\bde cari[ñn]o\b|\bde mote\b|\bi go by\b|\byou can call me\b", "nickname"),
    # The form of a telephone number.
    (r"(?<!\d)(?<!number is )(?<!number )(?<!número es )(?<!número )(?:\+\d{1,3}[ .-]?)?(?:0\d{2,4}|[679]\d{2})(?:[ .-]?\d{2,4}){2,3}(?!\d)", "phone"),
    (r"\bget married\b|\bcaso\b|\bcasamos\b|\bcasarme\b", "wedding marital"),
    (r"\b(?:we|i) (?:got|get|were) (?:married|hitched)\b|\bnos (?:hemos )?casa(?:mos|do)\b", "wedding anniversary"),
    (r"\bviud[oa]\b|\bwidow(?:ed|er)?\b", "die partner"),
    (r"\b(?:better|other) half\b|\bmedia naranja\b", "partner"),
    (r"\b(?:i['’]?m|i am|soy) (?:the |el |la )?(?:youngest|eldest|oldest|middle|one|mayor|menor|mediano|mediana|peque[ñn][oa]) (?:child )?(?:of|de) \w+", "sibling brother sister"),
    # The home and its devices.
    (r"\bvacuum cleaners?\b", "vacuum clean"),
    (r"\bremote controls?\b|\bmando a distancia\b|\bcontrol(?:es)? remotos?\b|\bel mando\b", "remotecontrol"),
    (r"\bair[- ]?con\w*|\baire acondicionado\b", "aircon"),
    (r"\bstop ?(?:cock|tap|valve)s?\b|\bllave (?:de paso|general)\b|\b(?:turn|shut|switch|cut)\w* (?:the |our )?water off\b|\b(?:turn|shut|switch|cut)\w* off (?:the|our) water\b|\b(?:cort|cerr|cierr)\w* el agua\b", "stopcock"),
    (r"\bfuse ?box\w*|\bconsumer unit\b|\bbreaker (?:box|panel)\b|\b(?:cuadro|tablero) (?:de la luz|el[eé]ctrico)|\bfusibles?\b|\b(?:turn|shut|switch|cut)\w* (?:the |our )?(?:power|electric\w*|mains) off\b|\b(?:turn|shut|switch|cut)\w* off (?:the|our) (?:power|electric\w*|mains)|\b(?:cort\w+|quit\w+) la (?:luz|electricidad|corriente)\b", "fusebox electricity"),
    (r"\b(?:spare|extra|second|duplicate|other) (?:set of )?(?:house |car |front[- ]door )?keys?\b|\bllaves? de (?:repuesto|recambio|reserva)\b|\b(?:copias?|otro juego|segundo juego|duplicados?) de (?:la|las|mis?|nuestras?) llaves?\b", "sparekey"),
    (r"\b(?:wash(?:es|ed|ing)?|do(?:es|ing)?) (?:the )?(?:dishes|washing[- ]up)\b|\b(?:lav|freg)\w+ los (?:platos|cacharros|trastes)\b", "dishwasher chore"),
    (r"\b(?:cut|trim)(?:s|ting|ming)? (?:the |our |my )?(?:grass|hedge)\b", "lawn"),
    (r"\bhow (?:do|can|does) \w+ (?:get|log|connect)(?: \w+)? (?:on|to|onto|into) (?:the )?(?:internet|wi-?fi|net)\b|\bc[oó]mo (?:me |nos |se )?conect\w+ al? (?:internet|wi-?fi|red)\b", "wifi password"),
    (r"\bhow (?:do|can|does) \w+ (?:open|unlock|get in)\b|\bc[oó]mo (?:se )?(?:abr\w+|desbloque\w+|entro|entramos)\b", "code key"),
    (r"\b(?:at|from|in) (?:the |a )?(?:cash ?(?:machine|point)|atm)\b|\b(?:en|del) (?:el )?cajero\b", "pin card"),
    (r"\bcaja fuerte\b", "safe"),
    (r"\b(?:living|sitting|front) room\b|\bsala de estar\b", "livingroom room"),
    (r"\bsal[oó]n\b|\blounge\b", "livingroom"),
    # Work, money and documents.
    (r"^i(?:['’]m| am| now)? teach(?:ing)? (?!my\b|myself\b|him\b|her\b)|^(?:doy|dando) clases? (?:de|en)\b", "work profession"),
    (r"\b(?:line manager|mi superior|jef[ae] direct[oa])\b|\b(?:do|did) i (?:report|answer) to\b|\bante qui[eé]n respondo\b", "boss"),
    (r"\b(?:los(?:e|t)|losing) my job\b|\bperd[ií] (?:el|mi) (?:trabajo|empleo|curro|laburo|chamba)\b|\blaid (?:me )?off\b|\blet (?:me )?go\b|\bme (?:echaron|corrieron|han echado)\b", "fire"),
    (r"\b(?:i|we) (?:do|work|did|worked) (?:the )?(?:nights|days|earlies|lates)\b|\btrabaj\w+ de (?:noche|d[ií]a|ma[ñn]ana|tarde)s?\b", "shift work"),
    (r"\b(?:annual|paid) leave\b|\bdays['’]? (?:of )?(?:holiday|leave|vacation)\b|\bd[ií]as de vacaciones\b|\bhow much (?:holiday|leave|vacation)\b", "trip dayoff"),
    (r"\bme (?:pagan|abonan|depositan)\b|\bingres\w+ (?:la n[oó]mina|el sueldo)\b|\bd[ií]a de (?:cobro|pago)\b", "salary"),
    (r"\b(?:i|we) charge\b|\b(?:my|our) (?:\w+ )?rates?\b|\bcobr(?:o|amos|ar)\b.{1,20}\b(?:la|por|al?) (?:la )?(?:hora|d[ií]a|sesi[oó]n|clase|pieza)", "fee price"),
    (r"\b(?:work|working) for myself\b|\bself[- ]employed\b|\bpor (?:mi cuenta|cuenta propia)\b|\bmy own boss\b", "business work role"),
    (r"\b(?:teng\w+|tenemos|i have|i['’]ve got|we have|we['’]ve got) (?:una?|an?|my own|our own|mi propi[oa]) (?:\w+ )?(?:shop|store|bakery|caf[eé]|pub|restaurant|farm|salon|firm|business|company|agency|tienda|negocio|panader\w+|pasteler\w+|cafeter\w+|peluquer\w+|taller|bar|restaurante|ferreter\w+|farmacia|florister\w+|empresa)\b", "business work"),
    (r"\b(?:el|mi|un|nuestro|del) local\b|\bmy premises\b", "shop business"),
    (r"\b(?:shop|tienda)s?\b", "shop"),
    (r"\bcovers? for me\b|\bstands? in\b|\bfill(?:s|ing)? in for me\b|\bme (?:cubre|sustituye|reemplaza|suple)\b", "standin colleague"),
    (r"\bput(?:s|ting)? (?:\w+ ){0,2}(?:by|aside|away)\b|\b(?:junt|apart|guard)\w+ (?:dinero|plata|lana|pasta)\b", "save"),
    (r"\b(?:home|house|housing) loan\b|\bpr[eé]stamo (?:hipotecario|de la casa|del piso)|\bprest\w+ .{0,20}para (?:la casa|el piso|comprar)", "mortgage bank"),
    (r"\b(?:current|joint|bank|all (?:my|our)) accounts?\b|\bbuilding society\b|\bsavings account\b|\bcuenta (?:de ahorros?|n[oó]mina)\b", "bank account"),
    (r"\b(?:insured|covered|cover) (?:with|by)\b|\bwho covers\b|\bobra social\b|\bseguro m[eé]dico\b", "insurance"),
    (r"\bcu[aá]nto (?:me |nos )?(?:vale|valen|sale|salen)\b|\ba cu[aá]nto\b", "price"),
    (r"\bruns? out (?!of\b)|\b(?:valid|good) (?:un)?till?\b|\bv[aá]lid[oa]s? hasta\b|\b(?:me )?vale hasta\b|\bhasta cu[aá]ndo (?:me )?(?:vale|sirve|dura)\b|\bhow long (?:is|are) .{1,30} valid\b", "expire"),
    (r"\b(?:contract|lease|membership|warranty|guarantee|subscription|policy|visa|garant[ií]a|contrato|suscripci[oó]n|deal)\b.{0,20}\b(?:ends?|finish(?:es)?|acaba|termina|finaliza|lasts?|dura)\b|\b(?:acab|termin|finaliz|dur)\w+ (?:el|la|mi|nuestr[oa]) (?:contrato|garant[ií]a|seguro|suscripci[oó]n)", "expire"),
    (r"\b(?:vat|tax) (?:number|id|code|reference)\b|\b(?:rfc|cuit|cuil|utr)\b|\bn[uú]mero (?:fiscal|de (?:contribuyente|identificaci[oó]n fiscal))\b", "taxid tax number"),
    (r"\b(?:ni|national insurance|social security) number\b|\bssn\b|\bn[uú]mero de (?:la |afiliaci[oó]n a la )?seguridad social\b|\bnuss\b", "socialsecurity number"),
    (r"\b(?:documento|carn[eé]t?|c[eé]dula|tarjeta) (?:nacional )?de (?:identidad|ciudadan[ií]a)\b|\b(?:id|identity) card\b", "identitycard"),
    (r"\btravel (?:documents?|papers?)\b|\bdocumentaci[oó]n (?:para|de) via\w+", "passport"),
    (r"\b(?:my|our|a|the) will (?:is|was|with|at)\b|\b(?:has|holds|keeps|got|wrote|made|drew up) (?:my|our|a) will\b|\b[uú]ltimas? voluntad(?:es)?\b", "testament"),
    (r"\b(?:car|van|vehicle) (?:registration|reg|plates?)\b|\bnumber plates?\b|\bmatr[ií]cula\b|\bplacas?\b|\bpatente\b", "numberplate car"),
    (r"\b(?:booking|reservation|confirmation) (?:ref\w*|code|number)\b|\blocalizador\b|\b(?:c[oó]digo|n[uú]mero) de (?:la |mi )?reserva\b|\bpnr\b", "bookingref code reserve"),
    (r"\b(?:phone|mobile|sim|data) (?:contract|deal|plan)\b|\btarifa (?:del m[oó]vil|de datos)\b|\bplan (?:del celular|de datos)\b", "phone contract subscription"),
    # Study, sport and play.
    (r"\bat (?:\w+ )?(?:university|uni|college) (?:doing|reading|studying)\b", "study subject"),
    (r"\b(?:handed|handing|turned) (?:\w+ ){0,2}in\b", "deadline"),
    (r"\btrabajo (?:de )?fin de (?:grado|m[aá]ster|carrera)\b", "thesis"),
    (r"\bwho(?:['’]s| is)? (?:supervis\w+|look\w* after|guid\w+|mark\w+) .*\b(?:thesis|dissertation|project)\b|\bqui[eé]n .*(?:dirige|lleva|tutoriza|supervisa) .*\b(?:tesis|tfg|tfm|trabajo (?:de )?fin)", "teacher boss teach lead"),
    (r"\bgot an? (?:[A-F][+-]?|first|distinction|merit|pass) in\b|\bhow did (?:i|he|she|we) (?:do|get on) in\b|\bsaqu[eé] (?:un|una)\b", "grade"),
    (r"\b(?:what|which) (?:class|year|form) (?:is|am|are)\b|\b(?:primero|segundo|tercero|cuarto|quinto|sexto) de (?:primaria|infantil|eso|secundaria|bach\w*)\b|\ben qu[eé] (?:curso|grado|clase|a[ñn]o) (?:est[aá]|va|de)|\btutor group\b|\b(?:first|second|third|fourth|final|last) year (?:at|of)\b|\b(?:what|which) year of\b|\b(?:primero|segundo|tercero|cuarto|quinto) de (?-i:[A-ZÁÉÍÓÚÑ])", "schoolyear school"),
    (r"\bpick(?:s|ing)? (?:the |our |my )?(?:kids|children|son|daughter|boys?|girls?) up\b|\bpick(?:s|ing)? up (?:the |our |my )?(?:kids|children|son|daughter)\b|\brecog\w+ a (?:los|las|mis?|l[ao]) (?:ni[ñn]|hij|cr[ií]|peque|nen)\w+", "school pickup finish"),
    (r"\bparents['’]? evening\b|\bparent[- ]teacher\b|\b(?:reuni[oó]n|junta) (?:de padres|con (?:los )?padres|del (?:cole\w*|instituto|aula))\b", "schoolmeeting meeting school"),
    (r"\b(?:mother|native) tongue\b|\b(?:first|native) language\b|\blengua (?:materna|nativa)\b|\bidioma (?:materno|nativo)\b", "nativelanguage"),
    (r"\bdriving (?:test|exam)s?\b|\bexamen (?:de conducir|de manejo|pr[aá]ctico|te[oó]rico)\b", "licence drivingtest exam"),
    (r"\bdriving (?:instructor|teacher|lessons?|school)\b|\bautoescuela\b|\b(?:clases|profe\w*|instructora?) de (?:conducir|manejo)\b|\b(?:teach\w*|learning|ense[ñn]\w+|aprend\w+) (?:me )?(?:to drive|a (?:conducir|manejar))\b", "drivinglessons"),
    (r"\b(?:five|six|seven|eleven|\d)[- ]a[- ]side\b|\bfutbito\b|\bfutsal\b|\bfulbito\b", "football team sport"),
    (r"\b(?:what|which) sports?\b|\bqu[eé] deportes?\b|\b(?:i|we) (?:play|do) (?:\w+ )?(?:football|soccer|tennis|padel|paddle|squash|badminton|basketball|rugby|hockey|cricket|volleyball|netball|golf|judo|karate|boxing|handball)\b|\b(?:juego|jugamos) al? (?:f[uú]tbol|p[aá]del|tenis|baloncesto|b[aá]squet\w*|v[oó]le\w*|balonmano|rugby|hockey|golf|f[uú]tbito)\b|\b(?:hago|hacemos|practico) (?:judo|k[aá]rate|boxeo|nataci[oó]n|atletismo|gimnasia|remo|escalada|ciclismo|esgrima)\b", "sportpractice"),
    (r"\bper?sonal best\b|\bbest time\b|\bmejor (?:tiempo|marca)\b|\bplusmarca\b|\br[eé]cord\b", "record"),
    (r"\bme (?:he hecho|hice|he vuelto) del? |\bsoy (?:hincha|fan[aá]tic[oa]|seguidora?) de|\bde qu[eé] equipo\b|\b(?:le|les) (?:voy|vamos|va) al? |\bvoy con (?:el|la) (?-i:[A-ZÁÉÍÓÚÑ])|\b(?:soy|somos) del (?-i:[A-ZÁÉÍÓÚÑ])", "team"),
    (r"\b(?:mad|crazy|nuts|wild) (?:about|on)\b|\bloc[oa] por\b|\bme (?:pirra|priva|late|copa|vuelve loc[oa])n?\b", "like"),
    (r"\b(?:en|de|a) la play\b|\bgamer ?tag\b|\b(?:xbox|playstation|psn|switch|steam) (?:name|id|user\w*|nick)\b|\b(?:nombre|usuario|nick) (?:de|en) (?:la )?(?:xbox|play\w*|psn|switch|steam)\b|\b(?:xbox|playstation|psn) name\b", "account game playstation xbox"),
    (r"\b(?:which|what|favou?rite) group\b", "music"),
    (r"\bhelp(?:s|ing)? (?:out )?for (?:free|nothing)\b|\bayud\w+ (?:gratis|sin cobrar)\b", "volunteer"),
    (r"\b(?:which|what) party (?:do|did|would|am) i|\bqu[eé] partido (?:voto|apoyo|vot[eé])\b", "politics"),
    (r"\bgo(?:es)? to (?:st\.?|saint) (?-i:[A-ZÁÉÍÓÚÑ])", "religion school study"),
    # Cars, trips and deliveries.
    (r"\b(?:left|leave|put) (?:the|my|our) (?:car|van)(?=\W*$| (?:at|in|on|near|by)\b)|\bwhere(?:['’]s| is) (?:the|my|our) (?:car|van)\b|\bdej[eé] (?:el|mi|la) (?:coche|carro|auto|furgo\w*|moto)\b|\bd[oó]nde (?:est[aá]|tengo) (?:el|mi|la) (?:coche|carro|auto|furgo\w*|moto)\b", "parking"),
    (r"\b(?:we|i) land(?:s|ed)?\b|\b(?:plane|flight) (?:\w+ )?(?:arrives?|lands?|gets? in)\b|\baterriz\w+|\blleg\w+ (?:nuestro|el|mi) (?:avi[oó]n|vuelo)\b", "flight landing"),
    (r"\bcheck[- ]?(?:in|out)\b|\bleave the (?:hotel|room)\b|\bdej\w+ (?:el hotel|la habitaci[oó]n)\b", "checkinout hotel"),
    (r"\b(?:train|bus|coach|flight|plane|ferry|boat)s? (?:leaves?|goes|sails|sets off)\b|\bset(?:s|ting)? off(?! by)\b|\bparte (?:mi|el|nuestro) (?:tren|vuelo|avi[oó]n|barco|autob[uú]s|bus)\b|\bzarpa\b", "leave"),
    (r"\bwhere (?:are|will) we (?:be )?(?:sleep|stay)\w*|\bd[oó]nde (?:dormimos|dormiremos|nos (?:quedamos|alojamos|hospedamos))\b", "hotel"),
    (r"\b(?:weekend|week|few days) away\b|\bcity break\b", "trip"),
    (r"\bwhen.{1,20}(?:see|seeing|be at|due at|go to|going to) (?:the|my) (?:\w+ )?(?:doctor|gp|dentist|vet|optician|hairdresser|barber|physio|consultant|solicitor|lawyer)|\bcu[aá]ndo .{0,15}(?:voy|veo|ir|toca|vamos) .{0,8}(?:m[eé]dic[oa]|doctora?|dentista|oculista|veterinari[oa]|peluquer\w+|fisio|abogad[oa])", "appointment"),
    # Health and size.
    (r"\b(?:broke|broken|break|fractured?|sprained|dislocated|cracked|tore|twisted|snapped) (?:my|his|her|a|an) (?:left |right )?(?:wrist|arm|leg|ankle|foot|toe|finger|thumb|hand|hip|knee|elbow|shoulder|nose|ribs?|collarbone|ligament|jaw)\b|\b(?:what|which) bone\b|\bme (?:he )?(?:romp[ií]|roto|fractur\w+|torc[ií]|torcido|disloqu[eé]) (?:el|la|un|una|los|las) \w+|\bqu[eé] (?:hueso )?me (?:romp[ií]|fractur[eé])\b", "injury"),
    (r"\bhad (?:my|his|her) (?:\w+ )?\w+ (?:out|removed)\b|\b(?:hip|knee) replacement\b|\bpr[oó]tesis de (?:cadera|rodilla)\b|\bme (?:sacaron|quitaron|extirparon) (?:el|la|las|los) (?!escayola|puntos|yeso|carn|puesto)\w+", "surgery"),
    (r"\bpresi[oó]n (?:alta|baja|arterial)\b", "bloodpressure health"),
    (r"\bteeth (?:done|cleaned|checked|fixed|whitened)\b|\b(?:does|fixes|cleans|checks|looks after) (?:my|our) teeth\b|\b(?:arregl|mir|limpi|revis)\w+ (?:los dientes|las muelas|la boca)\b", "dentist dental"),
    (r"\b(?:takes?|wears?) (?:an? )?(?:size )?\d\d?\b|\b(?:llevo|uso|lleva|usa) (?:la|el|un|una) \d\d\b|\bde la \d\d$", "size"),
    # Pets.
    (rf"\b(?:come|comen|comer|eats?|feed|feeds|fed|food)\b.{{1,30}}\b{_PETS}|\b{_PETS}\b.{{0,12}}\b(?:eats?|come|comen)\b|\bd\w+ de comer\b.{{0,12}}\b{_PETS}", "petfood"),
    (rf"\b{_PETS}\b.{{0,15}}\b(?:operad[oa]|fixed|snipped)\b", "neuter"),
    (r"\bseat (?:le[oó]n|ibiza|arona|ateca|c[oó]rdoba|altea)\b", "car brand"),
    (r"\ben (?:coche|carro|auto|moto)\b", "transport"),
    (r"\b(?:i['’]?m|am|be|are|is|he['’]s|she['’]s) (?:\w+ )?up (?:at|by|before|around)\b", "wake"),
    (r"\b(?:am|are|is|['’](?:m|re|s)|really|was|were) (?:\w+ )?into\b|\binto\W*$", "like"),
    (r"\bring (?:me|him|her|them|us|you|the|my)\b", "phone"),
    (r"\b(?:hago|hace|hacemos|tengo|estoy) (?:de )?(?:noches|tardes|ma[ñn]anas)\b", "shift"),
    (r"\b(?:off|going|heading) (?:off )?to (?:the )?(?-i:[A-ZÁÉÍÓÚÑ])|\bgoing (?:away|abroad|camping|skiing|on (?:holiday|vacation))\b|\bwhere (?:am|are|is) \w+ going\b", "trip"),
    (r"\b(?:walks?|walking|walked|pase\w+|sac(?:o|a|ar|amos)) (?:the|my|our|al?|mi) (?:\w+ )?(?:dogs?|perr[oa]s?)\b|\bdog[- ]?walker\b|\btakes? (?:the|my|our) dogs? (?:out|for)\b", "dogwalk"),
    (r"\bgod(?:mother|father|parent) (?:to|of)\b|\b(?:madrina|padrino) de\b", "godchild"),
    (r"\b(?:estate|letting|lettings|property) agen(?:t|cy)\b|\brealtor\b|\binmobiliaria\b|\bmanages (?:the|our|my) (?:flat|house|building)\b", "estateagent"),
    (r"\b(?:get|buy|collect|pick up) (?:my |the |our )?(?:prescriptions?|medicines?|meds|medication|pills|tablets)\b|\b(?:compr|recoj|retir)\w+ (?:las |los |mis )?(?:medic\w+|pastillas|remedios|recetas)\b", "pharmacy"),
    (r"\bblood tests?\b", "bloodtest health"),
    (r"\btrial period\b|\bper[ií]odo de prueba\b", "probation"),
    (r"\b(?:stop|quit|finish|give up) working\b|\bdej\w+ de trabajar\b", "retire"),
    (r"\b(?:has|have) (?:still )?to pay\b|\b(?:hasn|haven)['’]?t paid\b|\bnot paid\b|\bno (?:me )?(?:ha|han) pagado\b|\bpendiente de pago\b", "owe"),
    (r"\ba[- ]?levels?\b", "exam study"),
    (r"\bseason ticket (?:for|at) (?-i:[A-ZÁÉÍÓÚÑ])|\b(?:club|team) (?:do|am|did) i\b", "team"),
    (r"\b(?:loyalty|reward|points) card\b|\bcollect points\b|\btarjeta de (?:puntos|fidelidad|fidelizaci[oó]n)\b|\bpuntos de (?:la tarjeta|fidelidad)\b", "loyaltycard"),
    (r"\bcouncil tax\b|\bpay the council\b|\bel ibi\b|\bel predial\b", "counciltax tax"),
    (r"\boverdraft\b|\boverdrawn\b|\bin(?:to)? the red\b|\bdescubierto\b|\bn[uú]meros rojos\b", "overdraft bank"),
    (r"\bbreakdown (?:cover|service)\b|\broadside\b|\bbreaks? down\b|\basistencia en carretera\b|\bla gr[uú]a\b|\bse me aver[ií]a\b|\bme quedo tirad[oa]\b", "roadside"),
    (r"\bpunctures?\b|\bflat (?:tyre|tire)\b|\bpinchazo\b|\b(?:rueda|llanta)s? (?:pinchada|ponchada)\b|\bpinch\w+ (?:una|la) (?:rueda|llanta)\b", "puncture tyre"),
    (r"\bsecret santa\b|\bamigo (?:invisible|secreto)\b", "gift secretsanta"),
    (r"\binside leg\b|\binseam\b|\btrouser length\b|\blargo de(?:l)? pantal[oó]n\b", "inseam size trousers"),
    (r"\bproof of purchase\b|\btickets? de (?:compra|caja)\b", "bill"),
    (r"\b(?:which|what|phone|mobile) network\b|\bcompa[ñn][ií]a (?:de(?:l)? )?(?:m[oó]vil|celular|tel[eé]fono)\b", "phone provider"),
    (r"\bwhat(?:['’]?s| is) wrong with\b|\bqu[eé] le (?:pasa|ocurre) al?\b|\b(?:does|do|is|are)n['’]?t work(?:ing)?\b|\bno funcionan?\b|\bplay(?:s|ing) up\b|\b(?:est[aá]|tengo) .{0,25}rot[oa]s?\b|\bbroke (?:the|my|our) (?:screen|phone|laptop|fridge|tv|car)\b|\bcracked (?:the|my) screen\b|\bmakes? an? \w+ noise\b|\bhace (?:un )?ruido\b", "breakdown"),
    (r"\bmy tablet\b", "tablet"),
    (r"\b(?:me|nos) (?:sientan?|hacen?|caen?) (?:mal|fatal|da[ñn]o)\b|\b(?:bad|no good) for (?:me|us)\b|\b(?:disagrees?|doesn['’]?t agree) with me\b|\bmakes? me (?:ill|sick)\b", "allergy"),
    (r"\bde baja\b|\bsick leave\b|\bsigned off\b|\boff sick\b|\bback (?:at|to) work\b|\bvuelv\w+ al? (?:trabajo|trabajar|curro|oficina)\b|\blicencia m[eé]dica\b", "sickleave"),
    (r"\b(?:my|our) (?:shop|studio|salon|workshop|bakery|caf[eé]|pub|stall|restaurant)\b|\bmi (?:taller|bar|tienda|restaurante|panader\w+|peluquer\w+|negocio)\b|\b(?:el|la) (?:taller|bar|tienda|consulta|despacho) l[oa] ten(?:go|emos)\b", "business"),
    (r"\b(?:been|got|get|getting|was) transferred to (?-i:[A-ZÁÉÍÓÚÑ])|\b(?:me|nos|l[oae]s?) (?:han? )?(?:trasladad[oa]s?|trasladaron|trasladan|destinad[oa]s?|destinaron) a\b", "work"),
    (r"\bya (?:tiene|tengo) (?:1?\d)?\d(?=$|[,;.!])|\bya (?:van|son) \d\d\b(?=$|[,;.!])", "age"),
    (r"\bdriv(?:e|es|ing) (?:an? |the )?(?:\w+ )?(?:bus|tram|lorry|truck|taxi|cab|train|ambulance|forklift|minibus)\b|\bconduzco (?:un |el )?tranv[ií]a\b|\b(?:manej(?:o|a)|conduzco|llevo) (?:un |el )?(?:autob[uú]s|cami[oó]n|taxi|tren|ambulancia|colectivo)\b|\bmy trade\b|\bmi oficio\b|\bestuve (?:\w+ )?a[ñn]os (?:de|como)\b|\bera (?:conductor|maestr|profesor|enfermer|camarer|cociner|carpinter|albañil|fontaner|electricist)\w*\b", "work profession"),
    (r"\b(?:my|his|her|their) (?:first|second|third|fourth|final|last) year of (?!the\b|my\b|school\b|marriage\b|retirement\b|life\b)|\b(?:primer|primero|segundo|tercer|tercero|cuarto|[uú]ltimo) (?:a[ñn]o |curso )?de (?!la\b|el\b|mi\b)(?=\w{4,})|\b(?:what|which) (?:subject|degree|course) (?:am|do|did|was) i\b|\bmy (?:degree|major)\b|\bqu[eé] (?:carrera|grado) (?:hago|curso|estudio)\b", "study degree"),
    (r"\bsoy [^,.]{3,30}, de (?-i:[A-ZÁÉÍÓÚÑ])", "origin"),
    (r"\b(?:band|choir|orchestra|team|football|rugby) practi[cs]e\b|\bdoes (?:the|my|our) (?:choir|band|orchestra) practise\b|\bwe (?:all )?rehearse\b|\bour rehearsals?\b|\b(?:nosotros )?ensayamos\b", "rehearsal music sing"),
    (r"\b(?:i|he|she|we) (?:\w+ )?started (?:working )?(?:at|with) (?!home\b|the (?:gym|end|beginning|top|bottom)\b|\d)(?=.* in (?:\w+ )?\d{4})", "work employer"),
    (r"\ble voy (?:al?|a l[ao]s) (?-i:[A-ZÁÉÍÓÚÑ])|\ba qu[eé] equipo\b", "team sport"),
    (r"\b(?:i|we) used to\b|\byo sol[ií]a\b|\bsol[ií]a(?:mos)? \w+r\b", "habit"),
    (r"\boperat(?:e|es|ing|ed) on (?:me|him|her|us|my)\b|\bme (?:opera|operan|oper[oó]|va a operar)\b|\bsurgeons?\b|\bcirujan[oa]s?\b", "surgery surgeon"),
    (r"[\w.+-]+@[\w-]+\.\w{2,}", "email"),
    (r"\b(?:me puse de novi[oa]|estoy saliendo) con\b", "partner"),
    (r"\b(?:me|nos|l[aeo]s?) (?:han |ha )?(?:puesto|pusieron|pasado|pasaron|toca) de (?:ma[ñn]anas?|tardes?|noches?)\b", "shift"),
    (r"\b(?:i['’]?m|i am|soy) (?:\w+ )?(?:mr|mrs|ms|miss|mx)\.? (?-i:[A-ZÁÉÍÓÚÑ])", "surname name"),
    (r"\b(?:i|we) (?:just |finally )?got married\b|\bnos (?:hemos casado|casamos)\b|\bme (?:he casado|cas[ée])\b", "marital"),
    (r"\bmartial arts?\b|\bartes marciales\b", "martialart"),
    (r"\bwhat do (?:i|we) (?:press|type|dial|key in|punch in|enter)\b|\bqu[eé] (?:pulso|marco|tecleo|pulsamos)\b", "code pin"),
    (r"\b(?:el|la) (?:repartidora?|mensajer[oa])\b|\bdelivery (?:man|driver|guy|woman)\b", "package"),
    (r"\bwater heater\b|\bcalentador de agua\b", "boiler"),
    (r"\b(?:in|of) the boot\b|\bcar boot\b(?! sale)|\b(?:in|of) the trunk\b|\bmaletero\b|\bcajuela\b", "cartrunk"),
    (r"\b(?:usb|memory|flash) (?:stick|drive)\b|\bpen ?drive\b", "usbstick"),
    (r"\bau[- ]pair\b", "babysitter childcare"),
    (r"\bsoci[oa] del (?-i:[A-ZÁÉÍÓÚÑ])|\bseason ticket holder\b", "team"),
    (r"\bwho .{0,12}treats? my (?:back|knees?|shoulder|neck|legs?|hip)\b|\bqui[eé]n me (?:trata|mira) (?:la|el) (?:espalda|rodilla|hombro|cuello|pierna|cadera)\b", "physio"),
    (r"\boff (?:dairy|meat|sugar|gluten|bread|carbs|caffeine)\b", "diet allergy"),
    (r"\b(?:puerta|casa|piso) de al lado\b", "neighbour"),
    (r"\bguinea pigs?\b|\bconejillo de indias\b", "pet animal"),
    *_ROLES_BY_TASK,
    *_RELATIVES,
)  # fmt: skip
"""Patterns of expressions of several words, and their concepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PhraseGroup:
    """Patterns of expressions with their concepts, and one for all of them, which is faster."""

    any_of: re.Pattern[str]
    """Matches a text in lower case if one of the members may match it."""
    members: tuple[tuple[re.Pattern[str], frozenset[str]], ...]


_GROUPED = 8
"""Number of patterns in a group."""


@cache
def _phrase_groups() -> tuple[_PhraseGroup, ...]:
    # Those that begin at a word share the test for its beginning.
    at_words = [one for one in _PHRASES if all(map(_begins_at_word, _alternatives(one[0])))]
    others = [one for one in _PHRASES if one not in at_words]
    return tuple(
        _phrase_group(listed[start : start + _GROUPED], at_word=at_word)
        for at_word, listed in ((True, at_words), (False, others))
        for start in range(0, len(listed), _GROUPED)
    )


def _phrase_group(phrases: Sequence[tuple[str, str]], *, at_word: bool) -> _PhraseGroup:
    return _PhraseGroup(
        any_of=_any_of([pattern for pattern, _ in phrases], at_word=at_word),
        members=tuple(
            (re.compile(pattern, re.IGNORECASE), frozenset(concepts.split()))
            for pattern, concepts in phrases
        ),
    )


_WORD_BEGIN = r"\b"


def _begins_at_word(pattern: str) -> bool:
    return pattern.startswith(_WORD_BEGIN)


def _alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern: what stands between bars that are in no group or class."""
    found, depth, is_class = [""], 0, False
    for part in re.findall(r"\\.|.", pattern):
        is_class = part == "[" or (is_class and part != "]")
        depth += (part == "(") - (part == ")") if not is_class else 0
        if part == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += part
    return found


def _any_of(patterns: Sequence[str], *, at_word: bool) -> re.Pattern[str]:
    """Pattern that matches a text in lower case where one of these may match the text."""
    parts = [part for pattern in patterns for part in _alternatives(pattern)]
    joined = "|".join(part.removeprefix(_WORD_BEGIN) if at_word else part for part in parts)
    # Capitals are not told apart here; `\W` is no capital.
    lower = re.sub(r"(?<!\\)[A-ZÁÉÍÓÚÑ]", lambda found: found[0].lower(), joined)
    lower = lower.replace("(?-i:", "(?:")
    return re.compile(rf"\b(?:{lower})" if at_word else lower)


STOP = STOP_WORDS | frozenset(
    "before previously earlier formerly anteriormente asi stolen extended joined instead robado robada prorrogado stopped stop stops quit gave given cancelled canceled changed change changes switched dropped up down out off turns"
    " dejado deje dejo cancelado cancelada cancelaron cambiado cambiada cambiaron days these nowadays lately some about only"
    " around into avoid avoiding trying try cut ever did called llama solo unos unas ultimo todos todas cada lado parte"
    " also now still just really very actually currently recently please btw got get gets getting"
    " going go goes went known remember tell told say know think one ones thing things last time"
    " ago back more most new usually always anymore longer no not never yes ok okay sorry instead anyway"
    " moment because obviously finally momento since every kind type sort much many long often own used mine yours theirs it s t m ve re d ll"
    " ahi alli aqui aca ahora ya aun todavia tambien actualmente ultimamente recuerda recuerdas sabes dime digo dije"
    " era eran fue fueron estaba estar vez cosa cosas nunca jamas siempre bastante gracias favor"
    " estoy esta estan he ha hemos haber habia sera seria suelo suele perdon mejor realidad"
    " cual cuales quien quienes donde cuando cuanto cuanta cuantos cuantas como que son mia mio mias"
    " mios nuestro nuestra nuestros nuestras muy hay hoy esto eso ese esa este tengo tienes tiene"
    " tenemos have has had having am is are was were been be being do does did done don i we"
    " you he she they them him her his their our us me my your".split()
)
"""Words that do not tell what a text is about, without accents; as part of a concept (`stopped`)
they count."""


def is_function_word(folded: str) -> bool:
    """Check whether a word (lower case, no accents) says nothing about a topic."""
    return folded in STOP


_LIGHT_WORDS = (
    "need needs needed put puts putting nuevo nueva nuevos nuevas voy vas va van ir iba hago haces hace hacen hacer doing make makes making da das dan puedo puede"
    " puedes poder quiero quiere quieres estamos estuve all too right good best tal mr mrs ms dr again"
    " after over along until want wants see use uses uso usa says said dice dijo day days year years"
    " month months week weeks dia dias mes meses ano hora horas todo toda fin asi bit must take takes due"
    " taking took brings happened first while mientras"
)
"""Words that tell little of what a text is about; two texts may have nothing else in common."""


@cache
def light() -> frozenset[str]:
    """Stems of words that tell little."""
    return frozenset(map(_stem, _LIGHT_WORDS.split()))


WEEKDAY_CONCEPTS = frozenset({
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
})  # fmt: skip


class ValueType(StrEnum):
    """Kind of value in a statement; a value is replaced by another of the same kind."""

    DAY = "day"
    TIME = "time"
    COLOUR = "colour"
    HANDLE = "handle"
    """Address on the net or password: `@ana`, `ana@example.org`, `otter-lamp-22`."""
    NUMBER = "number"
    NAME = "name"


MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|enero|febrero|marzo|abril|mayo|junio|julio"
    "|agosto|septiembre|octubre|noviembre|diciembre"
)
WEEKDAYS = (
    "mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?"
    "|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados?|domingos?"
)
TIME_BEHIND = (
    r"(?: (?:(?:just )?now|yesterday|today|earlier|recently|lately|instead|at last|last night"
    r"|the other (?:day|week)|this (?:morning|afternoon|evening|week|month|year)"
    rf"|last (?:week|month|year|summer|winter|spring|autumn)|(?:on |last )(?:{WEEKDAYS})"
    r"|(?:a|an|one|two|three|a few) (?:days?|weeks?|months?|years?) ago|ahora|ayer|anteayer|hoy"
    r"|anoche|el otro d[ií]a|(?:la semana|el mes|el a[ñn]o) pasad[oa]|hace (?:un |una )?\w+ \w+"
    rf"|esta (?:ma[ñn]ana|tarde|semana)|este (?:mes|a[ñn]o)|el (?:{WEEKDAYS})))+$"
)
"""Expression of time behind what was done: `I got a Mini last week`."""
_COLOURS = (
    "red|green|blue|yellow|orange|purple|pink|black|white|gr[ae]y|brown|turquoise|violet|gold"
    "|silver|beige|navy|teal|rojo|roja|verde|azul|amarill[oa]|naranja|morad[oa]|rosa|negr[oa]"
    "|blanc[oa]|gris|marr[oó]n|turquesa|violeta|dorad[oa]|platead[oa]|granate"
)
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    "|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince"
    "|diecis[eé]is|diecisiete|dieciocho|diecinueve|veinti[a-zéó]+|veinte"
    "|(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)"
    "(?: y (?:un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve))?"
)
_AMOUNT = (
    r" ?(?:(?:an?|per) (?:hour|day|week|month|year)|/ ?h|€|£|\$|(?:euros?|eur|pounds?|quid|dollars?"
    r"|kg|kilos?|km|miles?|each|metres|meters|m|l|litres|la hora|por hora|al (?:mes|d[ií]a))\b)"
)
"""Unit behind a number that is no time: `7.50 an hour`."""
TYPED: Mapping[ValueType, re.Pattern[str]] = {
    ValueType.DAY: re.compile(
        rf"\b(?:(?:{WEEKDAYS})(?:,? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)?"
        rf"|(?:the |el |el d[ií]a )?\d{{1,2}}(?:st|nd|rd"
        rf"|th)?(?: of)? (?:de )?(?:{MONTHS})\b\.?(?:,? (?:de )?\d{{4}})?"
        rf"|(?:{MONTHS})\b\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
        rf"|(?:{MONTHS})(?:,? (?:de )?\d{{4}})?"
        # "7-3-9-1" is a code.
        r"|(?<![\d/-])\d{1,2}[/-]\d{1,2}(?:[/-]\d{2,4})?(?![/-]\d)|\d{4}-\d\d-\d\d|tomorrow|tonight"
        r"|(?<!la )ma[ñn]ana(?!,? (?:y )?(?:noche|tarde))"
        # "7.30" is a time, and so is "at 9.10".
        # And "he's 5.1 now" is a weight.
        r"|(?<!at )(?<!las )(?:0?[1-9]|[12]\d|3[01])\.(?:(?:0?[1-9]|1[0-2])\.\d{2,4}"
        r"|(?:(?<=\bon \d\.)|(?<=\bon \d\d\.)|(?<=\bel \d\.)|(?<=\bel \d\d\.)|(?<=\bby \d\.)"
        r"|(?<=\bby \d\d\.)|(?<=\d\d\.)(?=[01]\d))(?:0?[1-9]|1[0-2])(?!\d))"
        r"|tmrw?|tmw|tomoz|2moro|tues|weds?|thurs?"
        r"|the \d{1,2}(?:st|nd|rd|th)|el (?:d[ií]a )?\d{1,2}|next (?:week|month|year)"
        # "La han pasado al 5".
        r"|(?<=al )(?:d[ií]a )?(?:[1-9]|[12]\d|3[01])(?=$|[,;!]| a las?\b)"
        r"|la semana que viene|(?:(?<=in )|(?<=en )|(?<=since )|(?<=desde )|(?<=de )|(?<=del )"
        r"|(?<=of )|(?<=until ))(?:19|20)\d\d(?! ?(?:euros?|eur\b|€|dollars?|d[oó]lares|pounds?"
        r"|libras"
        r"|pesos|kilos|kg|km|metros|met\w+|miles|people|personas|calor\w+|steps|pasos)))\b",
        re.IGNORECASE,
    ),
    ValueType.TIME: re.compile(
        rf"\b(?:(?<![£$€.,])\d{{1,2}}[:.][0-5]\d(?![\d.]|{_AMOUNT})(?: ?[ap]\.?m\b\.?| ?h)?|\d{{1,2}} ?(?:[ap]\.?m\b\.?|h\b)"
        rf"|(?:\d{{1,2}}|{_NUMBER_WORDS}) o['’]clock"
        rf"|(?<!from )(?:(?:five|ten|twenty|twenty-five|a quarter|quarter|half|\d{{1,2}}) (?:past|to)|half) (?:\d{{1,2}}|{_NUMBER_WORDS})\b"
        rf"|at \d{{1,2}} ?[ap]\.?m\b\.?|at (?:\d{{1,2}}|{_NUMBER_WORDS})\b(?![:.]\d| (?-i:[A-ZÁÉÍÓÚÑ][a-z]))|noon|midnight"
        rf"|a la (?:1\b|una)|a las (?:\d{{1,2}}(?![\d:.]*\d)|{_NUMBER_WORDS})(?: y media| (?:y|menos) (?:cuarto|cinco|diez|veinte|veinticinco))?)",
        re.IGNORECASE,
    ),
    # "Orange" with a capital is a firm.
    ValueType.COLOUR: re.compile(
        rf"\b(?!(?<=\w )(?-i:[A-Z]))(?:(?:dark|light) )?(?:{_COLOURS})\b", re.IGNORECASE
    ),
    ValueType.HANDLE: re.compile(
        r"(?<!\w)@[\w.-]+|\b[\w.+-]+@[\w.-]+\w|\bhttps?://\S+|\bwww\.\S+|(?<![\w-])[a-zA-Z]{3,}(?:[-_][a-zA-Z]+)*[-_]?\d\w*(?:-\w+)*\b(?!-)"
    ),
    ValueType.NUMBER: re.compile(
        r"\b\d (?:foot|feet|ft) \d{1,2}\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|(?<![\w.])[+#]?\d[\d.,/-]*(?: \d[\d.,/-]*)*(?:[¼½¾](?!\w)|(?: and a half| y medi[oa]"
        r"| mil(?:lones)?(?: y medio)?)\b|[a-z]{0,3}\b)|\b(?!O2\b)[A-Z]*\d+[A-Z\d]*\b"
        rf"|\b(?:(?!one\b|un[oa]?\b|once (?:an?|in|every|per|i|we|the|he|she|they|upon)\b)(?:{_NUMBER_WORDS}))\b(?: mil(?:lones)?\b)?(?: y medio\b)?"
    ),
    ValueType.NAME: re.compile(
        r"(?<![.!?¿¡]\s)(?<!^)(?<!^[\"“«])\b(?!I\b|I['’]|(?:OK|GP|MOT|TV)\b)[A-ZÁÉÍÓÚÑÜ][\w'’-]*"
        r"(?: (?:de |del |la |van |von |of |the )?[A-ZÁÉÍÓÚÑÜ][\w'’-]*)*"
    ),
}
"""Patterns of values. Order matters: a date is no number, a weekday is no name."""


_COUNT = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thir\w+|fif\w+|twenty|forty"
    r"|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|dozen|couple|half|quarter|once|twice|an? (?:day|week"
    r"|month"
    r"|year)|every|each|only|no|never|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece"
    r"|catorce"
    r"|quince|veint\w+|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien\w*|mil"
    r"|media|par"
    r"|docena|cada|ningun[oa]?|nunca|vez|veces)\b",
    re.IGNORECASE,
)
"""Numbers in words, and words that count."""


def has_count(text: str) -> bool:
    """Check whether a text has a number in words, or a word that counts: `twice`, `no`."""
    return bool(_COUNT.search(text))


@lru_cache(maxsize=2000)
def typed_values(text: str) -> Mapping[ValueType, tuple[tuple[int, int], ...]]:
    """Spans of the typed values of a text; a span has one type only."""
    taken: list[tuple[int, int]] = []
    found: dict[ValueType, tuple[tuple[int, int], ...]] = {}
    for kind, pattern in TYPED.items():
        spans = [
            (match.start(), match.start() + len(match[0].rstrip(" .,/-'’")))
            for match in pattern.finditer(text)
            if not any(match.start() < end and start < match.end() for start, end in taken)
        ]
        if kind in (ValueType.TIME, ValueType.NUMBER):
            spans = _with_ranges(text, spans)
        if kind is ValueType.NUMBER and (hours := [one for one in spans if _is_hour(text, *one)]):
            found[ValueType.TIME] = (*found.get(ValueType.TIME, ()), *hours)
            spans = [one for one in spans if one not in hours]
        if spans:
            taken += spans
            found[kind] = tuple(spans)
    return found


def _is_hour(text: str, start: int, end: int) -> bool:
    """Check whether a number is the hour to which something was moved."""
    is_last = not text[end:] or text[end] in ",;." or text.startswith((" in ", " on "), end)
    return is_last and bool(
        _BARE_HOUR.fullmatch(text, start, end) and _MOVED_TO.search(text, 0, start)
    )


RANGE = re.compile(r"(?: ?[-–] ?| (?:to|till|until|a|hasta) )(?:las? )?", re.IGNORECASE)
"""Words between the two hours of a range."""
_BEFORE_CHANGE = re.compile(
    r"\b(?:mov|chang|shift|went|gone|go(?:es|ing)?|rais|rose|risen|increas|cut|drop|reduc|push|subi"
    r"|sube|baj|pas[aoó]|cambi|aument|adelant|retras)\w*(?: \w+){0,3} (?:from|del?(?: las?)?) $",
    re.IGNORECASE,
)
"""Words before a change from one value to another: `they moved it from 3 to 5`."""
_HOUR = re.compile(
    r"(?:at |a las? )?(?:(?:[01]?\d|2[0-4])(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| ?h)?|one|two|three|four"
    r"|five|six|seven|eight|nine|ten|eleven|twelve|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve"
    r"|diez|once|doce)$",
    re.I,
)


_DIFFERENCE = re.compile(
    r"\b(?:(?:put|go(?:es|ne|ing)?|went|rais\w*|increas\w*|rose|risen|cut|reduc\w*|dropp?\w*|fell"
    r"|fallen|lower\w*|up|down)\b[^,;.]*? by|(?:put|go(?:es|ne)?|went|bump\w*)\b[^,;.]*? (?:up|down)"
    r"|lost|gained|put on|another|an extra"
    r"|(?:sub|baj|aument|reba?j|perd|engord|adelgaz)(?:ido|ado|i[oó]|í|é|[oó]|ieron|aron))"
    r" (?:about |around |some |only |just |otros |unos )?[£$€]?$",
    re.IGNORECASE,
)
"""Words before the amount by which something becomes more or less."""
_BARE_HOUR = re.compile(r"1?\d|2[0-4]")
_MOVED_TO = re.compile(
    r"\b(?:mov(?:ed|ing)|brought|pushed|shifted|put|rescheduled|it['’]?s)\b"
    r"(?: (?!up\b|prices?\b|rents?\b|fees?\b|limit\b)[\w'’-]+){0,5} (?:back |forward )?to $",
    re.IGNORECASE,
)
"""Words before the hour to which something was moved: `they've moved the meeting to 11`."""


def _with_ranges(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, with both hours of a range as one: `from 9 to 5`."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        is_range = (
            bool(found)
            and RANGE.fullmatch(text, found[-1][1], start) is not None
            and all(_HOUR.match(text[slice(*one)]) for one in (found[-1], (start, end)))
            and not _BEFORE_CHANGE.search(text, 0, found[-1][0])
        )
        found.append((found.pop()[0] if is_range else start, end))
    return found


@lru_cache(maxsize=2000)
def values_of_part(text: str) -> Mapping[ValueType, tuple[tuple[int, int], ...]]:
    """Spans of the typed values of a part of a sentence. A capital at its beginning makes a name,
    as it does not at the beginning of a sentence; that of a word of function (`We`) does not. The
    amount by which something changes is none: `they put it up by 50`."""
    mark = "· "
    values = {
        kind: tuple((start - len(mark), end - len(mark)) for start, end in spans)
        for kind, spans in typed_values(mark + text).items()
    }
    if numbers := values.pop(ValueType.NUMBER, ()):
        kept = tuple(one for one in numbers if not _DIFFERENCE.search(text[: max(one[0], 0)]))
        values |= {ValueType.NUMBER: kept} if kept else {}
    names = values.pop(ValueType.NAME, ())
    # "A Ana le gusta": the preposition is no part of the name.
    names = tuple(
        (start + len("A ") if text[max(start, 0) : end].startswith("A ") else start, end)
        for start, end in names
    )
    if names := tuple(one for one in names if one[0] > 0 or not _is_stop(text[slice(*one)])):
        values[ValueType.NAME] = names
    return values


def tells_difference(text: str) -> bool:
    """Check whether a text tells by how much something has changed, and not to what: `they put it
    up by 50`, `I've lost 3 kilos`."""
    return ValueType.NUMBER in typed_values(text) and ValueType.NUMBER not in values_of_part(text)


def _is_stop(word: str) -> bool:
    """Check whether a word is one of function, maybe with a verb: `They`, `They've`."""
    return re.split("['’]", word.lower())[0] in STOP


@lru_cache(maxsize=2000)
def phrase_concepts(text: str) -> frozenset[str]:
    """Concepts of the expressions of several words of a text."""
    lower = text.lower()
    return frozenset().union(
        *(
            found
            for group in _phrase_groups()
            if group.any_of.search(lower)
            for one, found in group.members
            if one.search(text)
        )
    )


@lru_cache(maxsize=5000)
def concepts_of(text: str) -> frozenset[str]:
    """Concepts of a text, and stems of its words that have none: `I live in Rome` gives `home` and
    a stem of `rome`. Words of function (STOP) give none. Takes about two milliseconds for 1000
    characters; cached, since several rules ask for those of one message."""
    return phrase_concepts(_QUOTED.sub(" ", text)) | word_concepts(text)


@lru_cache(maxsize=5000)
def word_concepts(text: str) -> frozenset[str]:
    """The same without those of expressions of several words, which take most of the time."""
    text = _IDIOM.sub(" ", _without_relatives(_NO_WORD.sub("", _QUOTED.sub(" ", text))))
    found: set[str] = set()
    before = ""
    for word in split_words(text):
        folded = strip_accents(word)
        found |= _concepts_of_word(folded, is_definite=before in _DEFINITE)
        before = folded
    return frozenset(found)


@lru_cache(maxsize=2000)
def stems_of(text: str) -> frozenset[str]:
    """Stems of the words of a text, without those of function: words that share a concept
    (`asthma`, `depression`) are told apart by them."""
    folded = map(strip_accents, split_words(text))
    return frozenset(_stem(word) for word in folded if len(word) > 1 and word not in STOP)


@lru_cache(maxsize=5000)
def _concepts_of_word(word: str, *, is_definite: bool) -> frozenset[str]:
    known = _table().concepts.get(word) or _inflected(word)
    if known is None and _MEDICINE.fullmatch(word):
        known = frozenset({"medicine"})
    if known is None:
        known = _typo(word)
        if known is not None:
            return known
        is_empty = word in STOP or word.isspace() or (len(word) == 1 and not word.isdigit())
        return frozenset() if is_empty else frozenset({_stem(word)})
    if word in STOP:
        return known
    if is_definite:
        # "My barber" says nothing about a profession, "a barber" does.
        known -= {"profession"}
    # "Milk" is food, but tells more than that.
    return known | {_stem(word)} if known <= _table().classes else known


_MEDICINE = re.compile(
    r"(?!april)\w+(?:pril|sartan|[zx]epam|zolam|prazole?|[aou]?statin[ae]?|olol|coxibe?|proxeno?|cilina|cillin|micina"
    r"|mycin|profen[oe]?|floxacin[oe]?|gliptina?|dipin[oe]|oxetin[ae]|semid[ae]|formina?|clamid[ae]"
    r"|latonin[ae]?|amol|spirin[ae]?|insulin[ae]?|butamol|prednison[ae]|tiroxina|thyroxine)"
)
"""Endings of the names of medicines, without accents."""
_QUOTED = re.compile(
    r"«(?:[^\s«»]+\s+){3}[^«»]*»|“(?:[^\s“”]+\s+){3}[^“”]*”|\"(?:[^\s\"]+\s+){3}[^\"]*\""
)
"""A quoted sentence of more than three words: others say it. A shorter quotation is a title or a
name."""
_NO_WORD = re.compile(
    r"(?<=\bwi)-(?=fi\b)|(?<=\bstep)[- ](?=\w{3})|(?<=\w)[- ](?=in[- ]law\b)"
    r"|(?<=[- ]in)[- ](?=law\b)"
    r"|(?<!\bto )(?<!\band )(?<!\bor )(?<!\bof )(?<!\bwith )(?<!\beat )\bsoy (?!milk|sauce|bean"
    r"|protein|yog|latte|allerg|flour|oil|free|products?\b)"
    r"|(?<!\bun )(?<!\bel )(?<!\bde )(?<!\bal )(?<!\bmi )\bte (?=\w)"
    r"|\bson (?=\d|mis?\b|l[oa]s\b|un[oa]s\b|el\b|de\b)|(?<=[aeo]s )son\b|(?<=\bno )son\b|(?<=\bya )son\b"
    r"|\b(?:as an?|when i was an?|de|desde|cuando era) (?:little |young |small )?(?:kid|child|boy"
    r"|girl|lad|lass"
    r"|teenager|cham[oa]|chav[oa]|pib[ea]|ni[ñn][oa]|chic[oa]|peque[ñn][oa]|joven|cr[ií][oa])\b",
    re.IGNORECASE,
)
"""What stands between the parts of a single word (`wi-fi`, `mother-in-law`), Spanish words that
look like English ones or, without accents, like others (`son`, `soy`, `te`), and the speaker's
childhood, which is no child's."""
_IDIOM = re.compile(
    r"\b(?:for a living|set off by|r[au]n(?:s|ning)? out|get along|got along|up to|ended up|fed up"
    r"|put me on|(?:(?<=['’]s)|\b(?:is|was|are|were|be|been|came|come|comes|got|get|back"
    r"|go|goes|going|went|gone|stay\w*))(?: now| back| all)? home(?! of\b| address\b)"
    r"|look(?:s|ed)? after|se casan?|pa(?= (?:el|la|los|las|que|(?-i:[A-ZÁÉÍÓÚÑ])))"
    r"|vacuum cleaners?|remote controls?|parents['’]? evening"
    r"|(?:reuni[oó]n|junta) (?:de|con(?: los)?) padres"
    r"|(?:(?<=\bwork )|(?<=\bworking ))(?:from|at) home|(?<=mostly )from home|(?<=days )from home"
    r"|(?:(?<=\btrabajo )|(?<=\btrabajar ))(?:desde|en) casa|(?<=\bcalentador )de agua"
    r"|(?:date|day) of birth|fecha de nacimiento"
    r"|llevan? las cuentas|carnés?|(?-i:Correos)"
    # The vet's dog would be asked for.
    rf"|(?:treats?|vaccinates?|atiende|vacuna) (?:my|our|the|{_NUESTRO}) {_PETS})\b",
    re.IGNORECASE,
)
"""Expressions whose words mean something else by themselves."""


_BY_RELATIVE = re.compile(r"['’]s? | de (?:mi|nuestr[oa]) ", re.IGNORECASE)


@cache
def _relatives_of_relatives() -> re.Pattern[str]:
    return re.compile("|".join(pattern for pattern, _ in _RELATIVES), re.IGNORECASE)


def _without_relatives(text: str) -> str:
    """The text without the relatives that are told by another one, whose words by themselves would
    mean that one, or a relative of the speaker: `my wife's dad` is neither my wife nor my dad."""
    return _relatives_of_relatives().sub(" ", text) if _BY_RELATIVE.search(text) else text


_DEFINITE = frozenset("my our your the mi mis tu tus nuestro nuestra el la al del".split())

_ENDING = re.compile(r"(?<=\w{4})[aeo]s?$")
STEM = "~"
"""Mark of a stem, which has the same letters as some concept."""


@lru_cache(maxsize=5000)
def _stem(word: str) -> str:
    """The stem, the same for both genders and numbers of a Spanish noun."""
    return STEM + _ENDING.sub("", stem_word(word, ENGLISH))


_ENDINGS = (
    # English: plural, third person, past, participle.
    *(("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e")),
    # Spanish nouns: plural, gender, diminutive.
    *(("as", "o"), ("a", "o"), ("ces", "z"), ("citos", ""), ("citas", ""), ("cito", ""), ("cita", "")),
    *((f"{one}{gender}{number}", gender) for one in ("it", "ill") for gender in "oa" for number in ("", "s")),
    *((f"ita{number}", "o") for number in ("", "s")),
    # Spanish verbs, from their infinitive; with a pronoun behind it.
    *((ending, "ar") for ending in "o as a amos ais an e aste asteis aron aba abas abamos aban are ara ado ando".split()),
    *((ending, infinitive) for infinitive in ("er", "ir") for ending in "o es e emos imos eis en i iste io ieron ia ias iamos ian ere era ido iendo".split()),
    *((f"{infinitive}{pronoun}", infinitive) for infinitive in ("ar", "er", "ir") for pronoun in ("me", "te", "se", "nos", "lo", "la", "le", "los", "las", "les")),
)  # fmt: skip
"""Endings of inflected words, and those of the forms in the table."""
_MIN_BASE_CHARS = 3


@lru_cache(maxsize=5000)
def _inflected(word: str) -> frozenset[str] | None:
    """Concepts of the word of which this is another form, if the table has that: `biked`."""
    if len(word) <= _MIN_BASE_CHARS or word in STOP or word in _table().apart:
        return None
    concepts = _table().concepts
    for ending, base_ending in _ENDINGS:
        base = word.removesuffix(ending)
        if len(base) < _MIN_BASE_CHARS or base == word:
            continue
        if found := concepts.get(base + base_ending):
            return found
        # "Jogging": the consonant is doubled.
        is_doubled = len(base) > _MIN_BASE_CHARS and base[-1] == base[-2]
        if ending in ("ed", "ing") and is_doubled and (found := concepts.get(base[:-1])):
            return found
    return None


def _typo(word: str) -> frozenset[str] | None:
    """Concepts of the word that was meant, if one letter is missing, wrong or too many."""
    if len(word) < MIN_TYPO_CHARS - 1 or word in STOP or word in _table().apart:
        return None
    if word.endswith("eria"):
        # "Panadería" is not "panadera".
        return None
    if found := _typos().get(word):
        return found
    concepts = _table().concepts
    shorter = (word[:at] + word[at + 1 :] for at in range(1, len(word)))
    return next(
        (concepts[one] for one in shorter if len(one) >= MIN_TYPO_CHARS and one in concepts), None
    )


@lru_cache(maxsize=2000)
def value_key(text: str) -> frozenset[str]:
    """Words of a value, for comparison: without case, accents, articles and prepositions. Cached,
    since statements are compared again and again."""
    return frozenset(
        folded
        for word in split_words(text)
        if (folded := strip_accents(word)) not in {"at", "the", "a", "las", "la", "el", "of", "de"}
    )


def words_of(concepts: frozenset[str]) -> list[str]:
    """The usual words of these concepts, at most _SHOWN_WORDS of each; stems have none."""
    words = _table().words
    return [word for name in sorted(concepts & words.keys()) for word in words[name][:_SHOWN_WORDS]]
