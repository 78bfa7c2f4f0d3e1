"""Statements of a message, resolved against earlier ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words
from spade_llm.understanding.clause_kinds import (
    FINITE,
    MAX_STATEMENT_CHARS,
    TAKEN_BACK,
    THIRD_SPANISH,
    Clause,
    ClauseKind,
    is_statement,
)
from spade_llm.understanding.clauses import changing_parts, is_off_the_record, split_clauses
from spade_llm.understanding.corrections import (
    at_other_destination,
    contrasted,
    of_another,
    resolve_correction,
    restated_latest,
    says_change,
    whole_phrase,
    with_other_parts,
    without_agent,
    without_birthday,
)
from spade_llm.understanding.features import (
    NOTE,
    Statement,
    ended_part,
    features,
    is_changed,
    is_denial,
    is_event,
    is_in_general,
    is_scheduled,
)
from spade_llm.understanding.pronouns import (
    is_said_of_last,
    leading_noun,
    names_introduced,
    with_antecedent,
    with_omitted_noun,
    with_person,
    with_role,
    with_role_first,
)
from spade_llm.understanding.reminders import (
    change_of_list,
    may_change_list,
    may_say_done,
    with_done_task,
)
from spade_llm.understanding.replacement import (
    INTRODUCES,
    REFERS_BACK,
    are_about_different_beings,
    has_other_topic,
    is_unrelated,
    lists_of,
    replaces,
)
from spade_llm.understanding.slots import (
    found_at_last,
    in_same_slot,
    moved_thing,
    of_relation,
    puts_elsewhere,
    swapped,
    value_of_pronoun,
)
from spade_llm.understanding.spelling import with_known_names
from spade_llm.understanding.substitution import (
    is_clean,
    outside,
    with_title,
    without_former_dose,
)
from spade_llm.understanding.successions import (
    BESIDE,
    adjacent,
    announced,
    announces,
    closest,
    elliptic,
    ending,
    has_changed,
    have_same_begin,
    in_own_words,
    in_place_of,
    is_announcement_only,
    is_successor,
    named_before,
    split_announcement,
    substituted,
    successor,
    tells_absence,
    tells_reason,
    with_next_child,
)
from spade_llm.understanding.things import COPULA, names_other_of_kind, tell_of_two_things
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    light,
    typed_values,
    values_of_part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


_I = re.IGNORECASE

MAX_STATEMENTS = 8
"""Maximum number of statements from one message."""
MAX_CLAUSES = 60
"""Maximum number of clauses of one message that are read; each is compared with those before it."""
MAX_COMPARED = 100
"""Number of the latest statements of a person that a new one may replace: comparing each one with
all before it takes time that grows with the square of their number."""
MAX_EARLIER = 30
"""Number of earlier statements that a correction may refer to."""
_CONTINUED = LazyPattern(
    r"^(?!this|yes|thanks|always|perhaps|sometimes|does|is|was|has)(?:[a-z]{3,}(?<!s)s|called"
    r"|named|aged|llamad[oa]s?) \S",
    _I,
)
"""A clause that continues the statement before it: `we have a budgie. Answers to Captain`."""
_HAD_BIRTHDAY = LazyPattern(
    r"^(?:[\w-]+ )?l[oa]s (?:cumpl|hizo|hicieron)\w*(?: (?:ayer|hoy|el .+))?$", _I
)
"""The day of a birthday, behind the new age: `ya tiene 5, los cumplió ayer`."""
_NO_LONGER_BUT_NOW = LazyPattern(
    r"^(?P<ended>(?:i (?:no longer|don['’]?t) (?P<en>\w+)|(?:yo )?ya no (?P<es>\w+)) .+?)"
    r"(?: any ?more)?[,;]? (?:(?:and|but|y|sino|pero) )?(?:now|ahora),? (?:(?:it['’]?s|i"
    r"|es) )?(?P<rest>.+)$",
    _I,
)
"""Two statements in one: `I no longer live in Rome, now in Oslo`."""
_NOW_PART = LazyPattern(
    r"^(?P<first>(?:me|nos|he|hemos|l[ao]s?) [^,;]{4,}), (?P<rest>ahora (?!mismo)[^\W\d_]+(?:o"
    r"|oy|amos|emos|imos)"
    r" [^,;]+)$",
    _I,
)
"""An end, and what holds instead: `me independicé, ahora vivo en León`."""
_JOKED = LazyPattern(
    r"^(?:(?:no|nah),? )?(?:(?:era|es|estaba de) (?:una )?broma|(?:i(?:['’]m"
    r"| was) )?(?:just )?(?:kidding"
    r"|joking)|jk)[,.!:;]+ (?!inocente|april)(?P<rest>.+)$",
    _I,
)
_TELLS = LazyPattern(
    rf"^(?:(?:no|ya|se|tambi[eé]n|ahora|siempre) )*(?:les? )?{THIRD_SPANISH}\b"
    r"|^(?:the|an?|my|our|his|her|its|their|th(?:is|at|ese|ose)|next|some|both|every|each|all"
    r"|el|la|los|las|una?|mis?|nuestr[oa]s?|sus?|est[aeo]s?|es[aeo]s?|\d+|[\w-]+['’]s)"
    rf" .*\b{FINITE}\b"
    rf"|^(?!(?i:{FINITE}) )(?-i:[A-ZÀ-Þ])[\w-]+ (?:[\w-]+ )?{FINITE}\b",
    _I,
)
"""A noun or a name before a finite verb, or a Spanish verb in the third person: not an order, which
begins with its verb (`work out 6*7`)."""
_RELATIVE = LazyPattern(r"^[\w-]+, (?:who|which|que|quien)\b", _I)
"""`…, Ben, who studies law`: no half of a statement, but more of what stands before it."""
_LABEL = LazyPattern(r"^[^\W\d_]+ \S*\d\S*(?: \w+)?$")
"""`…, plate 4471 KLM`: it belongs to what stands before it."""
_TWO_NOUNS = LazyPattern(
    r"^(?:(?:the|my|our|el|la|mi) )?[\w-]+ (?:and|y|e) (?:(?:the|my|our|el|la|mi) )?[\w-]+$", _I
)
_NO_SUBJECT = LazyPattern(rf"^(?:(?:no|ya|ahora|se|les?|l[ao]s?) )*{THIRD_SPANISH}\b", _I)
_POLITE = LazyPattern(r"\b(?:please|pls|por favor|porfa)\b", _I)
_MARKUP = "-*<[{|#>"
"""First characters of lists, tags and tables."""
_NAME_FIRST = LazyPattern(
    r"(?P<name>[A-ZÀ-Þ][\w-]+)(?:(?:['’]s)? [a-zß-ÿ][\w'’-]*(?: \S+){2}"
    r"| [a-z]{3,}(?<!s)s[.!]*$| [a-zß-ÿ]{3,}[ae][.!]*$)"
)
_PRICE = LazyPattern(
    r"[£$€] ?(?P<number>\d[\d.,]*\d|\d)"
    r"|\b(?P<amount>\d[\d.,]*) ?(?:euros?|pounds?|quid|dollars?|€)(?!\w)",
    _I,
)
_GONE = LazyPattern(
    r"^(?:(?:my|our) (?:\w+ )?)?(?P<name>(?!(?:i|we|they|it|he|she|the)\b)[\w-]{3,})"
    r"(?:['’]s| has)? (?:left|retired|quit|resigned|moved away|died|passed away|gone)\b",
    _I,
)
_SHE_OR_HE = LazyPattern(r"^(?:s?he|ella|[eé]l)\b", _I)
_THEY = LazyPattern(r"^(?:they|ell[ao]s)\b", _I)
_NEWBORN = LazyPattern(
    r"^(?:(?:it['’]s|es|ha sido) )?(?:an?|una?) (?:(?:little|baby|beautiful) )*"
    r"(?:girl|boy|ni[ñn][oa]|nen[ea])\b",
    _I,
)
"""A boy or a girl, behind the message that the baby has come."""
_NAMED_BY_THEM = LazyPattern(
    r"^(?:(?:they|we)(?:['’](?:re|ve)| are| have)? (?:call|nam)(?:ing|ed) (?:him|her|it)"
    r"|se llama(?:r[aá])?|l[aeo] (?:llam|pus|hemos|han)\w*) ",
    _I,
)
_SOMEONE = LazyPattern(r"\b(?:some(?:one|body) new|alguien)\b", _I)
_COMPLEMENT = LazyPattern(
    r"^(?:\d+|two|three|four|five|six|dos|tres|cuatro|cinco|seis|for|with|in|at|on|to|from|of"
    r"|because|since|para|con|en|del?|por"
    r"|an? [^,;]* (?:called|named))\b",
    _I,
)
"""The beginning of a part that is no clause of its own: `5 mg, for my heart`."""
_IT_IS = LazyPattern(
    r"^(?:now |ahora )?(?:(?:it['’]s|it is|es|est[aá])"
    r"|(?:(?:i|we) (?:now )?(?:get|pay|earn|make)|it costs|(?:me|nos) cuesta|pago|pagamos|cobro)"
    r" \S*\d) ?",
    _I,
)
_PREPOSITIONS = frozenset({"in", "at", "for", "as", "on", "to", "en", "de", "para", "como", "con"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Statements and questions of a message."""

    statements: tuple[Statement, ...]
    questions: tuple[str, ...]
    clauses: tuple[Clause, ...]
    takes_back: str = ""
    """Earlier statement that the message takes back as a joke or as untrue."""
    is_off_the_record: bool = False
    """It asks not to be remembered: it has no statements then."""

    @property
    def may_change(self) -> bool:
        """True if the message may end the validity of something that was said before it."""
        return bool(self.statements) or any(
            one.is_change
            or one.kind is ClauseKind.UNREAL
            or is_denial(one.text)
            or may_change_list(one.text)
            or may_say_done(one.text)
            for one in self.clauses
            if one.kind is not ClauseKind.QUESTION
        )

    def has(self, kind: ClauseKind) -> bool:
        """Check whether one of the clauses is of this kind."""
        return any(clause.kind is kind for clause in self.clauses)


