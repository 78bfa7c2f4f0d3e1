"""Choice of the statement that answers a question about the person who asks."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words
from spade_llm.understanding.answer_scores import (
    CLASSES_OF_BEINGS,
    INTRODUCTION,
    PENALTY,
    SMALL_PENALTY,
    TO_SPEAKER,
    child_of_relative,
    concerns_another,
    has_expected,
    has_what_is_asked,
    less_fitting,
    may_have_name,
    score,
)
from spade_llm.understanding.answer_updates import (
    TIMES,
    ends_another,
    follower_of,
    holding_instead,
    is_only_denial,
    may_follow,
    only_denies_another,
    predecessors,
    successor_of_former,
    values_of_kind,
)
from spade_llm.understanding.clause_kinds import FINITE
from spade_llm.understanding.corrections import CHANGE_WORDS, contrasted
from spade_llm.understanding.features import Statement, ends, features, is_changed, is_negated
from spade_llm.understanding.pronouns import leading_noun, subject_name
from spade_llm.understanding.questions import (
    ASKS_HOW_TO,
    ASKS_PAST,
    ASKS_TASTES,
    ASKS_VALUE,
    ASKS_WHO,
    Candidate,
    Question,
    asks_for_former,
    asks_for_list,
    asks_for_tasks,
    is_about_speaker,
    names_in_question,
)
from spade_llm.understanding.reminders import asked_task_verb, is_done_with, is_task_of
from spade_llm.understanding.replacement import (
    BEARER,
    COUPLE,
    DOES_SPANISH,
    OF_OWN,
    REASON,
    SECRETS,
    SPEAKER,
    WORDS_FOR_MEDICINE,
    bearer_of,
    key_of_being,
    owner_of,
    replaces,
)
from spade_llm.understanding.substitution import outside
from spade_llm.understanding.things import names_other_kind, qualified_nouns, tell_of_two_things
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    is_concept,
    kin,
    light,
    relatives,
    stems_of,
    typed_values,
    value_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from spade_llm.understanding.features import Features

_I = re.IGNORECASE
MAX_ANSWERS = 3
"""Maximum number of statements in an answer; several only for questions about several things."""
MAX_ABOUT = 8
"""The same for everything about a topic."""
MIN_SCORE = 1.5
"""Minimum score of an answer: a shared relation with a value of the expected type, or a shared
word that is rarer than that."""
CERTAIN_SCORE = 3.5
"""The same, if documents have an answer as well."""
ASKED_THING_SHARE = 0.75
"""Minimum score of an answer about the thing that is asked for, as a share of the best one."""
_SAID = LazyPattern(
    r"^(?:(?:can|could|will|would) you |please )*(?:remind|tell) me\b"
    r"|^¿?(?:me )?(?:puedes |podr[ií]as )?(?:recu[eé]rdame|recordar(?:me)?|decirme|dime)\b"
    r"|\b(?:(?:i|we)(?:['’]ve| have| had)? (?:ever |already )?(?:said|mentioned|told you|shared"
    r"|explained)"
    r"|did (?:i|we) (?:ever )?(?:say|mention|tell you|share|explain))(?: to you)?\b"
    r"|\bte (?:he |hab[ií]a )?(?:dij|dich|cont|mencion|coment|habl)\w+",
    _I,
)
"""The words `what I said about …` in a question: it does not ask who said something."""
_SPOUSE = LazyPattern(r"\b(?:husband|wife|marido|esposo|esposa|mi mujer)\b", _I)
_MARRIED = LazyPattern(
    r"\b(?:we|i)(?:['’]ve| have)?(?: just| finally)? (?:got|gotten|were) (?:married|hitched)\b"
    r"|\btied the knot\b|\bnos (?:hemos )?casa(?:mos|do)\b|\bme (?:he )?cas(?:é|ado)\b",
    _I,
)
_EX = LazyPattern(r"\b(?:(?:my|mi) ex|ex de m[ií])\b(?! (?-i:[A-ZÀ-Þ]))", _I)
_NO_LONGER = LazyPattern(r"\b(?:ya no|no longer|any ?more)\b", _I)
_OWN_TASTE = LazyPattern(
    r"^(?!.*(?:\bwould (?:like|love)|['’]d (?:like|love)|\b(?:looks?|feels?|sounds?) like|used to))"
    r"(?:(?:i|we|i['’]\w+|we['’]\w+)\b|(?:my|our) [^,;]{0,20}favou?rite"
    r"|(?:a m[ií],? )?(?:(?:no|s[ií]|tampoco|tambi[eé]n) )?(?:(?:me|nos)\b|odio|detesto|soporto"
    r"|aguanto"
    r"|prefiero|adoro|amo|soy)|(?:mis?|nuestr[oa]) [^,;]{0,20}favorit)",
    _I,
)
_TASK = LazyPattern(
    r"(?:(?:i|we) (?:have to|need(?: to)?|ought to|must|should)\b(?! an?\b| the\b| my\b)"
    r"|(?:ten(?:go|emos)|hay) (?:que\b|pendiente)|(?:debo|debemos) [^\W\d_]+r\b)",
    _I,
)
"""Tasks of the person (reminders.as_task)."""
_ASKED_ACT = LazyPattern(
    r"\b(?:do|did|am|are|was|were|have|can) (?:i|we) (?:still |usually |normally |always )?"
    r"(?P<verb>(?!have|got|get|going|like|love|live|work|need|want|take|call|do\b|be\b"
    r"|go\b)\w{4,})\b",
    _I,
)
"""The verb of a question about what the speaker does: `what do I grow?`."""
_ASKED_NOUN = LazyPattern(
    r"^[¿\s]*(?:what|which|qu[eé]|cu[aá]l) (?!(?:day|date|time|year|month|d[ií]a|fecha|hora|a[ñn]o"
    r"|mes)\b)(?P<noun>\w{3,}) (?:am|is|are|do|does|did|was|were|have"
    r"|has|tengo|tenemos|es|est[aá]|estoy)\b"
    r"|^[¿\s]*(?:what(?:['’]?s| is) (?:the|my|our)|cu[aá]l es (?:el|la|mi)) (?P<noun2>\w{3,})"
    r" (?:for|of|to|de|del|para)\b",
    _I,
)
"""The thing that a question asks for: `what seat am I in?`, `what's the code for my locker?`."""
_ASKED_SEVERAL = LazyPattern(
    r"^(?:who|what) are (?:the names of )?(?:my|our) (?P<noun>[a-z]+)(?: called| named)?[\s?]*$"
    r"|^[¿\s]*(?:qui[eé]nes son|c[oó]mo se llaman) (?:mis|nuestr[oa]s) (?P<noun2>\w+)[\s?]*$",
    _I,
)
"""A question for all beings or things of a kind: `who are my sisters?`."""
_ALL = LazyPattern(
    r"\b(?:all|every|list|things|names|pets|tablets|pills|medicines|meds|medication|clients"
    r"|customers"
    r"|pastillas|medicinas|clientes|allergies|hobbies|languages|children|kids|siblings"
    r"|plans|what (?:do|can['’]?t) i (?:like|hate|eat)|what (?:am|is|are) .* allergic"
    r"|a qu[eé] .* al[eé]rgic[oa]|qu[eé] (?:me gusta|odio)|todos|todas|qu[eé] d[ií]as|which days"
    r"|(?:qu[eé]|cu[aá]les) (?:medicamentos|remedios)|(?:what|which) medications"
    r"|idiomas|mascotas|alergias|hijos|hermanos|planes|nombres)\b"
    r"|^(?:what|which) (?:(?:other|different|kinds? of) )?[a-z]{3,}(?<![sui])s "
    r"(?:do|am|are|have|can)\b"
    r"|\b(?:what|who|how old) are (?:my|our) (?:[a-z]+ )?[a-z]{2,}(?<![sui])s\b"
    r"|^(?:so )?what do i take\b(?! (?:for|in|to|on|at|with)\b)|^[¿\s]*qu[eé] tomo\W*$"
    r"|^[¿\s]*qu[eé] [^\W\d_]{3,}[aeo]s (?:tengo|hago|juego|practico|toco|hablo|tomo|cr[ií]o)\b"
    r"|\b(?:cu[aá]les son|c[oó]mo se llaman|qui[eé]nes son|cu[aá]ntos a[ñn]os tienen)"
    r" (?:mis|nuestr[oa]s)\b",
    _I,
)
"""A question for all things of a kind."""


MAX_LATER = 100
"""Number of the latest candidates that may replace an older one: comparing all of them takes time
that grows with the square of their number."""


def with_closed(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each marked if one of the MAX_LATER latest ones replaces it. They must be
    ordered from the oldest."""
    statements = [Statement(text=one.text, is_change=is_changed(one.text)) for one in candidates]
    marked = []
    for number, one in enumerate(candidates, 1):
        later = zip(reversed(candidates[number:]), reversed(statements[number:]), strict=True)
        # Statements of one message hold together.
        latest = islice(later, MAX_LATER)
        apart = (new for other, new in latest if not one.is_of_same_message(other))
        successor = next((new.text for new in apart if _has_replaced(new, one.text)), "")
        is_closed = one.is_closed or bool(successor)
        marked.append(replace(one, is_closed=is_closed, successor=one.successor or successor))
    return marked


