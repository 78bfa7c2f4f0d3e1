"""RuleExtractor: facts by rules, without a model; contradiction between exclusive facts.

Facts are read from first-person statements. Exclusive ones have one value at a time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from spade_llm.memory.contract import MemoryDraft, MemoryEntry, ObservedMessage
from spade_llm.memory.learning.episodes import speaker_name
from spade_llm.memory.learning.fact_rules import (
    DEFAULT_SPEAKER_NAMES,
    LIKE_TEMPLATES,
    RULES,
    ExclusiveFact,
    FactRule,
    ValueForm,
)
from spade_llm.memory.learning.learning_contract import (
    EpisodeReading,
    ExtractedFacts,
    KnownMemories,
    current_about_subject,
)
from spade_llm.memory.learning.novelty import strip_quotes, topic_stems
from spade_llm.search.language import split_sentences
from spade_llm.search.memory_query import (
    FACT_TYPES,
    MemoryFilter,
    MemoryQuery,
    Origin,
    SearchMode,
)
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.features import related_words

MAX_WORDS = {
    ValueForm.NAME: 4,
    ValueForm.PLACE: 6,
    ValueForm.DATE: 6,
    ValueForm.THING: 12,
    ValueForm.LANGUAGE: 4,
    ValueForm.HABIT: 16,
    ValueForm.WORK: 12,
}

_ANAPHORA = re.compile(
    r"(?:it|this|that|these|those|them|him|her|you|your|yours|how|what|the way|when|where|one|both"
    r"|all|everything|nothing|something|here|there|not|no|never|lo|eso|esto|est[ae]s?|es[ae]s?|aquí"
    r"|ahí|all[íá]|tus?|t[uú]|usted|cuando|cómo|como|que|qué|todo|nada|algo|ell[oa]s?|él)\b",
    re.IGNORECASE,
)
"""Words that refer to something outside the sentence."""
_DENIED = re.compile(
    r"\b(?:not|never|nobody|nothing|no longer|anymore|\w+n['’]t|nunca|jam[aá]s|tampoco)\b"
    r"|\b(?:you|your|yours|t[uú]|tus?|te|ti|usted)\b",
    re.IGNORECASE,
)
_INDEFINITE = re.compile(
    r"(?:an?|my|his|her|their|our|some|the|un|una|mi|su|el|la|los|las)\s+(?![A-ZÀ-Þ])"
)
_DEFINITE = re.compile(r"the (?![A-Z])")
"""`I love the red one` means something that was just spoken of."""
_NOT_A_NAME = re.compile(
    r"\b(?:later|back|soon|again|now|today|tonight|tomorrow|at|on|if|after|before|maybe|crazy|old|by"
    r"|every|each|time|whenever|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|stupid|idiot"
    r"|luego|después|mañana|hoy|ahora|cuando|pronto|a las?|por|cada|al?|loc[oa]|tont[oa]"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|\d",
    re.IGNORECASE,
)
_NOT_A_PLACE = re.compile(
    r"(?:fear|hope|peace|poverty|denial|harmony|hell|paz|miedo|pecado)\b|\w+['’]s\b"
    r"|\b(?:plan|step|phase|stage|version|level|page|slide|chapter|task|topic|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|python|java\w*|typescript|rust|golang|kotlin|swift|linux|ubuntu"
    r"|debian|windows|mac(?:os)?|android|ios|docker|kubernetes|git\w*|slack|teams|zoom|gmail|outlook"
    r"|chrome|firefox|postgres\w*|mysql|sqlite|aws|azure|cloud|nube)\b",
    re.I,
)
"""A mood, a meeting, or what people move to without moving house."""
_WORK_CIRCUMSTANCE = re.compile(
    r"(?:free|peanuts|nothing|fun|a living|a while|nights?|home|weekends?|money|hours|years?"
    r"|the moment|equipo|pijama|casa|remoto|ello|silencio|vano|exceso|noches?|d[ií]a|tarde|mañana"
    r"|lunes|pie|gratis|mí|lo|un[oa]? (?:burr|loc|negr|esclav|animal|mul|condenad)[a-z]*"
    r"|\w+[aei]r)\b",
    re.IGNORECASE,
)
"""Words about the manner, time or reason of a person's work, rather than the workplace or role."""
_LANGUAGE_NAME = re.compile(
    r"(?:arabic|basque|bengali|bulgarian|catalan|chinese|croatian|czech|danish|dutch|english|finnish"
    r"|french|galician|german|greek|hebrew|hindi|hungarian|indonesian|irish|italian|japanese|korean"
    r"|latin|mandarin|norwegian|persian|polish|portuguese|punjabi|romanian|russian|serbian|slovak"
    r"|spanish|swahili|swedish|tamil|thai|turkish|ukrainian|urdu|vietnamese|welsh"
    r"|[aá]rabe|alem[aá]n|bengal[ií]|b[uú]lgaro|castellano|catal[aá]n|checo|chino|coreano|croata"
    r"|dan[eé]s|espa[ñn]ol|euskera|fin[eé]s|franc[eé]s|gallego|griego|hebreo|h[uú]ngaro|indonesio"
    r"|ingl[eé]s|irland[eé]s|italiano|japon[eé]s|lat[ií]n|neerland[eé]s|noruego|persa|polaco"
    r"|portugu[eé]s|rumano|ruso|serbio|sueco|tailand[eé]s|turco|ucraniano|valenciano|vasco"
    r"|vietnamita)\b",
    re.I,
)
_TEMPORARY = re.compile(
    r"\bit\b|\b(?:opci[oó]n|option|idea|propuesta|proposal|versi[oó]n|primer[oa]?|segund[oa]|tercer[oa]?"
    r"|otr[oa]s?|[uú]ltim[oa]s?|in this|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
    r"|^(?:to (?:wait|see|stay|leave|skip|pass)|esperar|ver|dejar|\w+[aei]rl[oa]s?)\b",
    re.I,
)
"""Words for temporary preferences or possessions, and for jokes."""
_DATE = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b",
    re.IGNORECASE,
)
_NOT_A_DATE = re.compile(
    r"\b(?:today|tomorrow|yesterday|soon|next|last|this|hoy|ma[ñn]ana|ayer)\b|^\d{4}$", re.I
)
_HABIT = re.compile(
    r"\b(?:every|each|daily|weekly|weekends?|mornings?|afternoons?|evenings?|nights?|before|after"
    r"|at \d|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"(?:\w+ed|was|were|had|did|went|been|thought|felt|knew|the|a|an|my|i)\b", re.I)


def is_valid_value(x: str, rule: FactRule, has_capitals: bool) -> bool:
    if not x or len(x.split()) > MAX_WORDS[rule.form]:
        return False
    if _ANAPHORA.match(x) or _DENIED.search(x) or not topic_stems(x):
        return False
    return has_form(x, rule, has_capitals)


def has_form(x: str, rule: FactRule, has_capitals: bool) -> bool:
    match rule.form:
        case ValueForm.NAME:
            is_name = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_name and not _NOT_A_NAME.search(x)
        case ValueForm.PLACE:
            is_place = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_place and not _NOT_A_PLACE.search(x) and not x[0].isdigit()
        case ValueForm.DATE:
            return bool(_DATE.search(x)) and not _NOT_A_DATE.search(x)
        case ValueForm.HABIT:
            return bool(_HABIT.search(x)) and not _PAST.match(x)
        case ValueForm.THING:
            is_one_thing = rule.slot is ExclusiveFact.TASTE and _DEFINITE.match(x)
            return not is_one_thing and not _TEMPORARY.search(x)
        case ValueForm.WORK:
            return not _WORK_CIRCUMSTANCE.match(x) and not _TEMPORARY.search(x)
        case ValueForm.LANGUAGE:
            return bool(_LANGUAGE_NAME.match(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusiveValue:
    """Value that a fact gives to an exclusive slot."""

    slot: ExclusiveFact
    key: frozenset[int]
    """Key of the value in slots with several values, for instance a name or a thing; empty in other
    slots."""
    value: frozenset[int]

    def contradicts(self, other: ExclusiveValue) -> bool:
        """`Lisbon` and `Lisbon, Portugal` do not."""
        if (self.slot, self.key) != (other.slot, other.key):
            return False
        return not (self.value <= other.value or other.value <= self.value)


def exclusive_value(rule: FactRule, x: str, y: str) -> ExclusiveValue | None:
    """Value of the rule's slot; None: any number of such facts may hold."""
    match rule.slot:
        case None:
            return None
        case ExclusiveFact.TASTE:
            value = frozenset({int(rule.template in LIKE_TEMPLATES)})
            return ExclusiveValue(slot=rule.slot, key=topic_stems(x), value=value)
        case ExclusiveFact.CHOICE:
            return ExclusiveValue(
                slot=rule.slot, key=topic_stems(x) | topic_stems(y), value=topic_stems(x)
            )
        case _:
            return ExclusiveValue(slot=rule.slot, key=topic_stems(y), value=topic_stems(x))


def parse_exclusive_fact(content: str, names: Collection[str]) -> ExclusiveValue | None:
    """Parse a fact about one of `names` into the exclusive slot that it fills.

    Returns None if it is about another person, if its value does not fit the slot, or if there may
    be any number of such facts.
    """
    text = content.strip().rstrip(".")
    for rule in RULES:
        if (
            rule.slot
            and (found := _template_pattern(rule).fullmatch(text))
            and _is_named(found["who"], names)
        ):
            groups = found.groupdict()
            if _is_value(groups["x"], rule):
                return exclusive_value(rule, groups["x"], groups.get("y") or "")
    return None


def exclusive_search_words(slot: ExclusiveFact) -> str:
    """The words of the slot's templates and values in all languages: a fact that contradicts
    another may share no word with it (`is single`, `está casada`)."""
    rules = [rule for rule in RULES if rule.slot is slot]
    templates = (re.sub(r"\{\w+\}(?:'s)?", " ", rule.template) for rule in rules)
    return " ".join([*templates, *(value for rule in rules for value in rule.values)])


def _has_capital(x: str, has_capitals: bool) -> bool:
    """Names begin with one, unless the whole message was written without."""
    return (
        not has_capitals
        or any(word[0].isupper() and word != "I" for word in x.split())
        or not x.isascii()
    )


def _is_value(x: str, rule: FactRule) -> bool:
    """Check whether `x` is an allowed value of the rule: a template such as `… is {x}` is a diet
    only if `x` is one."""
    if rule.values:
        return topic_stems(x) in map(topic_stems, rule.values)
    return has_form(x, rule, has_capitals=x != x.lower())


def _is_named(who: str, names: Collection[str]) -> bool:
    return who.casefold() in {name.casefold() for name in names}


@cache
def _template_pattern(rule: FactRule) -> re.Pattern[str]:
    pattern = re.escape(rule.template)
    for group, inside in (("who", ".{1,60}?"), ("x", ".+"), ("y", ".+?")):
        pattern = pattern.replace(re.escape(f"{{{group}}}"), f"(?P<{group}>{inside})")
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


MAX_MESSAGE_CHARS = 1500
"""A longer one is more likely pasted than said."""
MAX_CLAUSE_CHARS = 200

_I = re.IGNORECASE

_TASK = re.compile(
    r"\b(?:translat\w+|rewrite|rephrase|paraphrase|proofread|spell-?check|summari[sz]e"
    r"|correct (?:this|the|my)|write (?:a|an|me|the|my)|draft|compose|role-?play\w*"
    r"|pretend\w*|act as|story|lyrics|poem|novel|fictional|my character"
    r"|fix (?:this|the|my) (?:text|sentence|grammar)"
    r"|traduc\w+|reescrib\w+|corrig\w+|corregir|resum\w+|redact\w+"
    r"|escrib(?:e|ir|eme) (?:un|una|el|la)"
    r"|act[uú]a como|cuento|relato|poema|novela|personaje|juego de rol)\b",
    _I,
)
"""Request to work on a text: the author of that text is unknown."""

_NOT_SERIOUS = re.compile(
    r"\b(?:kidding|joking|just a joke|sarcasm|jk|lol|lmao|ha(?:ha)+|ja(?:ja)+|xd+"
    r"|es broma|bromeando|imagin\w+|hypothetical\w*|that(?:['’]s| is) (?:a lie|false)"
    r"|not true|untrue|it(?:['’]s| is) false|no es (?:verdad|cierto)|es (?:mentira|falso))\b|/s\b"
    r"|^(?:you(?:['’]re| are)|(?:t[uú] )?eres) (?:an? |the |una? |el |la )?(?-i:[A-ZÀ-Þ])"
    r"|^(?:you(?:['’]re| are) (?:now )?|(?:ahora )?(?:t[uú] )?eres )(?:an?|the|una?|el|la)\b"
    r"|^\s*(?:dear|querid[oa]s?|estimad[oa]s?)\s+[^\n]*[,:]\s*$|^(?:subject|from|to|asunto|de|para):",
    re.IGNORECASE | re.MULTILINE,
)
"""A message that is a joke, takes back what it says, gives out parts, or is a letter."""

_REPORTED_SPEECH = re.compile(
    r"\b(?:said|says|wrote|writes|told|according to|dijo|dice[ns]?|dijeron|escribi[oó]|seg[uú]n"
    r"|in (?:this|the|that|my|our|an?) (?:game|story|book|scenario|movie|film|dream|photo|picture"
    r"|example|song|sketch|text|sentence)"
    r"|en (?:est[ea]|ese|esa|el|la|mi|una?) (?:juego|historia|libro|pel[ií]cula|sue[ñn]o|ejemplo"
    r"|canci[oó]n|foto|texto|frase))\b"
    r"|^(?:oh,? (?:great|sure|wonderful|joy|fantastic|perfect|yes)|yeah,? right|sure,)"
    r"|,? (?:claro|seguro)[\s.!…]*$|\b(?:not|no)(?: really| anymore| any more| at all)?[\s.!…)]*$",
    _I,
)
"""Said by another, true in a story only, or meant the other way round."""

_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|(?-i:may)|maybe|perhaps|probably|possibly"
    r"|suppose\w*|supposing|wish|hopefully|let'?s say|say that|as though"
    r"|used to|in my dream|for example|for instance|e\.g"
    r"|someone|somebody|si|ojal[aá]|quiz[aá]s?|tal vez|a lo mejor"
    r"|probablemente|posiblemente|supon\w+|imag[ií]n\w+"
    r"|como si|podr[ií]a\w*|gustar[ií]a\w*|har[ií]a\w*|ser[ií]a\w*|por ejemplo"
    r"|alguien|antes (?:viv|trabaj)\w+)\b",
    _I,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTATION = re.compile(r"[\"“„«‹][^\"”“»›]*(?:[\"”“»›]|\Z)|(?<!\w)['‘][^'’]*['’](?!\w)")

_PARTS = re.compile(
    r",?\s+(?:but|pero)\s+(?=\S+\s+\S)|(?:,\s+|,?\s+(?:and|y)\s+)(?=(?:my|mi)\s)", _I
)
"""Two facts in one sentence: `I'm from Spain, but I live in Rome`."""
_SECOND_VERB = re.compile(r"^(I .+?),? and (?=(?:work|live) (?:at|for|as|in)|speak|study)\b", _I)
"""The same, of which the second has the subject of the first: `I live in Rome and work at …`."""

CONFIDENCE = 0.8
MAX_FACTS = 20
"""Maximum number of facts per episode; the first ones are kept."""
MAX_CANDIDATES = 10
"""Known memories that one new fact is compared with."""

_VALUE_END = re.compile(
    r"\s+(?:because|since|although|though|but|so|which|who|whom|when|while|until|till|unless|btw"
    r"|porque|aunque|pero|cuando|mientras|hasta|as[ií] que|ya que)\b.*$"
    r"|\s*[,;:()–—].*$|\s+-\s.*$|\.\.+.*$",
    re.IGNORECASE | re.DOTALL,
)
_PLACE_END = re.compile(
    r"\s+(?:with|near|from|de toda|for|since|now|and|right|these|at|by|con|desde|cerca|hace|ahora"
    r"|y|por|last|this|next|in \d{4}|en \d{4}|el|hoy|ayer|today|yesterday|a)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_REGION = re.compile(r"^[^,]+, [A-ZÀ-Þ][^\s,]*(?: [A-ZÀ-Þ][^\s,]*)?(?=$|[,.])")
_TRIM_CHARS = " \t\n\"'.,;:!-–—…*_~()"

_THIRD_PERSON_WORDS = {
    "my": "their", "mine": "theirs", "me": "them", "myself": "themselves", "i": "they",
    "i'm": "they're", "i’m": "they're", "i've": "they've", "i’ve": "they've", "am": "are",
    "our": "their", "us": "them", "mi": "su", "mis": "sus", "conmigo": "consigo",
}  # fmt: skip
_FIRST_PERSON_WORDS = re.compile(
    r"\b(?:i['’](?:m|ve)|" + "|".join(k for k in _THIRD_PERSON_WORDS if k.isalpha()) + r")\b", re.I
)

_IRREGULAR = {"have": "has", "go": "goes", "do": "does", "are": "is", "be": "is"}

_USER = ("user", "the user", "usuario", "el usuario", "la usuaria")


def first_person_statements(text: str) -> list[str]:
    """Clauses in the first person that are plainly stated, without what leads in."""
    if len(text) > MAX_MESSAGE_CHARS or _TASK.search(text) or _NOT_SERIOUS.search(text):
        return []
    # A quotation leaves a mark behind, so that what stands around it does not run together.
    unquoted = _QUOTATION.sub('"', _CODE.sub('"', strip_quotes(text)))
    return [
        said
        for sentence in split_sentences(unquoted)
        if not _HYPOTHETICAL.search(sentence) and not _REPORTED_SPEECH.search(sentence)
        for part in _PARTS.split(sentence)
        for clause in split_clauses(part)
        # Not only statements: `háblame en inglés` says how to answer.
        if clause.kind not in (ClauseKind.QUESTION, ClauseKind.UNREAL) and '"' not in clause.text
        for said in _SECOND_VERB.sub(r"\1\nI ", clause.text).splitlines()
        if len(said) <= MAX_CLAUSE_CHARS
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """Something that a person said of themselves."""

    content: str
    rule: FactRule
    exclusive_value: ExclusiveValue | None
    speaker: str
    at: datetime


class RuleExtractor:
    """Needs nothing; never raises ModelError."""

    async def extract(self, reading: EpisodeReading, known: KnownMemories) -> ExtractedFacts:
        kept: list[StatedFact] = []
        invalid: dict[str, datetime] = {}
        for fact in extract_stated_facts(reading.messages):
            old = await _superseded_by(fact, reading, known)
            if all(one.holds_since < fact.at for one in old):
                kept.append(fact)
                invalid |= {one.id: fact.at for one in old}
        return ExtractedFacts(
            drafts=tuple(_fact_draft(fact, reading) for fact in kept),
            invalid=invalid,
        )


def extract_stated_facts(messages: Sequence[ObservedMessage]) -> list[StatedFact]:
    """Extract the facts that people (not assistants) state about themselves. If two exclude each
    other, the later one is kept."""
    facts: list[StatedFact] = []
    for message in messages:
        if message.role == "user":
            for fact in _facts_of_message(message):
                facts = [one for one in facts if not _is_replaced(one, fact)]
                facts.append(fact)
    return facts[:MAX_FACTS]


def _is_replaced(old: StatedFact, new: StatedFact) -> bool:
    if old.speaker != new.speaker:
        return False
    if old.content == new.content:
        return True
    return bool(
        old.exclusive_value
        and new.exclusive_value
        and new.exclusive_value.contradicts(old.exclusive_value)
    )


def _facts_of_message(message: ObservedMessage) -> Iterable[StatedFact]:
    has_capitals = message.content != message.content.lower()
    for clause in first_person_statements(message.content):
        for rule in RULES:
            if (found := rule.pattern.fullmatch(clause)) and (
                fact := _stated_fact(rule, found, message, has_capitals)
            ):
                yield fact
                break


def _stated_fact(
    rule: FactRule, found: re.Match[str], message: ObservedMessage, has_capitals: bool
) -> StatedFact | None:
    groups = found.groupdict()
    x = _trim_value(groups["x"], rule)
    y = _trim_value(groups.get("y") or "", rule)
    if not is_valid_value(x, rule, has_capitals) or (groups.get("y") and not y):
        return None
    if rule.slot is ExclusiveFact.NAME and x.casefold() == (message.speaker or "").casefold():
        return None
    who = speaker_name(message) if message.speaker else DEFAULT_SPEAKER_NAMES[rule.language]
    x, y = _to_third_person(x), _to_third_person(y)
    if rule.form is ValueForm.HABIT:
        verb, space, rest = x.partition(" ")
        x = _conjugated(verb.lower()) + space + rest
    return StatedFact(
        content=rule.template.format(who=who, x=x, y=y),
        rule=rule,
        exclusive_value=exclusive_value(rule, x, y),
        speaker=who,
        at=message.at,
    )


def _trim_value(found: str, rule: FactRule) -> str:
    """Up to where something else begins."""
    is_place = rule.form is ValueForm.PLACE
    region = _REGION.match(found) if is_place else None
    date = rule.form is ValueForm.DATE
    text = region[0] if region else found if date else _VALUE_END.sub("", found)
    return (_PLACE_END.sub("", text) if is_place else text).strip(_TRIM_CHARS)


def _to_third_person(text: str) -> str:
    """`walks with my dog` is `walks with their dog` when another tells it."""
    return _FIRST_PERSON_WORDS.sub(lambda found: _THIRD_PERSON_WORDS[found[0].lower()], text)


def _conjugated(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|sh|ch|x|z|o)$", verb) else "s")


async def _superseded_by(
    fact: StatedFact, reading: EpisodeReading, known: KnownMemories
) -> Sequence[MemoryEntry]:
    """Existing memories about the same person that contradict the fact."""
    if fact.exclusive_value is None:
        return []
    names = _names(fact, reading)
    which = MemoryFilter(subject=reading.episode.subject, types=FACT_TYPES)
    slot = exclusive_search_words(fact.exclusive_value.slot)
    query = MemoryQuery(
        # Told facts have other words: `I moved to Rome`.
        text=f"{fact.content} {slot} {related_words(fact.content)}",
        mode=SearchMode.KEYWORD,
        limit=MAX_CANDIDATES,
        which=which,
    )
    found = await known.search(query)
    return [
        entry
        for entry in current_about_subject(reading, [hit.entry for hit in found.hits])
        if any(map(fact.exclusive_value.contradicts, _exclusive_values(entry, names)))
    ]


def _exclusive_values(entry: MemoryEntry, names: frozenset[str]) -> Iterable[ExclusiveValue]:
    """Value of a learned fact, or of a told one in the first person (`I live in Rome`); none if it
    tells several facts, or if it is not known which of several people told it."""
    if learned := parse_exclusive_fact(entry.content, names):
        return [learned]
    said = ObservedMessage(id="", role="user", content=entry.content, at=entry.holds_since)
    facts = extract_stated_facts([said]) if names.issuperset(_USER) else []
    return [one.exclusive_value for one in facts if one.exclusive_value and len(facts) == 1]


def _names(fact: StatedFact, reading: EpisodeReading) -> frozenset[str]:
    """Names of the person in facts. `the user` is included only if there is a single speaker."""
    speakers = {speaker_name(one) for one in reading.messages if one.role == "user"}
    return frozenset({fact.speaker}) if len(speakers) > 1 else frozenset({fact.speaker, *_USER})


def _fact_draft(fact: StatedFact, reading: EpisodeReading) -> MemoryDraft:
    episode = reading.episode
    return MemoryDraft(
        content=f"{fact.content}.",
        category=fact.rule.category,
        confidence=CONFIDENCE,
        subject=episode.subject,
        session=episode.session,
        valid_at=fact.at,
        origin=Origin.EXTRACTED,
        sources=(episode.id,),
    )