@cache
def start_compiling() -> Thread:
    """Start a thread, once in a process, that compiles the expressions of `read_message`.

    Otherwise the first message pays for it: up to a second, in which an event loop stands still.
    """
    message, earlier = "My dog is called Rex, and I live in Rome now", ("I live in Oslo",)
    # A daemon, so that a program that stops early does not wait for it.
    thread = Thread(target=read_message, args=(message, earlier), name="expressions", daemon=True)
    thread.start()
    return thread


def read_message(text: str, earlier: Sequence[str] = (), remembered: Sequence[str] = ()) -> Reading:
    """Read a message: what it states, what it asks, and what it takes back. Of a long message the
    first clauses.MAX_CHARS are read, and at most MAX_STATEMENTS statements are returned.

    `earlier`: the person's statements before it in this conversation, oldest first; elliptic
    corrections (`no, green`) and pronouns are resolved with them. `remembered`: statements of other
    conversations; only corrections that name the old value refer to them.
    """
    text = with_known_names(text, (*remembered, *earlier))
    if earlier and is_said_of_last(text, earlier[-1]):
        text = with_person(text, earlier)
    text = with_role_first(text, (*remembered, *earlier))
    clauses = split_clauses(text)
    if not is_off_the_record(text):
        return _read_clauses(clauses, earlier, remembered)
    return Reading(statements=(), questions=_questions(clauses), clauses=(), is_off_the_record=True)