def _has_replaced(later: Statement, earlier: str) -> bool:
    """Check whether a later statement replaces an earlier one, or a value of it that it names:
    `they swapped her Eltroxin for Euthyrox`."""
    return replaces(later, earlier) or (
        later.is_change and contrasted(later.text, [earlier]) is not None
    )


def is_repeated(text: str, fact: str) -> bool:
    """Check whether a fact has all that a change tells: after `it's on Friday now`, the fact says
    what is on Friday."""
    text = REASON.sub("", text)
    told = stems_of(CHANGE_WORDS.sub(" ", text))
    new = {one for one in concepts_of(fact) - concepts_of(text) if is_concept(one)}
    # With no more than who somebody is, it is the same.
    is_same = is_changed(text) or new <= kin()
    return is_same and bool(told) and text != fact and told <= stems_of(fact)


def tells_value_of(fact: str, text: str) -> bool:
    """Check whether a fact has all values of a statement that was made in the same message, and is
    about the same: it is that statement with what was known before."""
    said, told = features(text), features(fact)
    about = concepts_of(outside(text, typed_values(text))) - general() - light()
    kinds = [kind for kind in ValueType if said.values_of(kind)]
    none = frozenset[str]()
    has_all = all(
        (values_of_kind(said, one) or none) <= (values_of_kind(told, one) or none) for one in kinds
    )
    return bool(kinds) and has_all and bool(about & told.concepts)


