"""Corrections and pronouns: clauses that need an earlier statement to be understood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.understanding.clauses import ClauseKind
from spade_llm.understanding.features import features
from spade_llm.understanding.replacement import COPULA, Statement
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    typed_values,
    values_of_part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.understanding.clauses import Clause

_I = re.IGNORECASE

MAX_FRAGMENT_WORDS = 6
"""Maximum length in words of a correction that is only a value: `no, the blue one`."""
MAX_BACK = 4
"""Number of earlier statements among which a corrected value is looked for."""
MAX_TAIL_WORDS = 4
"""Maximum length in words of a complement that is replaced as a whole: a longer one says more than
the value that is corrected."""
_CORRECTED = tuple(
    re.compile(pattern, _I)
    for pattern in (
        r"^(?:.*?\b)?(?:is|are|was|it['’]?s|he['’]?s|she['’]?s)?\s*n(?:ot|['’]t) (?:called "
        r"|named |on |in |at |an? )?(?P<old>[^,;]{1,40}?)"
        r"(?:[,;]| but)+ (?:but |it['’]?s |it is |he['’]?s |she['’]?s |is )?(?:called |named "
        r"|on |in |at |an? )?(?P<new>.{1,40})$",
        r"^(?:it['’]?s |it is |he['’]?s |she['’]?s |i (?:meant|said) )?(?:called |named |on "
        r"|in |at |an? )?(?P<new>[^,;]{1,40}),? (?:and )?not (?:called |named |on |in |at "
        r"|an? )?(?P<old>.{1,40})$",
        r"^(?:.*?\b)?no (?:es|se llama|era|son|est[aá] en|vive en)? ?(?:el |la "
        r"|en )?(?P<old>[^,;]{1,40}?)(?:[,;]| sino)+ (?:sino |es |se llama |est[aá] en "
        r"|vive en )?(?:el |la |en )?(?P<new>.{1,40})$",
        r"^(?:el |la |en )?(?P<old>[^,;]{1,30}) no, (?:el |la |en )?(?P<new>.{1,40})$",
        r"^(?:es |se llama )?(?:el |la |en )?(?P<new>[^,;]{1,30}), no (?:el |la "
        r"|en )?(?P<old>.{1,40})$",
    )
)
"""Corrections that name the old value and the new one: `not Ana, Anna`, `Anna, not Ana`, and the
same in Spanish."""
_CHANGED_TO = re.compile(
    r"^(?:it|they|he|she|that|this|lo|la|eso)?\b.*(?:\b(?:to|a|al|para|on|at|is|es|por|en"
    r"|spelled|spelt|called)|['’]s)\s+(?:the |el |las? )?(?P<new>[^,;]{1,40}?)(?: (?:now"
    r"|instead|ahora|then))?(?:,.*)?$",
    _I,
)
"""A pronoun that gets a new value: `it's on Friday now`."""
_CHANGED_NOUN = re.compile(
    r"^(?:(?:we|they|i|he|she)(?:['’]ve| have| has)? )?(?:changed|moved|rescheduled|postponed"
    r"|brought forward|pushed back|shifted)"
    r" (?P<noun>(?:the|my|our) .+?) (?:to|until|for) (?P<new>.+)$"
    r"|^(?P<noun2>(?:the|my|our) .+?) (?:(?:is|was|has been|got|['’]s)(?: been)? (?:changed"
    r"|moved|rescheduled|postponed|pushed back|brought forward)"
    r"|(?:changed|moved)) (?:to|until|for) (?P<new2>.+)$"
    r"|^(?:(?:me|nos) )?(?:han |hemos |he )?(?:cambi\w+|aplaz\w+|adelant\w+|retras\w+|movi\w+"
    r"|pasa\w+|pospues\w+) (?P<noun3>(?:la|el|mi) .+?) (?:al?|para|hasta) (?:el |la "
    r"|las )?(?P<new3>.+)$",
    _I,
)
"""A noun that gets a new value: `we moved the meeting to Friday`, `the meeting was moved …`, `han
cambiado la cita …`."""
_SWITCHED = re.compile(
    r"^i(?:['’]ve)? (?:have )?(?:switched|changed) (?:over )?to (?P<new>[\w ]{2,30})$", _I
)
_PRONOUN = re.compile(
    r"^(?:it|it['’]s|that|that['’]s|this|they['’](?:ve|re)|they (?:moved|changed|postponed"
    r"|rescheduled|put)"
    r"|(?:la|lo) (?:han|hemos|he)|(?:now|ahora) (?:it|es|est[aá])|es |est[aá] )",
    _I,
)
_BEFORE_VALUE = re.compile(
    r"^(?:it['’]?s|it is|es|on|in|at|el|la|en|an?|the|to|a|called)\s+(?=\S)", _I
)
"""What stands before a value and is not part of it."""
_TAIL = re.compile(
    r"^.*?\b(?:i['’]m|is|are|was|called|named|like|love|prefer|drink|eat|hate|play|study|speak|use"
    r"|drive|have|es|son|llamo|llama|gustan?"
    r"|encantan?|prefiero|bebo|como|odio|juego|estudio|hablo|tengo|in|at|on|en|with|con|for|a"
    r"|an|un|una|the|el|la)\s+(?P<tail>\S.*)$",
    _I,
)
"""The complement behind the last verb, article or preposition of a statement."""


def resolve_correction(
    clause: Clause, known: Sequence[str], remembered: Sequence[str]
) -> Statement | None:
    """The earlier statement with the value that the clause puts in the place of another; None if
    the clause corrects none.

    `known`: the person's statements of this conversation, oldest first. `remembered`: those of
    other conversations; only a correction that names the old value, or the noun, refers to them.
    """
    # Those of this conversation behind the others: the latest that fits is meant.
    every = [*remembered, *known]
    if found := _named_correction(clause.text, every) or _changed_noun(clause.text, every):
        return found
    if not known:
        return None
    is_short = len(clause.text.split()) <= MAX_FRAGMENT_WORDS
    if clause.kind is ClauseKind.OTHER and clause.is_change and is_short:
        return _with_value(known, clause.text)
    changed = _CHANGED_TO.match(clause.text) if _PRONOUN.match(clause.text) else None
    if switched := _SWITCHED.match(clause.text):
        return _with_value(known, switched["new"])
    if changed and (clause.is_change or values_of_part(changed["new"])):
        return _with_value(known, changed["new"])
    return None


def _named_correction(text: str, earlier: Sequence[str]) -> Statement | None:
    """`Not Ana, Anna`: the latest statement with the old value, with the new one instead."""
    for found in filter(None, (pattern.match(text) for pattern in _CORRECTED)):
        old, new = found["old"].strip(), found["new"].strip(" .")
        place = re.compile(rf"\b{re.escape(old)}(?!\w)", _I)
        for one in reversed(earlier):
            if at := place.search(one):
                changed = one[: at.start()] + new + one[at.end() :]
                return Statement(text=changed, is_change=True, replaced=one)
    return None


def _changed_noun(text: str, earlier: Sequence[str]) -> Statement | None:
    """`We moved the appointment to Friday`: the latest statement about it, with the new value."""
    found = _CHANGED_NOUN.match(text)
    if not found:
        return None
    noun = found["noun"] or found["noun2"] or found["noun3"]
    value = found["new"] or found["new2"] or found["new3"]
    about = concepts_of(noun) - general()
    same = [one for one in earlier if about and about <= features(one).concepts]
    return _with_value(same[-1:], value) if same else None


def _with_value(known: Sequence[str], value: str) -> Statement | None:
    """A recent statement that has a value of the same type, with this value instead; for a value
    without a type the latest statement, with this complement instead."""
    value = _BEFORE_VALUE.sub("", value.strip(" .!,"))
    types = values_of_part(value)
    for earlier in reversed(known[-MAX_BACK:]):
        spans = typed_values(earlier)
        tail = COPULA.match(earlier)
        if len(types) > 1 and tail and types.keys() & spans.keys():
            return _with_part(earlier, tail.start("tail"), len(earlier), value)
        if kind := next((one for one in types if one in spans), None):
            first, last = types[kind][0]
            # "room 7" after "room 3": the noun stands there already.
            has_noun = value[:first].strip().lower() in earlier.lower()
            is_bare = kind is ValueType.NUMBER and has_noun
            return _with_part(earlier, *spans[kind][-1], value[first:last] if is_bare else value)
    latest = known[-1]
    tail = COPULA.match(latest) or _TAIL.match(latest)
    is_named = ValueType.NAME not in types or "name" in features(latest).concepts
    if tail and is_named and len(tail["tail"].split()) <= MAX_TAIL_WORDS:
        return _with_part(latest, tail.start("tail"), len(latest), value)
    return None


def _with_part(earlier: str, start: int, end: int, value: str) -> Statement:
    return Statement(text=earlier[:start] + value + earlier[end:], is_change=True, replaced=earlier)


_PERSON_PRONOUN = re.compile(
    r"^(?P<pronoun>she|he(?! \w+(?:ado|ido|echo|uesto|isto|ito)\b)|his|her|[eé]l(?= (?:es|vive"
    r"|tiene|trabaja|se)\b)|ella)(?P<rest>['’]s\b.*| .*)$",
    _I,
)
_ABOUT_IT = re.compile(r"^(?:its|it['’]s|it is)\b(?!.*\b(?:i|my|we|our)\b)", _I)
_THIRD_VERB = re.compile(
    r"^(?:no |tambi[eé]n |ahora )?(?:es|est[aá]|tiene|vive|trabaja|se llama|ha|se ha|estudia"
    r"|juega|habla|cumple|naci[oó]|le gustan?|le encantan?|prefiere|odia|come|mide|pesa)\b",
    _I,
)
_IMPERSONAL = re.compile(
    r"^(?:no |tambi[eé]n |ahora )?(?:ha|est[aá]|es) (?:muy |ya |todo )*(?:llov|nev|granizad|tronad"
    r"|hech|habid|sid|nublad|oscur|tarde|temprano|pronto|hora|verdad|cierto|igual|mejor|que|lunes"
    r"|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)",
    _I,
)
"""`Ha llovido`: a verb without a subject, which is not said of what was spoken of before."""
_SUBJECT = re.compile(
    r"^(?P<noun>(?:my|our|mi|nuestr[oa]) (?:[\w-]+ ){0,2}?[\w-]+?)(?:['’]s\b(?! (?:name"
    r"|birthday))| (?:is|was|has|lives|works|are|se llama|es|vive|tiene|trabaja|est[aá])\b"
    r"|['’]s (?:name|birthday))",
    _I,
)
_INTRODUCED = re.compile(
    r"\b(?:i have|i['’]ve got|we have|we['’]ve got|tengo|tenemos) (?:an?|un"
    r"|una) (?:[\w-]+ )??(?P<noun>[\w-]+)(?:,| (?:called|named|who|que|llamad[oa])|$)",
    _I,
)


def with_subject(text: str, known: Sequence[str]) -> str:
    """The statement with a noun in the place of a pronoun, if one of the latest of `known` (not
    empty) names it; what is said of a thing (`it's red`) behind the latest one, so that it can be
    understood by itself."""
    pronoun = _PERSON_PRONOUN.match(text)
    has_subject_before = _THIRD_VERB.match(text) and not _IMPERSONAL.match(text)
    if not pronoun and not has_subject_before:
        return f"{known[-1]}; {text}" if _ABOUT_IT.match(text) else text
    noun = next(filter(None, map(_noun, reversed(known[-MAX_BACK:]))), "")
    if not noun:
        return text
    if not pronoun:
        return f"{noun} {text[0].lower()}{text[1:]}"
    if pronoun["pronoun"].lower() in ("his", "her"):
        return f"{noun}'s{pronoun['rest']}"
    return f"{noun}{pronoun['rest']}"


def _noun(statement: str) -> str:
    if found := _SUBJECT.match(statement):
        return found["noun"]
    if found := _INTRODUCED.search(statement):
        is_spanish = re.search(r"\bten(?:go|emos)\b", statement, _I)
        return f"{'mi' if is_spanish else 'my'} {found['noun']}"
    return ""


_ASKED_PRONOUN = re.compile(r"\b(?:she|he|her|him|his|ella|[eé]l)\b", _I)
_ASKED_IT = re.compile(
    r"\b(?:it|that|this|they|lo|eso)\b|^¿?(?:y )?(?:cu[aá]l|cu[aá]nto|d[oó]nde) (?:es|era|est[aá])",
    _I,
)
_OWN_NOUN = re.compile(r"\b(?:my|our|mi|nuestr[oa]) [\w-]+", _I)


def with_antecedent(question: str, messages: Sequence[str]) -> str:
    """The question, with what its pronoun means: behind it stands the latest of the person's
    messages (for `it`), or the noun in it (for `she` and `he`)."""
    if not messages or features(question).beings:
        return question
    if _ASKED_IT.search(question) and not concepts_of(question) - general():
        return f"{question} {messages[-1]}"
    if not _ASKED_PRONOUN.search(question):
        return question
    noun = next(iter(_OWN_NOUN.findall(messages[-1])), "")
    return f"{question} {noun}" if noun else question