def _is_of_other_name(clause: Clause, replaced: str) -> bool:
    """Check whether a clause does not tell the speaker's name, but would replace it (`the van's
    name is Bertha`), or tells it, but would replace another one."""
    text = clause.text
    is_own = bool(_OWN_NAME.match(replaced))
    if is_own:
        return not clause.is_bare_correction and not _NAMES_SPEAKER.search(text)
    return bool(replaced and _INTRODUCES_SELF.match(text) and not _NAMES_SPEAKER.match(replaced))


_OWN_NAME = LazyPattern(r"(?:my name(?:['’]s| is)|me llamo|mi nombre es|call me) ", _I)
_INTRODUCES_SELF = LazyPattern(
    r"(?:i['’]m|i am|my name(?:['’]s| is)|me llamo) (?-i:[A-ZÀ-Þ])[^\W\d_]+$", _I
)
_NAMES_SPEAKER = LazyPattern(
    r"\b(?:my (?:\w+ )?name|call(?:ed)? me|i['’]?m|i am|i (?:now )?go by|me llam\w+|soy|ll[aá]mame"
    r"|(?:mi|el|de) nombre)\b"
    r"|^(?:no|not|actually|sorry|en realidad|perd[oó]n|(?:now |ahora )?(?:it['’]?s|it isn['’]?t"
    r"|it is not|(?:ya )?no es|es)|ahora|with"
    r"|con)\b|\bspel[lt]\w*"
    r"|\bse escribe\b",
    _I,
)
"""Tells or corrects the name of the speaker."""


def _is_in_event(text: str, new: Statement) -> bool:
    """Check whether a clause says what something is, but its value would stand in what happened to
    it: `our landlord's Mr Lee now` after `our landlord Mr Hill sold the house`."""
    is_event = bool(new.replaced) and features(new.replaced).is_ended
    return is_event and bool(COPULA.match(text)) and not COPULA.match(new.replaced)


def _questions(clauses: Sequence[Clause]) -> tuple[str, ...]:
    return tuple(one.text for one in clauses if one.kind is ClauseKind.QUESTION)


def _read_clauses(
    clauses: Sequence[Clause], earlier: Sequence[str], remembered: Sequence[str]
) -> Reading:
    known = list(earlier[-MAX_EARLIER:])
    # What has just been told is remembered as well; twice, no single statement would be nearest.
    remembered = [one for one in remembered if one not in known]
    statements: list[Statement] = []
    takes_back = changing = before = ""
    for clause in clauses[:MAX_CLAUSES]:
        clause = replace(clause, text=with_omitted_noun(clause.text, known))
        if clause.kind is ClauseKind.UNREAL and known:
            takes_back = known[-1] if TAKEN_BACK.match(clause.text) else takes_back
            statements += _behind_joke(clause.text, known)
        clause = _as_statement(clause, remembered, known)
        if clause.kind not in (ClauseKind.STATEMENT, ClauseKind.OTHER):
            continue
        is_bare = clause.kind is ClauseKind.OTHER and _CONTINUED.match(clause.text)
        is_bare = is_bare or _HAD_BIRTHDAY.match(clause.text)
        is_of_same = names_introduced(clause.text, before) or _is_of_new(clause.text, before)
        if statements and (is_bare or is_of_same):
            known = _continue_last(statements, known, clause.text)
            continue
        gone: list[Statement] = []
        changing = changing and closest(clause.text, changing, [*remembered, *known])
        if changing and is_successor(clause.text, changing, before):
            gone = [statements.pop()]
            named = with_person(clause.text, known, before)
            joined = of_relation(f"{before} and {clause.text}", [*remembered, *known])
            found = [joined] if joined else _succession(before, named, changing)
            changing = ""
        else:
            related = remembered if _says_change(clause) else ()
            found, changing = _statements_of_related(clause, known, related, before)
            found = found if changing else _reread(clause, found, known, before) or found
        if statements and _is_result(clause.text, before, found):
            known = _continue_last(statements, known, clause.text)
            continue
        before = clause.text
        found = [
            _plain_statement(clause.text, clause.is_change)
            if _is_of_other_name(clause, one.replaced) or _is_in_event(clause.text, one)
            else one
            for one in found
        ]
        found = [
            one
            if is_clean(one) and not (one.replaced and _leaves_value(clause.text, one))
            else in_own_words(clause.text, one)
            for one in map(without_former_dose, found)
        ]
        statements, found = _corrected_at_once(clause, statements, found)
        for one in _with_rests(found, statements, gone):
            new, rest = _told_once(one, statements)
            gone_texts = {new.replaced, *(each.text for each in statements if each not in rest)}
            statements = [*rest, new]
            known = [*(other for other in known if other not in gone_texts), new.text]
    return Reading(
        statements=tuple(_without_parts(statements)[:MAX_STATEMENTS]),
        questions=_questions(clauses),
        clauses=tuple(clauses),
        takes_back=takes_back,
    )


def _reread(
    clause: Clause, found: Sequence[Statement], known: Sequence[str], before: str
) -> list[Statement]:
    """The statements of a clause of which only a part changes one of this conversation: behind a
    cause (`con el aumento quedó en 485`), or before a remark (`he's put it up to 920, typical`);
    empty if it changes none. `found`: what it tells as a whole."""
    if not known or any(one.replaced for one in found):
        return []
    parts = [
        one
        for one in changing_parts(clause.text, is_change=clause.is_change)
        if not _OF_SUBJECT_BEFORE.match(one.text)
    ]
    if not parts or any(_replaces_any(one, known) for one in found):
        return []
    for part in parts:
        is_change = part.is_change or clause.is_change or says_change(part.text)
        shorter = replace(clause, text=part.text, is_change=is_change)
        said_before = before or part.before
        is_apart = _BRINGS_NEWS.search(said_before) or not (
            _IMPLICIT.match(part.text) or says_change(said_before) or announces(said_before)
        )
        of_same = _of_same_change(said_before, part.text, known)
        # "The clinic rang: it's on Friday": of the clinic, nothing is known.
        for said in dict.fromkeys((said_before, "" if is_apart else said_before)):
            told, _ = _statements_of_related(shorter, of_same, (), said)
            if any(one.replaced in of_same or _replaces_any(one, of_same) for one in told):
                is_told = is_statement(part.before) and not announces(part.before)
                return [*([_plain_statement(part.before)] if is_told else []), *told]
    return []