def find_answers(
    question: str, candidates: Iterable[Candidate], *, is_certain: bool = False
) -> list[Candidate]:
    """The statements that answer the question, best first; none if no candidate is close enough.

    `candidates`: oldest first; of those with equal scores the latest is best. A closed one answers
    only a question about the past. `is_certain`: only those that reach CERTAIN_SCORE, because there
    is another source, too. At most MAX_ANSWERS, and one only unless the question is about several
    things.
    """
    candidates, question = list(candidates), _SAID.sub(" ", question)
    if (listed := _listed_answers(question, candidates)) is not None:
        return listed
    candidates = _without_done(candidates, question)
    asked = Question.read(_with_being(question, candidates))
    asked = replace(asked, names=asked.names | _small_names(asked, candidates))
    if not asked.concepts and not asked.names and not asked.replaced_by:
        return []
    if asked.wants_before:
        candidates = [
            replace(one, is_closed=True) if follower_of(asked, one, candidates) else one
            for one in candidates
        ]
    least = CERTAIN_SCORE if is_certain else MIN_SCORE
    scored = _scored(asked, candidates, least)
    if not scored:
        return _answers_otherwise(question, asked, candidates, least)
    ordered = _with_end_first(question, asked, scored)
    best, _, first = ordered[0]
    if (still := _STILL.search(question)) and (news := _news_of(asked, still, first, candidates)):
        return [news, replace(first, is_earlier=True)]
    if _ALL.search(question):
        near = [one for points, _, one in ordered if points >= best - SMALL_PENALTY]
        if len(near) == 1:
            return [*_beside(question, asked, ordered, candidates)]
        told = [one for one in near if not _is_moved(asked, one, near)][:MAX_ANSWERS]
        # "I gave the dog away" behind the cat that is left.
        over = {one for one in told if one.is_closed or features(one.text).is_ended}
        return told if asked.wants_before else sorted(told, key=over.__contains__)
    return _with_same_time(asked, [*_beside(question, asked, ordered, candidates)], candidates)


def _news_of(
    asked: Question, still: re.Match[str], first: Candidate, candidates: Sequence[Candidate]
) -> Candidate | None:
    """The latest statement behind an answer that names what is asked about, by a word that the
    answer has, too: `do I still drive for Uber?` after `Uber has deactivated me`."""
    named = (stems_of(asked.text) & stems_of(first.text)) - light() - stems_of(still["verb"] or "")
    is_open = first in candidates and not first.is_closed
    behind = candidates[candidates.index(first) + 1 :] if is_open else ()
    return next(
        (
            one
            for one in reversed(behind)
            if named & stems_of(one.text)
            and not (_STILL.search(one.text) or one.is_of_same_message(first))
        ),
        None,
    )


_STILL = LazyPattern(
    r"\b(?:(?:still|todav[ií]a|a[uú]n)(?: (?P<verb>[\w'’-]+))?|sig(?:o|ue|uen|es)|seguimos)\b", _I
)


