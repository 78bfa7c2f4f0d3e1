"""Later statements that change an answer: news, values that replaced it, what it followed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words
from spade_llm.understanding.answer_scores import (
    ATTRIBUTES,
    MIN_RARE_CHARS,
    PLACE,
    SAID_OF_SPEAKER,
    USED_TO,
    concerns_another,
    has_expected,
    has_other_owner,
    has_what_is_asked,
    is_of_owned,
    less_fitting,
    score,
)
from spade_llm.understanding.features import (
    NOTE,
    WAS_SO,
    ended_part,
    ended_thing,
    features,
    is_changed,
    is_denial,
    is_negated,
)
from spade_llm.understanding.pronouns import leading_noun, subject_name
from spade_llm.understanding.questions import (
    ASKS_PAST,
    ASKS_VALUE,
    ASKS_WHERE,
    Candidate,
    Question,
    is_about_speaker,
)
from spade_llm.understanding.replacement import (
    ADDITION,
    COUPLE,
    HABIT,
    SECRETS,
    TITLES,
    are_two_of_a_kind,
    denies_other_place,
    denies_other_thing,
    have_different_bearers,
    have_different_owners,
    is_beside,
    is_year,
    role_in_state,
    tells_own_home,
)
from spade_llm.understanding.substitution import LABELLED, units_of
from spade_llm.understanding.things import (
    names_other_kind,
    names_other_of_kind,
    qualified_nouns,
    tell_of_two_things,
)
from spade_llm.understanding.vocabulary import (
    WEEKDAY_CONCEPTS,
    ValueType,
    classes,
    concepts_of,
    general,
    is_concept,
    kin,
    light,
    stems_of,
    things,
    typed_values,
    value_key,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.understanding.features import Features

_I = re.IGNORECASE
_STILL = LazyPattern(
    r"\b(?:still|any ?more|no longer|yet|todav[ií]a|a[uú]n|sig[ou]e?s?|seguimos|siguen|ya no)\b", _I
)
"""The question is whether something that held holds now."""


def predecessors(
    question: str,
    answer: Candidate,
    ordered: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> list[Candidate]:
    """The statement that the answer replaced, if the question may ask for it: `what was my dog
    called?` may mean the former or the present one."""
    if not ASKS_PAST.search(question):
        return []
    former = [one for _, _, one in ordered if one.is_closed]
    return [one for one in former if holding_instead(one, candidates) == answer][:1]


def successor_of_former(
    asked: Question, candidates: Sequence[Candidate], least: float
) -> list[Candidate]:
    """A former statement that would answer the question, behind what holds instead of it:
    `who cuts my hair?` has no word in common with `I go to Mimi now`."""
    former = [
        (points, number, one)
        for number, one in enumerate(candidates)
        if one.is_closed
        and (points := score(asked, replace(one, is_closed=False))) >= least
        and has_what_is_asked(asked, one)
    ]
    for _, _, one in sorted(former, key=lambda found: (-found[0], -found[1])):
        if follower := holding_instead(one, candidates) or follower_of(asked, one, candidates):
            return [follower, one]
    return []


def holding_instead(former: Candidate, candidates: Sequence[Candidate]) -> Candidate | None:
    """The successor of a statement that still holds, or the successor of that one, and so on."""
    by_text = {one.text: one for one in candidates}
    found: Candidate | None = former
    for _ in candidates:
        found = by_text.get(found.successor) if found else None
        if found is None or not found.is_closed:
            return found
    return None


def follower_of(
    asked: Question, earlier: Candidate, candidates: Sequence[Candidate]
) -> Candidate | None:
    """The latest statement behind this one that may tell what holds instead of it, although no rule
    is sure of that."""
    if not asked.concepts & features(earlier.text).concepts:
        return None
    later = _later(asked, earlier, candidates)
    found = next((one for one in later if may_follow(asked, one, earlier.text)), None)
    found = found or next((one for one in later if _is_news(asked, one, earlier)), None)
    found = found or _update(asked, earlier, later, candidates)
    return _with_value(asked, found, later) if found and asked.expected else found


def _with_value(asked: Question, found: Candidate, later: Sequence[Candidate]) -> Candidate:
    """The statement of the same message that has a value of the type that is asked for, if this one
    has none: `pago 690` behind `el casero me lo ha subido`."""
    if has_expected(asked, found, features(found.text)):
        return found
    of_message = (one for one in later if one.is_of_same_message(found))
    return next((one for one in of_message if has_expected(asked, one, features(one.text))), found)


def _succeeds_another(
    asked: Question, later: Candidate, earlier: Candidate, candidates: Sequence[Candidate]
) -> bool:
    """Check whether a later statement took the place of another one than this, with which it shares
    a word that this one lacks, while this one has a word of the question that both lack: the spare
    keys, which were moved, for `where is the meter key?`. One that only ended another one ended no
    more: `I've stopped the statins` is no news of the metformin."""
    is_of_another = any(one.successor == later.text != earlier.successor for one in candidates)
    if is_of_another and all(map(is_denial, _TOLD_PART.split(later.text))):
        return True
    of_later, of_earlier = stems_of(later.text), stems_of(earlier.text)
    own = stems_of(asked.text) & of_earlier - of_later - light()
    replaced = (stems_of(one.text) for one in candidates if one.successor == later.text)
    return any(
        own - of_replaced and of_replaced & of_later - of_earlier - light()
        for of_replaced in replaced
    )


def _later(asked: Question, earlier: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The statements behind one, latest first, without those of its message, of what was so long
    ago, of another person or thing, and denials and ends of something else."""
    behind = candidates[candidates.index(earlier) + 1 :]
    least_fitting = less_fitting(asked, earlier.text)
    asked_kinds = qualified_nouns(asked.text)
    return [
        one
        for one in reversed(behind)
        if not (
            USED_TO.search(one.text)
            or _WAS_SO.match(one.text)
            or one.is_of_same_message(earlier)
            or not _may_be_of_same(asked, _joined(_message_of(one, behind)), earlier.text)
            or less_fitting(asked, one.text) > least_fitting
            or (have_different_bearers(one.text, earlier.text) and not _hands_on(asked, one.text))
            or names_other_of_kind(one.text, earlier.text)
            or any(tell_of_two_things(text, one.text) for text in (earlier.text, asked.whole))
            or names_other_kind(one.text, asked_kinds)
            or only_denies_another(one.text, earlier.text)
            or ends_another(one.text, earlier.text)
            or _succeeds_another(asked, one, earlier, candidates)
        )
    ]