_BRINGS_NEWS = LazyPattern(
    r"\b(?:rang|called|phoned|texted|emailed|messaged|wrote|letter|e-?mail|asked|llam\w+|avis\w+"
    r"|escrib\w+|mand\w+|correo|carta|mensaje)\b",
    _I,
)
"""Who calls or writes need not be known: what they tell is about something else."""


def _of_same_change(before: str, text: str, known: Sequence[str]) -> list[str]:
    """The earlier statements without those of which a part of a message cannot tell a change, since
    the part before it (`before`) tells one of something else (`the pool has new hours` beside `my
    gym opens at 6`), or names what it means (`text`): `I painted the bike, it's blue now`."""
    named = concepts_of(before) - general() - light()
    # "I've lost weight, I'm down to a 14": the reason.
    if not before or REFERS_BACK.search(before) or named & _OF_BODY_CHANGE:
        return [*known]
    others = [one for one in known if named and not named & features(one).concepts]
    if says_change(before) or announces(before):
        return [
            one
            for one in known
            if not (one in others or _is_apart(before, one) or tell_of_two_things(before, one))
        ]
    if not _IMPLICIT.match(text) or _BRINGS_NEWS.search(before):
        return [*known]
    return [one for one in known if one not in others or have_same_begin(text, one)]


_OF_SUBJECT_BEFORE = LazyPattern(
    r"(?:now )?(?:works|lives|plays|goes|takes|drives|studies|teaches|runs|likes|loves|wants|has|is"
    r"|was)\b",
    _I,
)
"""`Ann left, now works at Mencap`: the subject stands in the part before it."""
_OF_BODY_CHANGE = frozenset({"weight", "pregnant"})
_IMPLICIT = LazyPattern(
    rf"(?:(?:and|so|y|now|ahora|ya) )*(?:it['’]s|it is|they['’]re|{THIRD_SPANISH})\b", _I
)
"""A clause with a pronoun, or no subject, for a thing."""


def _replaces_any(new: Statement, known: Sequence[str]) -> bool:
    return any(replaces(new, old) and not new.text.startswith(old) for old in known)


def _told_once(
    new: Statement, statements: Sequence[Statement]
) -> tuple[Statement, list[Statement]]:
    """A statement, and those before it without the one that it repeats, in front of a clause with a
    pronoun; what that one replaced, it replaces."""
    repeated = [one for one in statements if f"{one.text}; " in new.text]
    gone = next((one.replaced for one in repeated if one.replaced), "")
    if gone and not new.replaced:
        new = replace(new, is_change=True, replaced=gone)
    return new, [one for one in statements if one not in repeated]


def _corrected_at_once(
    clause: Clause, statements: list[Statement], found: Sequence[Statement]
) -> tuple[list[Statement], list[Statement]]:
    """The statements of a message without the one that its next clause corrects (`my colour is
    blue. No, green`), and those of the clause (`found`) in its place."""
    corrected = (
        old
        for old in (reversed(statements) if clause.is_change else ())
        if any(replaces(one, old.text) for one in found)
    )
    wrong = next(corrected, None)
    if wrong is None:
        return statements, [*found]
    rest = [one for one in statements if one is not wrong]
    return rest, [
        replace(one, replaced=wrong.replaced, is_change=wrong.is_change)
        if replaces(one, wrong.text)
        else one
        for one in found
    ]


def _without_parts(statements: Sequence[Statement]) -> list[Statement]:
    """The statements without those that another one says with more words behind them."""
    texts = [one.text for one in statements]
    return [
        one
        for one in statements
        if not any(text.startswith((f"{one.text} (", f"{one.text}, ")) for text in texts)
    ]


def _is_of_new(text: str, before: str) -> bool:
    """Check whether a clause tells by a pronoun more of whom the clause before it introduces: `I'm
    seeing someone new, she is a vet`, `new client: Acme, they want a logo`."""
    return bool(
        (_SHE_OR_HE.match(text) and _SOMEONE.search(before))
        or (_THEY.match(text) and INTRODUCES.search(before))
        or (_NEWBORN.match(text) and "baby" in features(before).concepts)
        or (_NAMED_BY_THEM.match(text) and _NEWBORN.match(before))
    )


def _continue_last(statements: list[Statement], known: Sequence[str], text: str) -> list[str]:
    """Add a clause to the last statement, and return the known ones with it."""
    last = statements.pop()
    statements.append(replace(last, text=f"{last.text}; {text}"))
    return [*(one for one in known if one != last.text), statements[-1].text]


def _is_result(text: str, before: str, found: Sequence[Statement]) -> bool:
    """Check whether a clause tells with a pronoun what the clause before it announces, and corrects
    nothing that is known: `we moved house, it's 27 Station Road now`."""
    is_new = not any(one.replaced for one in found)
    return is_new and bool(_IT_IS.match(text)) and announces(before)