def _with_same_time(
    asked: Question, answers: list[Candidate], candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The answers; behind one that keeps a time without naming it (`on Fridays, at the same time`)
    the statement that does."""
    first = answers[0]
    if not _ASKS_TIME.search(asked.text) or not _SAME_TIME.search(first.text) or _has_time(first):
        return answers
    before = candidates[: candidates.index(first)] if first in candidates else ()
    scored = [
        (score(asked, one), number, one) for number, one in enumerate(before) if _has_time(one)
    ]
    points, _, told = max(scored, default=(0.0, 0, first))
    return [first, replace(told, is_earlier=True)] if points >= MIN_SCORE else answers


def _has_time(one: Candidate) -> bool:
    return bool(values_of_kind(features(one.text), ValueType.TIME))


_ASKS_TIME = LazyPattern(r"\b(?:what time|a qu[eé] hora)\b", _I)
_SAME_TIME = LazyPattern(
    r"\b(?:same (?:time|hour)|as (?:ever|always|usual)|still|misma hora|como siempre)\b", _I
)


def _answers_otherwise(
    question: str, asked: Question, candidates: Sequence[Candidate], least: float
) -> list[Candidate]:
    """Answers to a question that no candidate answers in its words: it asks for the husband, and
    the wedding is known, or for a former partner or value."""
    is_married = any(_MARRIED.search(one.text) for one in candidates if not one.is_closed)
    if is_married and _SPOUSE.search(question):
        # A statement made before the wedding calls the spouse a boyfriend or girlfriend.
        return find_answers(_SPOUSE.sub("partner", question), candidates)
    if _EX.search(question):
        # Former partners are seldom called so at the time.
        over = [replace(one, is_closed=False) for one in candidates if one.is_closed]
        found = find_answers(_EX.sub("my partner", question), over)
        return [replace(one, is_closed=True) for one in found]
    if _LIVES_WITH.search(question):
        return find_answers("who is my flatmate?", candidates)
    if asked.wants_before:
        replaced = (one for one in reversed(candidates) if _is_replaced_by(asked.replaced_by, one))
        return list(islice(replaced, 1))
    return successor_of_former(asked, candidates, least)


_LIVES_WITH = LazyPattern(r"\bwho(?:m)? (?:do|am) i liv\w+ with\b|\bcon qui[eé]n vivo\b", _I)


def _beside(
    question: str,
    asked: Question,
    ordered: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> Iterator[Candidate]:
    """The best answer, and what may hold instead of it, or was so before it."""
    first = ordered[0][2]
    is_of_past = asks_for_former(question) or ASKS_PAST.search(question)
    if first.is_closed and not is_of_past:
        # "Am I left-handed?": what holds instead. A birth does not say instead of what it is.
        holding = holding_instead(first, candidates)
        if holding and not ends(holding.text, asked.concepts):
            yield holding
        yield first
    elif _ASKED_SEVERAL.match(question):
        yield first
    elif not asked.wants_before and (follower := follower_of(asked, first, candidates)):
        yield follower
        yield replace(first, is_earlier=True)
    else:
        yield from predecessors(question, first, ordered, candidates)
        yield first


def _scored(
    asked: Question, candidates: Sequence[Candidate], least: float
) -> list[tuple[float, int, Candidate]]:
    """The candidates that answer a question, each with its score and its number, best first."""
    is_open = asked.wants_before or _may_be_closed(asked.text)
    scored = [
        (score(asked, one), number, one)
        for number, one in enumerate(candidates)
        if is_open or not one.is_closed
    ]
    # Of two that hold, the older one was before.
    order = 1 if asked.wants_before else -1
    last = max((number for points, number, _ in scored if points >= least), default=-1)
    # What a later statement says by itself needs no context.
    scored = [
        (max(points, _points_in_context(asked, one, candidates[:number])), number, one)
        if number > last
        else (points, number, one)
        for points, number, one in scored
    ]
    near = [one for one in scored if one[0] >= least]
    near = [one for one in near if not _is_of_another_bearer(asked, one[2].text)]
    near = [one for one in near if not _is_of_other_medicine(asked, one[2].text)]
    near = [*near, *_told_along(asked, near, candidates)]
    found = (one for one in near if has_what_is_asked(asked, one[2]))
    scored = sorted(
        found,
        key=lambda one: (
            less_fitting(asked, one[2].text) - one[0],
            _is_of_others_only(asked, one[2]),
            order * one[1],
        ),
    )
    # "My knee operation is in May" says nothing of the hip scan.
    scored = _of_asked_thing(asked, scored)
    if not _ALL.search(asked.text) and (verb := _asked_verb(asked)):
        # "I grow leeks there" for "what do I grow on my plot?", not what the plot costs.
        # … or an event that ended it: "I'm engaged" for "am I single?".
        scored = _preferred(
            asked, scored, lambda text: verb <= stems_of(text) or _has_ended(asked, text)
        )
    if head := _ASKED_NOUN.match(asked.text):
        # "My seat is 23C" for "what seat am I in on the flight?", not when the flight is.
        noun = stems_of(head["noun"] or head["noun2"])
        former = {one.text for _, _, one in scored if asked.wants_before and one.is_closed}
        beings = features(asked.text).beings
        # "My boyfriend gets the 8:15" for "which train does my boyfriend get?"
        scored = _preferred(
            asked,
            scored,
            lambda text: (
                bool(noun & stems_of(text) or features(text).subject & beings) or text in former
            ),
        )
    if several := _ASKED_SEVERAL.match(asked.text):
        # "I have two sisters, Ann and Eve" for "who are my sisters?", not "my sister Ann moved".
        plural = several["noun"] or several["noun2"]
        scored = [one for one in scored if plural in split_words(one[2].text)] or scored
    if kinds := qualified_nouns(asked.text):
        # "The spare key is …" says nothing of the garage key.
        scored = _preferred(asked, scored, lambda text: not names_other_kind(text, kinds))
    is_of_taste = is_negated(asked.text) or "dislike" in asked.concepts
    if ASKS_VALUE.search(asked.text) and not is_of_taste:
        scored = [
            one
            for one in scored
            if not (_denies_beside(one, scored) or _is_end_of_another(one, scored))
        ]
    if is_open:
        return scored
    return [one for one in scored if not _is_followed(asked, one, scored)] or scored


def _has_ended(asked: Question, text: str) -> bool:
    """Check whether a statement tells an event that ended what is asked for, and not of another
    being."""
    others = bearer_of(text) - SPEAKER - value_key(asked.text)
    return ends(text, asked.concepts) and not others


def _of_asked_thing(
    asked: Question, scored: list[tuple[float, int, Candidate]]
) -> list[tuple[float, int, Candidate]]:
    """The answers without those about another thing than the one that is asked for, if one of the
    rest is nearly as good."""
    found = [one for one in scored if not tell_of_two_things(asked.whole, one[2].text)]
    best = max((points for points, _, _ in scored), default=0.0)
    is_good = any(points >= ASKED_THING_SHARE * best for points, _, _ in found)
    return found if is_good else scored


def _preferred(
    asked: Question,
    scored: list[tuple[float, int, Candidate]],
    is_preferred: Callable[[str], bool],
) -> list[tuple[float, int, Candidate]]:
    """The answers with a property; all of them if none has it, or only less fitting ones have."""
    found = [one for one in scored if is_preferred(one[2].text)]
    is_fitting = any(not less_fitting(asked, one[2].text) for one in found)
    return found if is_fitting or (found and less_fitting(asked, scored[0][2].text)) else scored


def _denies_beside(
    one: tuple[float, int, Candidate], scored: Sequence[tuple[float, int, Candidate]]
) -> bool:
    """Check whether a candidate denies something else than another one tells: `I'm not allergic to
    milk` does not answer `what am I allergic to?`, if an allergy is known; nor does `I no longer do
    judo` answer what sport I do, if another one is known."""
    points, _, denial = one
    is_over = is_changed(denial.text) and is_only_denial(denial.text)
    return features(denial.text).is_negated and any(
        only_denies_another(denial.text, other.text)
        or (
            is_over
            and near > points - SMALL_PENALTY
            and not stems_of(denial.text) - light() <= stems_of(other.text)
        )
        for near, _, other in scored
        if not features(other.text).is_negated
    )


def _is_end_of_another(
    one: tuple[float, int, Candidate], scored: Sequence[tuple[float, int, Candidate]]
) -> bool:
    """Check whether a candidate only tells the end of something else than another one tells of,
    which fits nearly as well."""
    points, _, over = one
    return any(
        near > points - SMALL_PENALTY
        and ends_another(over.text, other.text)
        and features(over.text).beings == features(other.text).beings
        and not features(other.text).is_denial
        for near, _, other in scored
    )


_DEFINITE = LazyPattern(
    r"(?:(?:now|so|ahora) )?(?:the|el|la) (?P<noun>(?!(?:other|same|otr[oa]|mism[oa])\b)[\w-]+)", _I
)
"""`The meet's at Drexel`: its noun was told of before."""


def _points_in_context(asked: Question, candidate: Candidate, before: Sequence[Candidate]) -> float:
    """The score of a statement about a thing that the question names (`the price is 3,100`), with
    what was told of that thing before it: its owner, its kind."""
    thing = _DEFINITE.match(candidate.text)
    noun = stems_of(thing["noun"]) if thing else frozenset[str]()
    if not noun & stems_of(asked.text):
        return 0.0
    missing = stems_of(asked.text) - stems_of(candidate.text) - light()
    said = stems_of(
        " ".join(
            one.text
            for one in before
            if one.is_of_same_message(candidate) or noun & stems_of(one.text)
        )
    )
    words = [one for one in split_words(asked.text) if stems_of(one) & missing & said]
    if not words:
        return 0.0
    told = replace(candidate, text=f"{candidate.text} ({' '.join(words)})")
    return score(asked, told) - CONTEXT_PENALTY


CONTEXT_PENALTY = 0.25
"""Penalty for what only the context of a statement says."""


def _told_along(
    asked: Question,
    found: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> list[tuple[float, int, Candidate]]:
    """Statements that have the value that is asked for, and no topic of their own, in the messages
    of candidates without such a value, with the scores of these: `my shift is the late one; I'm on
    from ten till six` for `when's my shift?`."""
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}

    def has_value(one: Candidate) -> bool:
        return any(values_of_kind(features(one.text), kind) for kind in kinds)

    return [
        (points, number, other)
        for points, _, one in (found if kinds else ())
        if not has_value(one)
        for number, other in enumerate(candidates)
        if other.is_of_same_message(one)
        and not other.is_closed
        and has_value(other)
        and _continues(other.text, one.text)
    ]


def _continues(text: str, before: str) -> bool:
    """Check whether a statement tells more of what another one of its message is about: it has the
    same subject, a pronoun, or one that the vocabulary does not know."""
    subject = leading_noun(text)
    is_open = subject is None or not any(map(is_concept, concepts_of(subject.text) - general()))
    return is_open and features(text).beings <= features(before).beings


def _asked_verb(asked: Question) -> frozenset[str]:
    """The stem of the verb of a question about an activity of the speaker: `what do I grow?`; empty
    if there is none, or a light one."""
    found = _ASKED_ACT.search(asked.text)
    return stems_of(found["verb"]) - light() if found else frozenset()


def _listed_answers(question: str, candidates: Sequence[Candidate]) -> list[Candidate] | None:
    """Tastes of the person, or tasks that they still have to do, if a question is for all of them,
    or for known tasks with a verb (`what do I have to pay?`); else None."""
    if found := ASKS_TASTES.match(question):
        has_both = bool(found["both"] or found["gustos"])
        is_negative = any(found[one] for one in ("no", "hate", "dislikes", "nunca", "odio"))
        tastes = [one for one in candidates if not one.is_closed and _OWN_TASTE.match(one.text)]
        wanted = (_like, _dislike) if has_both else (_dislike if is_negative else _like,)
        return [one for one in tastes if any(does(one.text) for does in wanted)][-MAX_ABOUT:]
    tasks = [one for one in candidates if not one.is_closed and _TASK.match(one.text)]
    if asks_for_tasks(question):
        return tasks[-MAX_ABOUT:]
    verb = asked_task_verb(question)
    return [one for one in tasks if verb and is_task_of(one.text, verb)][-MAX_ABOUT:] or None


def _like(text: str) -> bool:
    said = features(text)
    return "like" in said.concepts and not (said.subject or said.is_denial)


def _dislike(text: str) -> bool:
    said = features(text)
    return "dislike" in said.concepts and not said.subject


def _without_done(candidates: Sequence[Candidate], question: str) -> list[Candidate]:
    """The candidates without what was done: `I paid the gas` is nothing that I have to pay."""
    verb = asked_task_verb(question)
    if not verb:
        return [*candidates]
    return [one for one in candidates if not is_done_with(one.text, verb)]


def _is_replaced_by(words: frozenset[str], candidate: Candidate) -> bool:
    """Check whether a statement does not hold any more, and its successor has all these words."""
    return bool(words) and words <= set(split_words(candidate.successor))


def _is_moved(asked: Question, one: Candidate, others: Sequence[Candidate]) -> bool:
    """Check whether another answer tells a change of this one: `I've put the pills up in the
    kitchen instead`."""
    if asked.wants_before:
        return False
    changes = (other for other in others if other != one and is_changed(other.text))
    return any(may_follow(asked, other, one.text) for other in changes)


def find_about(topic: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The statements that hold and name all that a topic names, oldest first, at most MAX_ABOUT."""
    named = stems_of(topic)
    wanted = concepts_of(_with_being(topic[:1].upper() + topic[1:], candidates)) & kin()
    open_ones = [one for one in candidates if not one.is_closed]
    names = _names_of_beings((one.text for one in open_ones), wanted)
    found = [
        one
        for one in open_ones
        if (named and named <= stems_of(one.text))
        or (wanted and wanted <= features(one.text).concepts)
        or names & set(split_words(one.text))
    ]
    return found[-MAX_ABOUT:]


def _names_of_beings(texts: Iterable[str], beings: frozenset[str]) -> frozenset[str]:
    """Names, in lower case, that statements give to beings of these concepts: `two kids, Ella and
    Max`."""
    lists = (
        found["names"]
        for text in texts
        for found in _NAMES_BEHIND.finditer(text)
        if concepts_of(found["noun"]) & beings
    )
    return frozenset(word for names in lists for word in split_words(names)) - {"and", "y", "e"}


_NAMES_BEHIND = LazyPattern(
    r"\b(?P<noun>[^\W\d_]+)[,:]?(?:['’]s)? (?:(?:(?:(?:is|are) )?(?:called|named)|que se llaman?"
    r"|se llaman?|llamad[oa]s?) )?"
    r"(?P<names>(?-i:[A-ZÀ-Þ])\w+(?:(?:, | and |, and | y | e )(?-i:[A-ZÀ-Þ])\w+)*)\b",
    _I,
)
"""Names behind the noun of a being."""


def _may_be_closed(question: str) -> bool:
    """Check whether what does not hold any more may answer: a question about the past, or whether
    something is so (`do I still smoke?`)."""
    return bool(ASKS_PAST.search(question) or not ASKS_VALUE.search(question))


def _is_followed(
    asked: Question,
    ended: tuple[float, int, Candidate],
    scored: Sequence[tuple[float, int, Candidate]],
) -> bool:
    """Check whether a statement tells an end (`I dropped out of law school`), and another one what
    holds instead: `I study nursing`."""
    over = features(ended[2].text)
    topic = asked.concepts & over.concepts - general()
    is_over = over.is_ended or bool(_NO_LONGER.search(ended[2].text))
    names = over.names
    return is_over and any(
        points >= ended[0] - PENALTY
        # "Dr Hill has retired" ends what names her, and is followed by any other doctor.
        and (number > ended[1] or is_changed(one.text) or not names & set(split_words(one.text)))
        and not (features(one.text).is_denial or features(one.text).is_ended)
        and features(one.text).beings == over.beings
        and bool(topic & features(one.text).concepts)
        for points, number, one in scored
    )


def _with_end_first(
    question: str, asked: Question, scored: Sequence[tuple[float, int, Candidate]]
) -> list[tuple[float, int, Candidate]]:
    """The answers; to a question whether something is so, an event that ended it (`we split up`)
    before what was told of it earlier."""
    if ASKS_VALUE.search(question):
        return list(scored)
    over = [one for one in scored if ends(one[2].text, asked.concepts) and one[1] > scored[0][1]]
    return [*over[:1], *scored] if over and not over[0][2].is_closed else list(scored)


def find_nearest(
    question: str, candidates: Sequence[Candidate], recalled: Collection[str] = ()
) -> Candidate | None:
    """The first of the candidates, which are in the order of their meaning's similarity to the
    question, if it can be an answer: with a value of the expected type, about the same being, and
    not known to be about something else. `recalled`: texts that a search by meaning found near
    enough to the question; these may be about what the question names in other words.
    """
    asked = Question.read(question)
    candidates = _without_done(candidates, question)
    if not candidates or ASKS_HOW_TO.search(question) or asks_for_list(question):
        return None
    # Only the first: similarity of meaning alone is weak evidence, and weaker for the next.
    nearest = candidates[0]
    is_possible = _may_answer(asked, nearest) and (
        nearest.text in recalled or not _is_unrelated(asked, nearest)
    )
    if not ASKS_VALUE.search(question):
        # Whether something is so, only what has a word of it can tell.
        is_possible = is_possible and score(asked, nearest) > 0.0
    return nearest if is_possible else None


def find_possible(
    question: str, candidates: Sequence[Candidate], recent: Collection[str]
) -> Candidate | None:
    """The candidate that may answer although the vocabulary has no sufficient link: with a value of
    the expected type, about the same being, and not known to be about something else.

    `recent`: texts of the latest statements of the conversation. A question for a value (`which`,
    `who`) that has no link to any candidate may mean one of them; the latest is returned.
    """
    candidates = _without_done(candidates, question)
    asked = Question.read(_with_being(question, candidates))
    if ASKS_HOW_TO.search(question) or asks_for_list(question):
        return None
    is_open = bool(ASKS_VALUE.search(question))
    possible = [
        (points, number)
        for number, one in enumerate(candidates)
        if _may_answer(asked, one)
        and ((points := score(asked, one)) > 0.0 or (is_open and one.text in recent))
        and not _is_unrelated(asked, one)
    ]
    return candidates[max(possible)[1]] if possible else None


def _may_answer(asked: Question, candidate: Candidate) -> bool:
    """Check whether nothing but the missing words in common is against this candidate."""
    said = features(candidate.text)
    is_against = (
        candidate.is_closed
        or asked.wants_before
        or said.is_reported
        or said.is_plan
        or _is_of_other_being(asked, said)
        or concerns_another(candidate.text, asked.text)
    )
    return not is_against and (
        not asked.expected
        or has_expected(asked, candidate, said)
        or may_have_name(asked, candidate)
    )


def _is_of_other_being(asked: Question, said: Features) -> bool:
    beings = features(asked.text).beings
    if beings:
        return not beings & said.beings
    # Another being that a statement about the speaker only mentions does not count.
    return bool(said.subject - asked.concepts or (said.beings and not said.is_own))


def _is_unrelated(asked: Question, candidate: Candidate) -> bool:
    """Check whether both are about known relations, but not about the same: `what is my religion?`
    and `I live in Rome`. Of a word without a concept it is not known."""
    said = features(candidate.text).concepts
    if "profession" not in said:
        # "I'm a Quaker" has the form of "I'm a nurse".
        said -= {"work", "role"}
    return not asked.concepts & said and all(
        any(is_concept(one) and one not in general() | TIMES for one in concepts)
        for concepts in (asked.concepts, said)
    )


def _is_of_others_only(asked: Question, candidate: Candidate) -> bool:
    """Check whether a question asks for something of the speaker alone (`what car do I drive?`),
    and a statement tells that of a being that it names (`Priya drives a Fiesta`)."""
    is_for_speaker = is_about_speaker(asked.text) and not (
        asked.names or features(asked.text).beings or ASKS_WHO.search(asked.text)
    )
    bearer = bearer_of(candidate.text) if is_for_speaker else SPEAKER
    is_other = bool(bearer) and bearer != SPEAKER and not bearer & value_key(asked.text)
    return is_other and not TO_SPEAKER.search(candidate.text)


def _is_of_another_bearer(asked: Question, text: str) -> bool:
    """Check whether a question asks for something of one being, and a statement tells that of
    another one: `my dog is called Rex` for `what's Ana's dog called?`. A name may be that of a
    being that the other text calls by its role."""
    if child_of_relative(asked, text, features(text)):
        return False
    one, thing = _asked_bearer(asked.text)
    other = _bearer_of_being(text, thing) if thing else bearer_of(text)
    if not one or not other or one & other:
        return False
    if _names_bearer(text, one) or _names_bearer(asked.text, other):
        return False
    if one == SPEAKER:
        return not TO_SPEAKER.search(_OF_OTHER.sub("", text) if owner_of(text) else text)
    roles, others = (
        {word for word in words if concepts_of(word) & kin()} for words in (one, other)
    )
    if other == SPEAKER:
        is_shared = "home" in asked.concepts and concepts_of(" ".join(one)) & COUPLE
        return not (is_shared or _OF_US.match(text))
    is_same_kind = (roles and others) or (one - roles and other - others)
    return bool(is_same_kind) and not concepts_of(" ".join(roles)) & concepts_of(" ".join(others))


def _is_of_other_medicine(asked: Question, text: str) -> bool:
    """Check whether a question names a medicine, and a statement another one."""
    words = value_key(asked.text)
    named = {one for one in words if "medicine" in concepts_of(one)} - _KINDS_OF_MEDICINE
    said = features(text)
    # "I'm allergic to penicillin" may answer for another one.
    is_of_medicine = "medicine" in said.concepts and "allergy" not in said.concepts
    return bool(named) and is_of_medicine and not (said.is_denial or named & value_key(text))


_KINDS_OF_MEDICINE = WORDS_FOR_MEDICINE | {
    "capsule", "capsules", "cream", "ointment", "eyedrops", "inhaler", "injection", "injections",
    "patch", "steroid", "steroids", "statin", "statins", "supplement", "supplements", "vitamin",
    "antihistamine", "anticoagulant", "contraceptive", "prescriptions", "prescribe", "prescribed",
    "prescribes", "prescribing", "analgesico", "analgesicos", "antihistaminico", "anticoagulante",
    "anticonceptivo", "anticonceptivos", "anticonceptiva", "capsula", "capsulas", "colirio",
    "crema", "gotas", "inhalador", "inyeccion", "inyecciones", "jarabe", "parche", "pomada",
    "receta", "recetas", "recetado", "recetaron", "vitaminas",
}  # fmt: skip
"""Words for kinds of medicine, of which a statement may have the name."""


def _names_bearer(text: str, bearer: frozenset[str]) -> bool:
    """Check whether a text names a being by one of its words, or by another one for the same."""
    words = bearer - SPEAKER
    return bool(words & value_key(text) or concepts_of(" ".join(words)) & concepts_of(text))


def _bearer_of_being(text: str, thing: str) -> frozenset[str]:
    """Words for the being to which a statement says that another one belongs; none if it says
    nothing of that: `Dr Hill is lovely` may answer `who is my doctor?` (`thing`: `doctor`)."""
    owner = owner_of(text)
    if owner and not _names_bearer(thing, owner):
        return owner
    # "My niece" may be "my brother's daughter".
    is_own = OF_OWN.match(text) or bearer_of(text) == SPEAKER
    return SPEAKER if is_own and concepts_of(thing) & concepts_of(text) & kin() else frozenset()


_OF_OTHER = LazyPattern(r"\bdel? (?:mi|nuestr[oa]) [\w-]+|^(?:my|our) [\w-]+", _I)
_OF_US = LazyPattern(r"(?:we|our|us|nuestr[oa]s?|nos|[^\W\d_]+(?:amos|emos|imos))\b", _I)
_ASKS_OF = LazyPattern(
    r"^[¿\s]*(?:what|when|where|who|how (?:old|much|tall)|which [\w-]+)(?:['’]s| is| are)"
    rf" (?P<owner>{BEARER})['’]s (?P<thing>[\w-][\w '’-]{{2,40}})[?\s]*$"
    r"|^[¿\s]*(?:what|when|where|who|how (?:old|much|tall)|which [\w-]+)(?:['’]s| is| are)"
    r" (?P<own>my|our) (?P<own_thing>[\w-][\w -]{2,40})[?\s]*$"
    rf"|^[¿\s]*(?:what|where|when|which|how)(?: [\w-]+){{0,3}}? (?:do|does|am|is|are)"
    rf" (?P<subject>i|we|{BEARER}) (?!called\b|like\b)[\w-]+(?: [\w-]+){{0,3}}[?\s]*$"
    r"|^[¿\s]*(?:cu[aá]l(?:es)?|cu[aá]ndo|d[oó]nde|qui[eé]n|c[oó]mo) (?:es|son|se llama|est[aá]) "
    rf"(?:(?P<own2>mi|nuestr[oa]) (?P<own_thing2>[\w ]{{3,40}}?)"
    rf"|(?:el|la) (?P<thing2>[\w ]{{3,40}}?) del? (?P<owner2>{BEARER}))[?\s]*$"
    r"|^[¿\s]*(?:a |de |en )?(?:qu[eé]|cu[aá]nt[oa]s?|d[oó]nde|cu[aá]ndo|c[oó]mo)"
    rf"(?: [\w-]+){{0,2}}? (?:{DOES_SPANISH}"
    rf"(?: (?-i:[a-zß-ÿ]+))? (?P<subject2>{BEARER})"
    r"|(?P<subject3>(?:me )?(?:soy|estoy|voy|[^\W\d_]{3,}o))"
    r"(?: (?:un |una |el |la )?[\w-]+)?)[?\s]*$",
    _I,
)
"""Asks for something of a being: `what's Ana's dog called?`, `¿a qué soy alérgica?`."""


@lru_cache(maxsize=500)
def _asked_bearer(question: str) -> tuple[frozenset[str], str]:
    """Words that name the being of which a question asks something, or SPEAKER, and the being that
    it asks for (`my doctor`), if it does; no words if it asks for nothing of a being."""
    found = _ASKS_OF.match(question)
    if not found:
        return frozenset(), ""
    thing = next((found[one] for one in _THING_GROUPS if found[one]), "")
    thing = thing if concepts_of(thing) & (kin() | CLASSES_OF_BEINGS) else ""
    named = next((found[one] for one in _BEARER_GROUPS if found[one]), "")
    if not named or named.lower() in ("i", "we"):
        return SPEAKER, thing
    return key_of_being(named), thing


_THING_GROUPS = ("thing", "own_thing", "thing2", "own_thing2")
_BEARER_GROUPS = ("owner", "owner2", "subject", "subject2")


def _with_being(question: str, candidates: Sequence[Candidate]) -> str:
    """The question, and behind it what the beings are that it calls by their names."""
    names = names_in_question(question)
    if not names:
        return question
    found = (one for candidate in candidates for one in INTRODUCTION.finditer(candidate.text))
    nouns = (one["noun"] for one in found if names & set(split_words(one["name"])))
    beings = [
        one for one in dict.fromkeys(nouns) if concepts_of(one) & kin() and one not in question
    ]
    return " ".join([question, *(f"(my {one})" for one in beings[:1])])


def _small_names(asked: Question, candidates: Sequence[Candidate]) -> frozenset[str]:
    """Names without a capital in a question: words that stand behind the noun of a being in one of
    the candidates, as `bex` in `my sister bex is a paramedic`."""
    words = {one for one in stems_of(asked.text) if not is_concept(one)}
    return frozenset(
        found["name"].lower()
        for candidate in candidates
        for found in _BEHIND_BEING.finditer(candidate.text)
        if stems_of(found["name"]) & words and concepts_of(found["noun"]) & kin()
    )


_BEHIND_BEING = LazyPattern(
    r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>[^\W\d_]+) "
    rf"(?P<name>(?!{FINITE}\b)(?-i:[a-zß-ÿ])[^\W\d_]+(?<!ed)(?<!ing)(?<![^s]s))\b",
    _I,
)
"""A word behind the noun of a being, which is no verb."""
_TASTES = frozenset({"like", "dislike"})
_EVENTS = frozenset({"appointment", "exam", "wedding"})
_DATED = frozenset({"meeting", "trip", "plan", "surgery"})
"""Concepts of what may be an event, or only what somebody does: a nurse in surgery."""