_WAS_SO = LazyPattern(WAS_SO, _I)


def _hands_on(asked: Question, text: str) -> bool:
    """Check whether a question asks for the holder of a thing, and a statement tells that one was
    handed on."""
    return bool(_WHO_HAS.search(asked.text) and _HANDED_ON.search(text))


def _message_of(candidate: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """A statement with the others of its message."""
    return [one for one in candidates if one == candidate or one.is_of_same_message(candidate)]


def _joined(candidates: Sequence[Candidate]) -> str:
    return "; ".join(one.text for one in candidates)


def _may_be_of_same(asked: Question, text: str, earlier: str) -> bool:
    """Check whether a later statement may be about the same as an earlier one: it says that
    something has changed, or names all that the earlier one names of the question: `my phone is a
    Pixel` says nothing of the phone number. What another named being does is about that one."""
    new, old = features(text), features(earlier)
    subject = subject_name(text)
    if asked.names and subject and not (subject | new.names) & (asked.names | old.names):
        return False
    if asked.names and new.is_ended and new.names and not new.names & (asked.names | old.names):
        # "I cancelled Netflix" says nothing of Filmin.
        return False
    if is_changed(text) or new.is_ended or new.is_denial or _FOLLOWS.search(text):
        return True
    lost = asked.concepts & old.concepts - new.concepts - general() - light()
    shared = new.concepts & old.concepts - general() - light() - ATTRIBUTES
    names = (new.names & old.names) | subject & subject_name(earlier)
    # What the vocabulary does not know is as good as a name: `donkeys`.
    rare = {one for one in new.concepts & old.concepts if not is_concept(one)} - light()
    return bool(names or rare or (shared and not any(map(is_concept, lost))))


def only_denies_another(text: str, other: str) -> bool:
    """Check whether a statement says no more than that something else is not so: `I'm not allergic
    to milk` beside an allergy to nuts, but not `I can't have nuts`."""
    is_denied = is_only_denial(text) and not _CANNOT.search(text)
    return is_denied and denies_other_thing(text, other)


def ends_another(text: str, other: str) -> bool:
    """Check whether a statement says no more than that something is over of which another one does
    not speak: `I've stopped taking iron` beside `I take omeprazole`."""
    vague = general() | light() | classes() | {"medicine"}
    gone = concepts_of(ended_thing(ended_part(text))) - vague
    # "I changed to Revolut since Lloyds left town", "they left it for the 18th": more than an end.
    is_end = features(text).is_ended and not (_SAYS_MORE.search(text) or typed_values(text))
    return is_end and bool(gone) and not gone & features(other).concepts


_SAYS_MORE = LazyPattern(
    r"[,;]|\b(?:and|so|but|since|because|now|instead|not|no|y|pero|ya|porque|as[ií] que|ahora)\b",
    _I,
)
_CANNOT = LazyPattern(
    r"\b(?:can(?:['’]?t|not)|mustn['’]?t|shouldn['’]?t|not allowed|never"
    r"|no (?:puedo|puede|debo|debe)|nunca)\b",
    _I,
)


def _update(
    asked: Question,
    earlier: Candidate,
    later: Sequence[Candidate],
    candidates: Sequence[Candidate],
) -> Candidate | None:
    """The latest statement behind this one (`later`) that answers otherwise, and names in its
    message the same thing, as few of all candidates do: `the optician rang, they can only fit me in
    on the 21st` after `I see the optician on the 14th`."""
    return next(
        (
            one
            for one in later
            if not (one.is_closed or one.is_of_same_message(earlier))
            and _has_other_answer(asked, one.text, earlier.text)
            and _is_told_as_fact(one.text)
            and not _is_of_another_matter(asked, one, earlier.text)
            and _shares_rare_thing(asked, one, earlier, candidates)
        ),
        None,
    )


def _has_other_answer(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement about the same thing may answer a question otherwise: it has
    another value of the type that is asked for, it tells where something is now, or the question
    asks whether something is so."""
    one, other = features(new), features(old)
    if kinds := _asked_kinds(asked, old):
        days = [said.values_of(ValueType.DAY) or frozenset() for said in (one, other)]
        # "Mondays and Tuesdays" after "Mondays".
        is_more = ValueType.DAY in kinds and bool(days[1] and days[0] - days[1])
        is_more = is_more and is_year(days[0]) == is_year(days[1])
        return is_more or any(_has_other(one, other, kind) for kind in kinds)
    if ASKS_WHERE.search(asked.text) or _WHO_HAS.search(asked.text):
        is_place = bool(PLACE.search(new) and PLACE.search(old))
        return is_place or bool(_HANDED_ON.search(new))
    named = (asked.concepts & other.concepts) - general() - light()
    is_whether = not (asked.expected or ASKS_VALUE.search(asked.text))
    return is_whether and 2 * len(named & one.concepts) >= len(named)


def _asked_kinds(asked: Question, answer: str) -> frozenset[ValueType]:
    """The types of which another value would be another answer."""
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}
    if asked.expected or not ASKS_VALUE.search(asked.text):
        return kinds
    values = typed_values(answer).keys()
    return frozenset({ValueType.NUMBER}) if ValueType.NUMBER in values else frozenset()


def _is_told_as_fact(text: str) -> bool:
    """Check whether a statement tells what is so: no plan, nothing that is denied or added, and
    nothing that other people say of themselves."""
    said = features(text)
    is_of_others = bool(said.subject) and _is_hearsay(text)
    return not (is_only_denial(text) or ADDITION.search(text) or is_of_others)


def is_only_denial(text: str) -> bool:
    """Check whether each part of a statement denies something; a part of `I put it in my bag so as
    not to forget it` tells something."""
    return all(map(is_negated, _TOLD_PART.split(_NO_TROUBLE.sub("", text))))


def _is_hearsay(text: str) -> bool:
    """Check whether a statement only reports what other people say of themselves."""
    is_known = SAID_OF_SPEAKER.search(text) or _SAID_BY_OFFICE.search(text)
    return features(text).is_reported and not is_known


_SAID_BY_OFFICE = LazyPattern(
    r" said (?:that )?(?:my|our) |^(?:the )?(?:scan|ultrasound|test|letter|results?|email|text|app"
    r"|website|allergist|vet|doctor|gp|nurse|physio|dentist|midwife|school|council|hospital"
    r"|clinic)\b[^,;]{0,20}? says? "
    r"|^[^,;]{2,30} (?:dice|dijo|ha dicho) que [^,;]*\b(?:me|nos)\b",
    _I,
)
"""A report by a letter, a doctor or the like, which is not about themselves."""
_TOLD_PART = LazyPattern(r"[,;:] | (?:and|so|because|y|para|porque) ", _I)
_NO_TROUBLE = LazyPattern(
    r"\b(?:sin problemas?|no problem|without (?:any )?(?:trouble|problems?))\b", _I
)


def _is_of_another_matter(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement with another value is about another being, thing or kind of
    number than the answer to a question."""
    text = NOTE.sub("", new.text)
    secrets = asked.concepts & features(old).concepts & SECRETS
    units = units_of(text), units_of(old)
    # "I've given the key to our neighbour" tells of the key.
    is_of_place = ASKS_WHERE.search(asked.text) or _WHO_HAS.search(asked.text)
    beings = features(text).beings - features(old).beings - features(asked.text).beings - COUPLE
    is_of_another = (
        have_different_owners(text, old)
        or has_other_owner(text, asked)
        or (not is_of_place and (beings or _tells_of_another(asked, text, old)))
    )
    return bool(
        is_of_another
        or secrets - features(text).concepts
        or (all(units) and not units[0] & units[1])
        or are_two_of_a_kind(text, old)
        or not has_what_is_asked(asked, new)
        or _names_other_thing(asked, text, old)
    )


def _names_other_thing(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement lacks a thing that a question and its answer name, and has
    another one: `I have knee physio on 7 May` for `when is the knee op?`. What says that something
    has changed may name what it is now."""
    if asked.concepts & SECRETS and units_of(new):
        # "The gate's hinge cost 30 euros" tells no code.
        return True
    numbered = {one["noun"].lower() for one in LABELLED.finditer(old) if one.start()}
    if not numbered & set(split_words(asked.text)) <= set(split_words(new)):
        # "What unit do I drive?": a number without that noun is another one.
        return True
    named = features(asked.text).beings & features(old).beings
    if _TELLS_NAME_OF.search(new) and named - features(new).concepts:
        # "We have a boat, its name is Otter" does not tell what the dog is called.
        return True
    if is_changed(new):
        return False
    one, other = features(NOTE.sub("", new)), features(old)
    vague = general() | light() | kin() | TIMES
    lost = asked.concepts & other.concepts - one.concepts - vague
    return bool(lost and things() & one.topic - other.concepts - asked.concepts)


def _shares_rare_thing(
    asked: Question, later: Candidate, earlier: Candidate, candidates: Sequence[Candidate]
) -> bool:
    """Check whether the message of a later statement names something that the question and its
    answer name, and at most MAX_RARE other statements; and all names of both."""
    told = _message_of(later, candidates)
    said = _joined(told)
    words = value_key(said)
    if not asked.names & value_key(earlier.text) <= words and not _SAME_PLACE.search(said):
        return False
    concepts = frozenset[str]().union(*(features(one.text).concepts for one in told))
    vague = general() | light() | kin() | TIMES | concepts_of(" ".join(asked.names)) | {"home"}
    names = names_besides(asked.text, earlier.text) & words
    wanted = asked.concepts | concepts_of(" ".join(names))
    meant = wanted & features(earlier.text).concepts - vague
    shared = meant & concepts
    if 3 * len(shared) <= len(meant):
        # "The bowls lot voted for Wednesdays, same time": the question names the park only.
        is_arranged = bool(_ARRANGED.search(said) or _FOLLOWS.search(said) or is_changed(said))
        shared = features(earlier.text).topic & concepts - vague if is_arranged else frozenset()
    others = [one for one in candidates if one != earlier and one not in told]
    return any(
        sum(concept in features(one.text).concepts for one in others) <= MAX_RARE
        for concept in shared
    )


_ARRANGED = LazyPattern(
    r"\b(?:same (?:time|place|day|hour)|still|as usual|voted|from (?:this|next) (?:month|week|year)"
    r"|in place of|remains?|sick|on leave|mism[oa] (?:hora|d[ií]a|sitio|lugar)"
    r"|desde (?:este|el) mes|me (?:clav|cobr|sub)\w+|lo hacen|no puede)\b",
    _I,
)
"""Tells an arrangement beside one that was made before."""
_SAME_PLACE = LazyPattern(r"\b(?:same place|mismo (?:sitio|lugar))\b", _I)
"""Stands for a place that was named before."""
_TELLS_NAME_OF = LazyPattern(r"\b(?:its|his|her) name is\b|\bse llama\b", _I)
MAX_RARE = 2
"""Maximum number of other statements that name what two statements have in common."""


def _is_news(asked: Question, new: Candidate, old: Candidate) -> bool:
    """Check whether a later statement tells that what an answer names has gone, or has another day
    or place: `finally let the Golf go` for `I drive a Golf`, which is not asked for by its name."""
    one, other = features(new.text), features(old.text)
    is_added = bool(ADDITION.search(new.text))
    if new.is_closed or is_added or _is_hearsay(new.text) or new.is_of_same_message(old):
        return False
    if _has_other_value(asked, new.text, old.text):
        return True
    if one.is_plan:
        return False
    words = set(split_words(new.text))
    told = "; ".join(part for part in _COMMA.split(new.text) if not is_negated(part))
    has_gone = names_besides(asked.text, old.text) & value_key(new.text) and _PARTED.search(told)
    if has_gone or _tells_turn(asked, new.text, old.text):
        return True
    if _WHO_HAS.search(asked.text) and _HANDED_ON.search(told):
        # "Dan passed the drill on to his son": the answer need not be a name.
        return bool(stems_of(asked.text) & stems_of(old.text) & stems_of(new.text) - light())
    is_of_named = bool(asked.names & words & set(split_words(old.text)))
    if not is_of_named or one.is_negated:
        return False
    is_other_day = HABIT.search(new.text) and HABIT.search(old.text)
    if ValueType.DAY in asked.expected and is_other_day:
        return _has_other(one, other, ValueType.DAY)
    return bool(ASKS_WHERE.search(asked.text) and _WENT.search(new.text) and PLACE.search(new.text))


def _tells_turn(asked: Question, new: str, old: str) -> bool:
    """Check whether a question asks whether something is so, and a later statement tells an event
    by which what it names ends, comes back or changes hands: `is the van at the garage?`, `I picked
    the van up`."""
    if ASKS_VALUE.search(asked.text) or not _TURNS.search(new):
        return False
    names = asked.names & value_key(old)
    if not names:
        return bool(stems_of(asked.text) & stems_of(old) & stems_of(new) - light() - kin() - TIMES)
    subject = leading_noun(old)
    if subject and subject.is_being and value_key(subject.text) & names:
        # Of a person, anything may be told: "Ben passed his test" for "does Ben like football?".
        meant = (asked.concepts | features(old).concepts) - general() - light() - kin()
        if not (meant - concepts_of(" ".join(names))) & features(new).concepts:
            return False
    return names <= value_key(new)


_GONE = (
    r"got rid|sold|traded|swapped|finished|shut|quit|broke|wrote (?:[\w'’-]+ ){1,3}off|for good"
    r"|no longer|not any ?more|cerr(?:ó|ado|aron)"
)
"""Words for the end of a thing, or for its change of hands, in any sentence."""
_TURNS = LazyPattern(
    r"\b(?:pick(?:ed)? (?:[\w'’-]+ ){1,3}up|picked up"
    r"|(?:came|come|got|gave|given|brought|sent|handed|took|taken|went|gone|paid|dropped)"
    r" (?:[\w'’-]+ ){0,3}(?:back|off|round|in|over|away|home)"
    rf"|{_GONE}|pull(?:ed)? out|call(?:ed)? off|fell through|tied the knot|got (?:married|hitched)"
    r"|passed|failed|over and done|square|settled|even|closed|packed (?:it )?(?:in|up)"
    r"|jacked (?:it )?in|split up|last of|cancel\w+|scrapped|binned|ditched|never happened"
    r"|de vuelta|otra vez en|me (?:l[ao]s? )?(?:trajo|trajeron|ha traído|devolvi\w+)"
    r"|devuelt\w+|recog(?:í|ió|ido|imos)|vend(?:í|ió|ido|imos)|anul\w+|no se hizo|no va a haber"
    r"|no se hace|se cay[oó]|se ha caído|se acab[oó]|para siempre|en paz|a mano|pagad[oa]"
    r"|saldad[oa]|aprob(?:é|ó|ado)|suspend(?:í|ió|ido)|se cas(?:ó|aron)|nos casamos"
    r"|termin(?:é|ó|ado|amos)|acab(?:é|ó|ado|amos))\b",
    _I,
)
"""An event by which something ends, comes back or changes hands."""


def _has_other_value(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement has another value of the type that the question expects, and
    is about the same: it names the same things, or one of them and says what follows from
    something (`he'll come for the kids at six`, `they have put the class in Govan`)."""
    one, other = features(new), features(old)
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}
    has_place = bool(ASKS_WHERE.search(asked.text) and PLACE.search(new) and PLACE.search(old))
    if not has_place and not any(_has_other(one, other, kind) for kind in kinds):
        return False
    is_of_another = one.beings - other.beings - features(asked.text).beings
    if one.is_negated or is_of_another or are_two_of_a_kind(new, old):
        return False
    if _names_other_thing(asked, new, old):
        return False
    if not asked.names & value_key(old) <= value_key(new):
        return False
    spans = typed_values(old).get(ValueType.NAME, ())
    of_names = {word for start, end in spans for word in value_key(old[start:end])}
    names = value_key(new) & value_key(old) & of_names
    shared = {*names, *(one.concepts & other.concepts - general() - light() - TIMES)}
    if not shared & (asked.names | asked.concepts | names):
        return False
    beings = [one for one in map(leading_noun, (new, old)) if one and one.is_being]
    if beings or other.beings:
        # Of a person, anything may be told: when Ann plays tennis is no birthday.
        named = " ".join([*asked.names, *(one.text for one in beings)])
        shared -= value_key(named) | concepts_of(named) | one.subject | other.subject
        if not shared:
            return False
    is_same_habit = bool(HABIT.search(new) and HABIT.search(old))
    return len(shared) > 1 or is_same_habit or bool(_FOLLOWS.search(new))


_FOLLOWS = LazyPattern(
    r"\b(?:so|because|since|will|['’]ll|going to|would (?:rather|like)|prefers?|can only|have to"
    r"|(?:have|has|['’]ve|['’]s) (?:put|moved|given|changed|switched|taken)|put me on|in the end"
    r"|gave|rang|texted|from here on|this (?:term|year|season)|as[ií] que|porque|entonces"
    r"|de modo que"
    r"|voy a|va a|van a|vamos a|prefiere|solo puede|al final|me toca|me atiende|me ven?|avis\w+"
    r"|han (?:puesto|pasado|cambiado|mandado)|este (?:curso|a[ñn]o|trimestre))\b",
    _I,
)
"""Says what follows from something, or what others have arranged."""


def names_besides(question: str, text: str) -> frozenset[str]:
    """Names in a statement that answers a question, and things that the vocabulary does not know,
    in lower case: neither its subject (`Tom is a plumber`, `Tom left his bike here`: he still is
    one), nor what the question names, nor what stands beside the part that answers."""
    subject = leading_noun(text)
    about = value_key(question) | TITLES | (value_key(subject.text) if subject else frozenset())
    asked = concepts_of(question) - general() - light()
    parts = [one for one in _COMMA.split(text) if concepts_of(one) & asked] or [text]
    names = typed_values(text).get(ValueType.NAME, ())
    of_names = {word for start, end in names for word in split_words(text[start:end])}
    return frozenset(
        word
        for word in value_key(" ".join(parts)) - about
        # Not the "s" of "Lucy's".
        if (word in of_names and len(word) > 1)
        or (len(word) > MIN_RARE_CHARS and not any(map(is_concept, concepts_of(word))))
    )


_COMMA = re.compile(r"[,;:] (?:and |y )?")


_PARTED = LazyPattern(
    rf"\b(?:let (?:[\w'’-]+ ){{1,4}}go|{_GONE}|gave|given|passed|handed|retired|left"
    r"|clos(?:ed|ing)|moved|lost|took me off|taken me off|came off|come off"
    r"|stopped|dropped|switched|flew|packed up|casc(?:ó|ado)|written off|siniestro"
    r"|me (?:da|receta|pone)\b"
    r"|went off|gone off|gone|so (?:an?|the|it|we|i|he|she|now)\b"
    r"|instead|vend\w+|sal(?:í|ió|imos) de|dej(?:é|ó|amos|ado)|pas(?:ó|é) "
    r"|pasado|jubil\w+|traspas\w+|se ocupa|endosado|cambi\w+|quit(?:ó|ado|aron)"
    r"|de modo que|as[ií] que|conque|por lo que|ya no|se (?:ha )?(?:ido|fue|march\w+|mud\w+))\b",
    _I,
)
"""A person or thing has gone or was replaced, or a consequence of that."""
_WHO_HAS = LazyPattern(
    r"^(?:so )?who(?:['’]s| is| has| have)?(?: still)? (?:got|has|have|borrow\w+|holding)\b"
    r"|^¿?(?:y )?qui[eé]n (?:sigue teniendo|tiene|se llev[oó]|se qued[oó])\b"
    r"|\ben manos de qui[eé]n\b",
    _I,
)
_HANDED_ON = LazyPattern(
    r"\b(?:passed|lent|gave|given|handed|returned|brought|took|left|back|pas(?:ó|é|ado)|dej(?:ó|é"
    r"|ado)"
    r"|prest(?:ó|é|ado)|devolvi(?:ó|ste)|devolví|devuelto|trajo|traído|llev(?:ó|é|ado))\b",
    _I,
)
_WENT = LazyPattern(
    r"\b(?:moved|gone|went|relocated|transferred|settled|lives?|living|se (?:ha )?(?:fue|fueron|ido"
    r"|mud\w+|march\w+|traslad\w+|volvi\w+|vuelto)|vive|est[aá] en)\b",
    _I,
)
"""A change of place: of a person, or of a home."""


def may_follow(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement may tell what holds instead of an older one: it names half of
    what that has of the question, and another value, or tells a change of it."""
    if _cannot_follow(asked, new, old):
        return False
    one, other = features(new.text), features(old)
    words = set(split_words(new.text))
    of_names = concepts_of(" ".join(asked.names))
    wanted = (asked.concepts & other.concepts) - general() - light() - kin() - of_names
    found = wanted & one.concepts
    is_named = asked.names & set(split_words(old)) <= words
    # "They're doing the recital at St Luke's": of the one that was told of.
    is_meant = found and found == wanted and not one.beings
    if not is_named and (not is_meant or have_different_owners(new.text, old)):
        return False
    if is_changed(new.text) and (found or _exchanges_name(one, other, old)):
        # "Ann has moved" does not tell when her birthday is.
        is_dated = one.values_of(ValueType.DAY) or values_of_kind(one, ValueType.TIME)
        return ValueType.DAY not in asked.expected or bool(is_dated)
    if _tells_whether(asked, new.text, old):
        return True
    if is_named and asked.names and _has_other_member(asked, new.text, old):
        return True
    named = stems_of(asked.text) & stems_of(old) - light()
    is_half = 2 * len(named & stems_of(new.text)) >= len(named) > 0
    is_about_it = 2 * len(found) >= len(wanted) > 0 or (
        # Where Emma lives is no news of Emma's boyfriend.
        not wanted and bool(asked.names & words) and asked.concepts & other.beings <= one.concepts
    )
    is_about_it = is_about_it or (is_half and bool(found))
    kinds = asked.expected or {ValueType.DAY, ValueType.TIME, ValueType.NUMBER, ValueType.COLOUR}
    has_other = any(_has_other(one, other, kind) for kind in kinds)
    is_at_place = ASKS_WHERE.search(asked.text) and PLACE.search(new.text) and PLACE.search(old)
    return is_about_it and (has_other or bool(is_at_place))


def _cannot_follow(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement cannot tell what holds instead of an older one: it is over or
    a plan, others say it of themselves, it adds something, or it is about another being or thing.
    """
    one, other = features(new.text), features(old)
    is_told = one.is_reported and not SAID_OF_SPEAKER.search(new.text)
    # "We got another cat, that makes four" tells how many there are.
    is_counted = ValueType.NUMBER in asked.expected and _has_other(one, other, ValueType.NUMBER)
    # "I can't have aspirin" holds whatever else is prescribed, as does an allergy.
    is_of_denial = stems_of(asked.text) & stems_of(old) <= stems_of(new.text)
    return (
        new.is_closed
        or "allergy" in other.concepts - one.concepts
        or is_told
        or one.is_plan
        or (is_beside(new.text, old) and not is_counted)
        or (other.is_negated and not is_of_denial)
        or not has_what_is_asked(asked, new)
        or _is_aside(asked, new.text, one.concepts)
        or are_two_of_a_kind(new.text, old)
        or _tells_of_another(asked, new.text, old)
        or _names_other_thing(asked, new.text, old)
        or denies_other_place(new.text, old)
    )


def _tells_whether(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement answers a question whether something is so: `I passed my
    test` tells whether I have passed my driving test, of which only the date was known."""
    if ASKS_VALUE.search(asked.text):
        return False
    of_question, said = stems_of(asked.text), stems_of(new)
    shared = of_question & stems_of(old)
    is_event = features(new).is_past or is_changed(new)
    is_told = of_question & said - shared or (is_event and _STILL.search(asked.text))
    return bool(is_told) and 2 * len(shared & said) >= len(shared)


def _is_aside(asked: Question, text: str, concepts: frozenset[str]) -> bool:
    """Check whether a statement tells a number or code, or only has the word for a home: `the wifi
    password at home is …` does not tell where a person lives."""
    if concepts & (SECRETS | {"number"}) - asked.concepts:
        return True
    is_of_home = asked.concepts & concepts - general() == {"home"}
    return is_of_home and is_about_speaker(asked.text) and not tells_own_home(text)


def _exchanges_name(one: Features, other: Features, old: str) -> bool:
    """Check whether a statement has a name of an older one, which is not its subject, and another
    one: `switched to Monzo because Barclays closed` after `I bank with Barclays`."""
    new, before = one.values_of(ValueType.NAME), other.values_of(ValueType.NAME)
    if not new or not before or not new - before:
        return False
    return bool(new & before - value_key(old.split(maxsplit=1)[0]) - one.beings)


def _tells_of_another(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement is about a being that an older one does not name: what is
    said of a husband follows nothing that was said of the speaker."""
    one, other = features(new), features(old)
    is_of_named = concerns_another(new, asked.text) or bool(one.subject - other.beings)
    # "Ann moved to be nearer her mum" is about Ann.
    beings = one.subject & other.beings or one.beings
    return (
        bool(beings - other.beings - COUPLE)
        or is_of_owned(new, asked)
        or (is_about_speaker(asked.text) and has_other_owner(new, asked))
        or (is_of_named and is_about_speaker(asked.text))
        or (bool(role_in_state(new)) and not role_in_state(old))
    )


def _has_other_member(asked: Question, new: str, old: str) -> bool:
    """Check whether both statements have a member of a class that the question names and of which
    one holds at a time, each another one: `he plays goalie`, `he's on defense`."""
    classes = asked.concepts & _HELD_BY_ONE & features(new).concepts & features(old).concepts
    one, other = (
        {word for word in split_words(text) if concepts_of(word) & classes} for text in (new, old)
    )
    return bool(one - other and other - one)


_HELD_BY_ONE = frozenset({"position", "profession", "study", "subject", "work"})


def _has_other(one: Features, other: Features, kind: ValueType) -> bool:
    """Check whether both statements have values of a type, each one that the other has not."""
    new, old = values_of_kind(one, kind), values_of_kind(other, kind)
    if not new or not old or (kind is ValueType.DAY and is_year(new) != is_year(old)):
        return False
    return bool(new - old and old - new)


def values_of_kind(said: Features, kind: ValueType) -> frozenset[str] | None:
    """The values of a type; a number may be a time: `open till 6`."""
    values = said.values_of(kind)
    return said.values_of(ValueType.NUMBER) if not values and kind is ValueType.TIME else values


TIMES = WEEKDAY_CONCEPTS | {"christmas"}