def _as_statement(clause: Clause, remembered: Sequence[str], known: Sequence[str]) -> Clause:
    """A clause of no known form as a statement, if it begins with a name of an earlier one and
    tells more of it: `Mira naps after lunch`, whatever the verb is. A request that changes a list
    of the person (`add butter`) tells something, too, and so does `done!` after a task."""
    every = [*remembered, *known]
    if clause.kind is not ClauseKind.QUESTION and (
        done := with_done_task(clause.text, every, last=known[-1] if known else "")
    ):
        return replace(clause, kind=ClauseKind.STATEMENT, text=done)
    is_order = clause.kind is ClauseKind.REQUEST
    # "Corrijo: cierra a las 20" is no order after "el taller cierra a las 19".
    if is_order and clause.is_change and known and clause.text.split()[0] in known[-1].split():
        return replace(clause, kind=ClauseKind.STATEMENT)
    is_of_list = is_order and change_of_list(clause.text, every)
    if is_of_list or (clause.kind is ClauseKind.SMALL_TALK and known and _is_new_value(clause)):
        return replace(clause, kind=ClauseKind.OTHER)
    found = _NAME_FIRST.match(clause.text) if clause.kind is ClauseKind.OTHER else None
    is_known = found is not None and any(
        found["name"] == earlier[start:end]
        for earlier in every
        for start, end in typed_values(earlier).get(ValueType.NAME, ())
    )
    return replace(clause, kind=ClauseKind.STATEMENT) if is_known else clause


def _is_new_value(clause: Clause) -> bool:
    """Check whether a clause that may be a remark (`it's Friday!`, `it's grey`) is the value in the
    place of another: `no, it's Friday`, `it's actually grey`."""
    is_change = clause.is_change or bool(_ACTUALLY.search(clause.text))
    return is_change and bool(_IT_IS.match(clause.text))


_ABOUT_ANOTHER = re.compile(r" \([^()]+\)$")
"""A statement, and in parentheses what it means of an earlier one."""
_ACTUALLY = LazyPattern(r"\b(?:now|actually|ahora|en realidad)\b", _I)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementHistory:
    """Statements of several messages of one person, oldest first."""

    current: list[str]
    """Those that hold at the end."""
    former: dict[str, str]
    """Those that a later one replaced, and what holds instead; not what was taken back, which never
    held."""
    asked: str = ""
    """The one that was asked for since the last was told; empty: none."""
    told_in: dict[str, int] = field(default_factory=dict)
    """The number of the message that told each statement."""

    @property
    def spoken_of(self) -> list[str]:
        """The current ones; a pronoun means the last: `when's the dentist?`, `it's on Friday`."""
        return sorted(self.current, key=lambda one: one == self.asked)


def read_history(messages: Sequence[str]) -> StatementHistory:
    """Read the messages of one person. Each new statement is compared with the MAX_COMPARED before
    it; callers bound the number of messages."""
    current: list[str] = []
    former: dict[str, str] = {}
    told_in: dict[str, int] = {}
    asked = ""
    for number, message in enumerate(messages, 1):
        known = StatementHistory(current=current, former=former, asked=asked)
        reading = read_message(message, known.spoken_of)
        current = [one for one in current if one != reading.takes_back]
        asked = _asked_about(reading.questions, current) or ("" if reading.statements else asked)
        new = [one.text for one in reading.statements]
        told_in |= dict.fromkeys(new, number)
        for statement in reading.statements:
            ended = [one for one in current[-MAX_COMPARED:] if replaces(statement, one)]
            former |= {
                one: statement.text if _takes_place_of(statement, one) else choose_successor(new)
                for one in ended
            }
            current = [one for one in current if one not in ended]
            current.append(statement.text)
    return StatementHistory(current=current, former=former, asked=asked, told_in=told_in)


def _takes_place_of(new: Statement, old: str) -> bool:
    """Check whether a statement tells what holds instead of an older one, not only its end."""
    is_told = new.replaced == old or not announces(new.text)
    return is_told and not (features(new.text).is_ended or is_denial(new.text))


def choose_successor(statements: Sequence[str], former: str = "") -> str:
    """The statement of a message that tells what holds after a change, rather than what is over;
    empty if there is none. `former`: of several those that have most in common with it."""
    topic = features(former).topic
    shared = [len(features(one).topic & topic) for one in statements]
    told = [one for one, common in zip(statements, shared, strict=True) if common == max(shared)]
    # "It's geology now, not biology" denies something, too, but nothing is over.
    ranks = [2 * features(one).is_ended + (is_denial(one) or tells_reason(one)) for one in told]
    least = min(ranks, default=0)
    best = [number for number, rank in enumerate(ranks) if rank == least]
    # "I left Acme, I'm at Boots, so I'm happy": the first one behind the end, else the latest.
    behind = [number for number in best if max(ranks[:number], default=least) > least]
    return told[(behind or best[::-1])[0]] if told else ""


def _asked_about(questions: Sequence[str], statements: Sequence[str]) -> str:
    """The latest statement with most of what questions name; empty if none has any of it."""
    named = concepts_of(" ".join(questions)) - general() - light()
    shared = {one: len(named & features(one).concepts) for one in statements}
    best = max(reversed(shared), key=lambda one: shared[one], default="")
    return best if best and shared[best] else ""


def statements_of(messages: Sequence[str]) -> list[str]:
    """Statements of several messages of one person that hold at the end, oldest first."""
    return read_history(messages).current