_IS_ONE = LazyPattern(r"(?:i(?:['’]m| am) an?|soy) ", _I)
"""`I'm a nurse`."""


def group_statements(texts: Iterable[str]) -> dict[str, list[str]]:
    """Statements by group (`you`, `people`, `tastes`, `plans`), in this order, without empty
    groups."""
    groups: dict[str, list[str]] = {"you": [], "people": [], "tastes": [], "plans": []}
    texts = list(dict.fromkeys(texts))
    names = _names_of_beings(texts, kin())
    for text in texts:
        groups[_group(text, names)].append(text)
    return {name: found for name, found in groups.items() if found}


def theme_of(topic: str) -> str:
    """The theme that a topic (`my family`, `mi salud`) names: a key of `_themes`, or `plans`; empty
    if it names none."""
    found = _THEME.match(topic)
    return str(found.lastgroup) if found else ""


def about_theme(theme: str, texts: Iterable[str]) -> list[str]:
    """The statements on a theme. What is told of a relative is about the family, and not about the
    speaker's health or work."""
    texts = list(dict.fromkeys(texts))
    if theme == "plans":
        return group_statements(texts).get("plans", [])
    wanted = _themes()[theme]
    if theme in ("family", "pets"):
        names = _names_of_beings(texts, wanted)
        return [
            one for one in texts if features(one).beings & wanted or names & set(split_words(one))
        ]
    family = _themes()["family"]
    return [
        one
        for one in texts
        if features(one).concepts & wanted
        and not (features(one).concepts & (family | {"pet"}) or subject_name(one))
    ]