def _statements_of_clause(
    clause: Clause, known: Sequence[str], remembered: Sequence[str], before: str
) -> tuple[list[Statement], str]:
    """The statements of a clause, before which stands another one (`before`); and the earlier
    statement of which it says that it is over or has changed, if the next clause may say what holds
    instead."""
    text = clause.text
    is_own = clause.kind is ClauseKind.STATEMENT
    if is_own and len(text.split()) < 2:
        return [], ""
    every = [*remembered, *known]
    if told := _told_at_once(text, before, known, every):
        return told, ""
    if len(text) > MAX_STATEMENT_CHARS:
        # Read in parts, it would take time that grows with the square of its length.
        return [_plain_statement(text)] if is_own else [], ""
    named = replace(clause, text=with_person(text, known, before))
    all_known, all_remembered, all_told = known, remembered, every
    said = without_agent(named.text) if is_own or _has_verb(text) else ""
    known = _of_same(text, said, known, before)
    remembered = _of_same(text, said, remembered, before)
    every = [*remembered, *known]
    if is_own and is_scheduled(named.text):
        full = with_role(with_antecedent(named.text, all_known), all_told)
        return [replace(_plain_statement(full), is_change=False)], ""
    if replaced := _replaced_by_clause(clause, named, known, remembered, before):
        return replaced, ""
    if (changed := _change_of_clause(named, every, known))[0]:
        return changed
    slot = in_same_slot(text, named.text, every, known)
    if slot or not (is_own or _has_verb(text)):
        return [slot] if slot else [], ""
    full = with_role(with_antecedent(named.text, all_known, is_next=bool(before)), all_told)
    return _of_subject(clause, full, all_known, all_remembered, before)


def _of_subject(
    clause: Clause, full: str, known: Sequence[str], remembered: Sequence[str], before: str
) -> tuple[list[Statement], str]:
    """The statements of a clause that changes nothing in its own words; `full`: the clause with
    what is known of its subject. `Ann switched to French` is read as `my sister Ann switched to
    French` would be."""
    text = clause.text
    if full == text or not says_change(text) or ";" in full or _ABOUT_ANOTHER.search(full):
        return _end_and_present(text) or [_plain_statement(full, clause.is_change)], ""
    return _statements_of_clause(replace(clause, text=full), known, remembered, before)


def _of_same(text: str, said: str, told: Sequence[str], before: str) -> list[str]:
    """The earlier statements that a clause can change. `said`: the clause with a noun for its
    pronoun; empty if it tells nothing by itself."""

    def is_of_another(one: str) -> bool:
        if said and (_is_apart(said, one, before) or _is_of_absent(text, one, before)):
            return True
        return tell_of_two_things(text, one, before)

    return [one for one in told if not is_of_another(one)]


def _is_apart(text: str, earlier: str, before: str = "") -> bool:
    """Check whether a clause cannot change an earlier statement: it is about another being, or
    another thing of the kind, or tells what is so now, and the earlier one what was so before."""
    is_former = bool(_WAS_CALLED.search(earlier)) and is_changed(text)
    is_of_other = are_about_different_beings(text, earlier) or names_other_of_kind(text, earlier)
    # "I changed doctors, it's Dr Wu now": mine.
    is_more = bool(before and _CHANGED_OWN.match(before) and _IT_IS.match(text))
    return is_former or is_of_other or (is_more and are_about_different_beings(before, earlier))


def _is_of_absent(text: str, earlier: str, before: str) -> bool:
    """Check whether a clause names who takes the place of the being of which the clause before it
    (the earlier statement) tells that it is away: in `Ann's on leave, it's Bea now` Ann is."""
    is_said = bool(before) and before.lower() in earlier.lower()
    return is_said and bool(_IT_IS.match(text)) and tells_absence(before)


_CHANGED_OWN = LazyPattern(
    r"^(?:i|we)(?:['’]ve| have)? (?:changed|switched|swapped|lost|sold|got) "
    r"|^(?:(?:me|nos) )?(?:he |hemos )?cambi(?:é|amos|ado) de ",
    _I,
)
_WAS_CALLED = LazyPattern(r"\b(?:se llamaba|used to be called|was called)\b", _I)


def _statements_of_related(
    clause: Clause, known: Sequence[str], remembered: Sequence[str], before: str
) -> tuple[list[Statement], str]:
    """The same, but a statement is changed only if the message is not about something else, and one
    of another conversation (`remembered`) only if the clause has to do with it."""
    found, changing = _statements_of_clause(clause, known, remembered, before)
    said = f"{before}. {clause.text}" if before else clause.text
    changed = [*found, Statement(text=clause.text, replaced=changing)]
    apart = [
        one.replaced
        for one in changed
        if (one.replaced in remembered and is_unrelated(said, clause.text, one))
        or (one.replaced in (*known, *remembered) and has_other_topic(said, one.replaced))
    ]
    if not apart:
        return found, changing
    known, remembered = ([one for one in told if one not in apart] for told in (known, remembered))
    return _statements_of_related(clause, known, remembered, before)


def _end_and_present(text: str) -> list[Statement]:
    """The statements of `me independicé, ahora vivo en León`; empty if there are no two parts."""
    found = _NOW_PART.match(text)
    if found is None:
        return []
    present = _plain_statement(found["rest"], is_change=True)
    # "He cambiado de trabajo" tells nothing beside the new one.
    is_empty = announces(found["first"])
    return [present] if is_empty else [_plain_statement(found["first"]), present]


def _replaced_by_clause(
    clause: Clause,
    named: Clause,
    known: Sequence[str],
    remembered: Sequence[str],
    before: str,
) -> list[Statement]:
    """The earlier statement with the new value or being that a clause puts into it. `named`: the
    clause with nouns for its personal pronouns."""
    every = [*remembered, *known]
    named = replace(named, text=without_birthday(named.text))
    if exchanged := of_another(clause.text, known):
        return [exchanged[0], _plain_statement(exchanged[1])]
    # "I had to change it (my laptop password …)": what it means, the statement before it tells.
    told = next((one for one in reversed(known) if not _ABOUT_ANOTHER.search(one)), "")
    latest = restated_latest(clause, told) if told else None
    if corrected := latest or contrasted(clause.text, every):
        return [_whole(clause.text, corrected)]
    if corrected := at_other_destination(clause, every):
        return [corrected]
    first, rest, earlier = substituted(named.text, before, every, known)
    if earlier:
        over = [] if rest == named.text else [replace(_plain_statement(first), is_change=False)]
        replacement = in_place_of(first, rest, earlier)
        is_whole = not _leaves_value(rest, replacement)
        return [*over, replacement if is_whole else in_own_words(rest, replacement)]
    corrected = named_before(named.text, before, every)
    corrected = corrected or resolve_correction(named, known, remembered, before)
    if corrected and any(_keeps_departed(said, corrected) for said in (before, named.text)):
        return [in_own_words(named.text, corrected)]
    return [_whole(named.text, corrected)] if corrected else []