_THEME = LazyPattern(
    r"(?:all |toda )?(?:my|our|mis?|nuestr[oa]s?) (?:(?P<family>(?:whole )?family|relatives"
    r"|familia(?:res)?)|(?P<pets>pets|animals|mascotas|animales)|(?P<health>health|salud)"
    r"|(?P<diet>diet|food|eating habits|dieta|alimentaci[oó]n|comida)"
    r"|(?P<hobbies>hobbies|interests|free time|aficiones|pasatiempos|hobb(?:y|ie)s|tiempo libre)"
    r"|(?P<work>work|job|career|trabajo))$|(?:(?:my|our|mis|nuestros) )?(?P<plans>plans|planes)$",
    _I,
)


@cache
def _themes() -> Mapping[str, frozenset[str]]:
    """The concepts of each theme."""
    couple = {"boyfriend", "girlfriend", "husband", "partner", "wife"}
    return {
        "family": relatives() | couple,
        "pets": frozenset({"pet"}),
        "health": frozenset(
            {"blood", "dentist", "doctor", "headache", "health", "medicine", "sight", "smoke"}
        ),
        "diet": frozenset({"diet", "drink", "food"}),
        "hobbies": frozenset({"hobby", "instrument", "music", "sing", "sport"}),
        "work": frozenset(
            {"boss", "colleague", "employer", "office", "profession", "salary", "work"}
        ),
    }


def _group(text: str, names: frozenset[str]) -> str:
    """The group of a statement. `names`: those of beings, in lower case."""
    of_text = features(text)
    when = {ValueType.DAY, ValueType.TIME} & {kind for kind, _ in of_text.values}
    is_dated = bool(of_text.concepts & _DATED) and (bool(when) or of_text.is_plan)
    if "profession" in of_text.concepts and _IS_ONE.match(text):
        # Whatever the hours and days are.
        return "you"
    is_event = bool(of_text.concepts & _EVENTS) or len(when) > 1
    if is_event or is_dated or (of_text.is_plan and ValueType.DAY in when):
        return "plans"
    is_of_being = bool(of_text.concepts & kin()) or concerns_another(text, "")
    is_of_being = is_of_being or bool(names & set(split_words(text)[:1]))
    if is_of_being and not of_text.concepts & SECRETS:
        return "people"
    if of_text.concepts & _TASTES:
        return "tastes"
    return "plans" if of_text.is_plan else "you"