def _keeps_departed(said: str, corrected: Statement) -> bool:
    """Check whether a corrected statement still names whom a part of the message says to be gone:
    `Sid retired, I use a firm now, £25 an hour`."""
    found = _GONE.match(said)
    return found is not None and bool(
        re.search(rf"\b{re.escape(found['name'])}\b", corrected.text, _I)
    )


def _whole(text: str, corrected: Statement) -> Statement:
    if _leaves_value(text, corrected):
        corrected = with_other_parts(corrected, text)
    whole = whole_phrase(text, corrected)
    if whole and not _leaves_value(text, whole):
        return _with_gender(text, with_title(text, whole))
    return in_own_words(text, corrected)


def _with_gender(text: str, found: Statement) -> Statement:
    """The corrected statement with the subject of the clause if only its gender differs: `mi jefe
    es Nacho` in the place of `mi jefa es Amparo`."""
    new, old = leading_noun(text), leading_noun(found.text)
    if not new or not old:
        return found
    # "Mi jefe ahora", "mi nuevo jefe": the noun alone.
    noun = " ".join(re.sub(r"\bnuev[oa] ", "", new.text).split()[: len(old.text.split())])
    one, other = noun.lower(), old.text.lower()
    if one == other or one.rstrip("aeo") != other.rstrip("aeo"):
        return found
    return replace(found, text=f"{noun[:1].upper()}{noun[1:]}{found.text[len(old.text) :]}")


def _leaves_value(text: str, corrected: Statement) -> bool:
    """Check whether a corrected statement still has a number, a date or a profession for which the
    clause has another one, or leaves out its price: `a firm charges me £60`, or `my accountant is a
    firm`, after `I use a firm now, £75 a month`."""
    new, old = values_of_part(text), typed_values(corrected.replaced)
    if corrected.replaced and set(split_words(corrected.text)) < set(
        split_words(corrected.replaced)
    ):
        # It is what is left of a list.
        return False
    role = _NEW_ROLE.search(text)
    if role and role["noun"].lower() not in corrected.text.lower():
        # "A chiropractor, Hugo" is no physio of that name.
        return True
    names = [[one for one in items if one[:1].isupper()] for items in lists_of(text)]
    if any(len({one in corrected.text for one in items}) > 1 for items in names):
        # "The new neighbours are Raj and Meera": both.
        return True
    price = _PRICE.search(text)
    amount = (price["number"] or price["amount"]) if price else ""
    is_price_left = amount not in corrected.text
    return (
        is_price_left
        or _leaves_shift(text, corrected)
        or _leaves_profession(text, corrected)
        or any(
            kind in new
            and kind in old
            and not any(text[slice(*one)] in corrected.text for one in new[kind])
            and any(corrected.replaced[slice(*one)] in corrected.text for one in old[kind])
            for kind in (ValueType.NUMBER, ValueType.DAY)
        )
    )


_NEW_ROLE = LazyPattern(
    r"\b(?:an?|una?) (?P<noun>[^\W\d_]{4,}),? (?:(?:called|named|que se llama|llamad[oa]) )?"
    r"(?-i:[A-ZÀ-Þ])\w+$",
    _I,
)
"""Role and name of a newcomer: `a chiropractor, Hugo`."""


def _leaves_shift(text: str, corrected: Statement) -> bool:
    """Check whether a corrected statement still has the shift for which the clause has another one:
    `I'm on days now, start at 6` after `I'm on nights, start at 10`."""
    new, kept = _SHIFT.search(text), _SHIFT.search(corrected.text)
    return bool(new and kept and new[0].lower() != kept[0].lower())


_SHIFT = LazyPattern(
    r"\bon (?:days|nights|earlies|lates)\b|\bde (?:d[ií]as?|noches?|ma[ñn]anas|tardes)\b", _I
)
"""Time of a shift: `on nights`, `de noche`."""


def _leaves_profession(text: str, corrected: Statement) -> bool:
    """Check whether a corrected statement still has the profession for which the clause has another
    one: `ahora soy recepcionista en el Miramar` after `trabajo de camarero en La Parra`."""
    new, kept = (
        {word for word in split_words(said) if "profession" in concepts_of(word)}
        for said in (text, corrected.text)
    )
    return bool(new and kept) and not new & kept


def _told_at_once(
    text: str, before: str, known: Sequence[str], every: Sequence[str]
) -> list[Statement]:
    """Statements of a clause that takes the place of an earlier one by a pronoun, changes a list,
    or tells an end and a beginning. `before`: the clause before it."""
    if found := _NO_LONGER_BUT_NOW.match(text):
        whole = Clause(text=text, kind=ClauseKind.STATEMENT)
        return _change_of_clause(whole, every, known)[0] or _ended_and_new(found)
    changed = change_of_list(text, every) or of_relation(text, every)
    changed = changed or value_of_pronoun(text, known)
    changed = changed or moved_thing(text, before, known, every) or with_next_child(text, every)
    changed = changed or swapped(text, every, is_said=True) or found_at_last(text, every)
    return [changed] if changed else []


def _says_change(clause: Clause) -> bool:
    """Check whether a clause may give something that was told in another conversation a new value:
    it has a word that says that something changed, or is not so."""
    text = clause.text
    is_said = clause.is_change or is_changed(text) or is_denial(text)
    return is_said or announces(text) or is_event(text) or puts_elsewhere(text)


def _change_of_clause(
    clause: Clause, every: Sequence[str], known: Sequence[str]
) -> tuple[list[Statement], str]:
    """What a clause ends or replaces that does not only put in a new value; see
    `_statements_of_clause`."""
    text = clause.text
    if is_in_general(text):
        return [], ""
    first, rest = split_announcement(text)
    if earlier := announced(first, every, known):
        if rest and not ended_part(first):
            # "I quit the gym" names what is over.
            earlier = closest(rest, earlier, every)
        if rest:
            return _succession(first, with_person(rest, [first]), earlier), ""
        if ended_part(first) or has_changed(first):
            return ending(first, earlier), earlier
        return [_plain_statement(with_role(with_antecedent(first, known), every))], earlier
    if earlier := adjacent(text, known, is_change=clause.is_change):
        return [successor(text, earlier)], ""
    return [], ""


def _has_verb(text: str) -> bool:
    """Check whether a text of three words or more tells something with a finite verb. Lists and
    tags are not said."""
    is_said = len(text.split()) > 2 and text[0] not in _MARKUP and not _POLITE.search(text)
    return is_said and bool(_TELLS.match(text))


def _behind_joke(text: str, known: Sequence[str]) -> list[Statement]:
    """`Just kidding, I'm a Leeds fan`: the correction behind the joke; without an earlier statement
    it may be one, too."""
    found = _JOKED.match(text)
    rest = Clause(text=found["rest"], kind=ClauseKind.OTHER, is_change=True) if found else None
    corrected = rest and (contrasted(rest.text, known) or resolve_correction(rest, known, ()))
    return [corrected] if corrected else []


def _with_rests(
    found: Sequence[Statement], before: Sequence[Statement], gone: Sequence[Statement]
) -> list[Statement]:
    """The statements of a clause; behind each the half of a double one (`Tom rows and Mia swims`)
    that they, and those of the message before them (also those that they take the place of, `gone`)
    leave as it is."""
    statements = []
    for new in found:
        every = (*before, *gone, *found)
        others = [one.text for one in every if one.replaced == new.replaced]
        rest = _rest(new, concepts_of(NOTE.sub("", "; ".join(others))))
        statements += [new, Statement(text=rest)] if rest else [new]
    return [one for one in dict.fromkeys(statements) if one not in before]


def _rest(new: Statement, said: frozenset[str]) -> str:
    """The half of a double statement that has less of what is said now (`said`, concepts); empty if
    it is not double."""
    # A name beside a noun is no half: `my mum, Ann, picks them up`.
    replaced = BESIDE.sub(lambda found: "_" * len(found[0]), new.replaced)
    if not said & concepts_of(new.replaced):
        # "It's 1234 now (password)".
        said = concepts_of(new.text)
    rests = []
    for border in re.finditer(r"\s+(?:and|y)\s+|\s*[,;]\s+", replaced):
        halves = new.replaced[: border.start()], new.replaced[border.end() :]
        is_double = all(map(is_statement, halves)) and not _COMPLEMENT.match(halves[1])
        if not is_double or any(half in new.text for half in halves):
            continue
        if any(one.match(halves[1]) for one in (_RELATIVE, _LABEL, _TWO_NOUNS)):
            continue
        shares = [len(concepts_of(one) & said) / max(1, len(concepts_of(one))) for one in halves]
        rests.append(halves[shares[0] >= shares[1]])
    # If Al is gone, only Al's half of "two dogs, Bo at home and Al at Ann's" goes.
    rest = max(rests, key=len, default="")
    return "" if _has_other_values(new.text, rest) else _with_subject(rest, new.replaced)


def _has_other_values(text: str, half: str) -> bool:
    """Check whether a statement has all of a half but its values: `I'm with Lebara, I pay 8` leaves
    nothing of `I'm with EE`."""
    words = set(split_words(outside(half, typed_values(half))))
    if not typed_values(half).keys().isdisjoint(typed_values(text).keys()):
        # "Now it's with Aviva for 350" leaves nothing of "I pay 420 a year".
        is_price = "price" in concepts_of(half) and _FOR_AMOUNT.search(text)
        return bool(is_price) or words <= set(split_words(text))
    return False


_FOR_AMOUNT = LazyPattern(r"\b(?:for|at|por|a) [£$€]?\d", _I)


def _with_subject(half: str, whole: str) -> str:
    """Half of a statement with the subject of the whole (`es ingeniera`); empty if it has none."""
    if _NO_SUBJECT.match(half):
        subject = leading_noun(whole)
        half = f"{subject.text} {half}" if subject else ""
    return half[:1].upper() + half[1:]


def _ended_and_new(found: re.Match[str]) -> list[Statement]:
    """The two statements of `I no longer live in Rome, now in Oslo`."""
    rest = str(found["rest"])
    if rest.split()[0].lower() in _PREPOSITIONS:
        rest = f"I now {found['en']} {rest}" if found["en"] else f"Ahora {found['es']} {rest}"
    return [_plain_statement(found["ended"]), _plain_statement(rest, is_change=True)]


def _succession(announcement: str, text: str, earlier: str) -> list[Statement]:
    """The statement that holds instead of an earlier one; before it what is over, unless that only
    names the topic."""
    over = _plain_statement(elliptic(announcement))
    kept = [] if is_announcement_only(announcement, earlier) else [over]
    new = successor(text, earlier, announcement)
    text = with_role(new.text, [earlier])
    return [*kept, replace(new, text=f"{text[:1].upper()}{text[1:]}")]


def _plain_statement(text: str, is_change: bool = False) -> Statement:
    text = text.strip(" ,;")
    return Statement(
        text=text[:1].upper() + text[1:],
        is_change=is_change or is_changed(text),
        is_correction=is_change,
    )
