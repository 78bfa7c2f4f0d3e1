"""Pronouns: clauses and questions that name their subject in an earlier message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.features import features, is_changed
from spade_llm.understanding.vocabulary import concepts_of, general, has_count, is_concept, kin

if TYPE_CHECKING:
    from collections.abc import Sequence

_I = re.IGNORECASE

MAX_BACK = 4
"""Number of earlier statements in which the noun for a pronoun is looked for."""
MAX_ANTECEDENT_CHARS = 150
"""Maximum length in characters of a statement that is repeated before what refers to it."""
MAX_BARE_WORDS = 5
"""Maximum length in words of a statement that has a number, but no topic of its own."""
_PERSON_PRONOUN = LazyPattern(
    r"^(?P<pronoun>she|he(?! \w+(?:ado|ido|echo|uesto|isto|ito)\b)|his|her|[eé]l(?= (?:es|vive"
    r"|tiene|trabaja|se)\b)|ella)(?P<rest>['’]s\b.*| .*)$",
    _I,
)
_ABOUT_IT = LazyPattern(r"^(?:its|it['’]s|it is)\b(?!.*\b(?:i|my|we|our)\b)", _I)
_THIRD_VERB = LazyPattern(
    r"^(?:no |tambi[eé]n |ahora )?(?:es|est[aá]|tiene|vive|trabaja|se llama|ha|se ha|estudia"
    r"|juega|habla|cumple|naci[oó]|le gustan?|le encantan?|prefiere|odia|come|mide|pesa)\b",
    _I,
)
_IMPERSONAL = LazyPattern(
    r"^(?:no |tambi[eé]n |ahora )?(?:ha|est[aá]|es) (?:muy |ya |todo )*(?:llov|nev|granizad|tronad"
    r"|hech|habid|sid|nublad|oscur|tarde|temprano|pronto|hora|verdad|cierto|igual|mejor|que|lunes"
    r"|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)",
    _I,
)
"""`Ha llovido`: a verb without a subject, which is not said of what was spoken of before."""
_UNRESOLVED = LazyPattern(r"^(?:he|she|they|his|her|their|él|ell[ao]s?|sus?)(?:\s|['’])", _I)
_SUBJECT = LazyPattern(
    r"^(?P<noun>(?:my|our|mi|nuestr[oa]) (?:[\w-]+ ){0,2}?[\w-]+?)(?:['’]s\b(?! (?:name"
    r"|birthday))| (?:is|was|has|lives|works|are|se llama|es|vive|tiene|trabaja|est[aá])\b"
    r"|['’]s (?:name|birthday))"
    r"|^(?P<name>(?-i:[A-ZÁÉÍÓÚÑ])[\w-]+)(?:['’]s\b| (?:had|has|is|was|lives|works|turned|moved"
    r"|ha|es"
    r"|vive|tiene|cumpl\w+|se)\b)",
    _I,
)
_INTRODUCED = LazyPattern(
    r"\b(?:i have|i['’]ve got|we have|we['’]ve got|tengo|tenemos) (?:an?|un"
    r"|una) (?:[\w-]+ )??(?P<noun>[\w-]+)(?:,| (?:called|named|who|que|llamad[oa])|$)",
    _I,
)


def with_person(text: str, known: Sequence[str]) -> str:
    """The statement with a noun in the place of a personal pronoun, if one of the latest of `known`
    names it."""
    pronoun = _PERSON_PRONOUN.match(text)
    has_subject_before = _THIRD_VERB.match(text) and not _IMPERSONAL.match(text)
    if not pronoun and not has_subject_before:
        return text
    noun = next(filter(None, map(_noun, reversed(known[-MAX_BACK:]))), "")
    if not noun:
        return text
    if not pronoun:
        return f"{noun} {text[0].lower()}{text[1:]}"
    if pronoun["pronoun"].lower() in ("his", "her"):
        return f"{noun}'s{pronoun['rest']}"
    return f"{noun}{pronoun['rest']}"


def with_role(text: str, earlier: Sequence[str]) -> str:
    """The statement with what a named being is to the speaker before its name, if one of the
    earlier statements tells: `Rex is ill` → `my dog Rex is ill`."""
    # "My boss Anna" is another Anna than "my sister Anna".
    names = [found[0] for found in _NAME.finditer(text) if not _OWN_NOUN.search(text)]
    for name in dict.fromkeys(names):
        for one in reversed(earlier):
            noun = _role_of(name, one)
            if noun and not concepts_of(noun) <= features(text).concepts:
                return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f"{noun} {name}", text, count=1)
    return text


def _role_of(name: str, statement: str) -> str:
    """The noun of a being with its owner: `my dog`; empty if the statement does not name it."""
    if name not in statement:
        return ""
    for pattern in _ROLES:
        if (found := pattern.search(statement.replace(name, "NAME", 1))) and concepts_of(
            found["noun"]
        ) & kin():
            owner = "mi" if _SPANISH_OWNER.search(statement) else "my"
            return f"{owner} {found['noun']}"
    return ""


def with_thing(text: str, known: Sequence[str]) -> str:
    """A statement about a thing (`it's red`), behind the latest of `known`, so that it can be
    understood by itself; another pronoun for a thing (`I drink it black`) is replaced by its noun.
    """
    if not known:
        return text
    is_open = not is_changed(text) and (_UNRESOLVED.match(text) or _is_bare(text))
    is_short = ";" not in known[-1] and len(known[-1]) <= MAX_ANTECEDENT_CHARS
    if _ABOUT_IT.match(text) or (is_open and is_short):
        return f"{known[-1]}; {text}"
    if _THERE.search(text) and (place := _PLACE_NAME.search(known[-1])):
        return _THERE.sub(place[0], text, count=1)
    noun = _own_noun(known[-1]) if _OBJECT_IT.search(text) else ""
    return _OBJECT_IT.sub(noun, text, count=1) if noun else text


def _is_bare(text: str) -> bool:
    """Check whether a short statement has a number but no known topic: `I've got nine hundred`."""
    is_short = len(text.split()) <= MAX_BARE_WORDS
    return is_short and has_count(text) and not any(map(is_concept, features(text).concepts))


def _noun(statement: str) -> str:
    if found := _SUBJECT.match(statement):
        return str(found["noun"] or found["name"])
    if found := _INTRODUCED.search(statement):
        is_spanish = re.search(r"\bten(?:go|emos)\b", statement, _I)
        return f"{'mi' if is_spanish else 'my'} {found['noun']}"
    return ""


_NAME = LazyPattern(r"(?<![\w'’])(?!I\b|I['’])[A-ZÁÉÍÓÚÑ][a-záéíóúñ]{2,}")
_ROLES = tuple(
    LazyPattern(pattern, _I)
    for pattern in (
        r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>[\w-]+),? NAME\b",
        r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>[\w-]+)(?:['’]s(?: called| named)?"
        r"| (?:is|es)(?: called| named)?| se llama) NAME\b",
        r"\b(?:an?|una?|one) (?P<noun>[\w-]+),?(?: called| named| llamad[oa]"
        r"| que se llama)? NAME\b",
    )
)
"""Nouns of a named being: `my dog NAME`, `my dog is called NAME`, `a dog, NAME`."""
_SPANISH_OWNER = LazyPattern(r"\b(?:mi|nuestr[oa]|una?|llama|tengo|tenemos)\b", _I)
_OBJECT_IT = LazyPattern(r"(?<=\w )it\b(?!['’]| (?:is|was|has|turns|looks|seems|takes))", _I)
_THERE = LazyPattern(r"(?<=[a-záéíóúñ] )(?:there|all[ií]|ah[ií])\b(?! (?:is|are|was))", _I)
_PLACE_NAME = LazyPattern(
    r"\b(?:in|at|en) (?-i:[A-ZÁÉÍÓÚÑ])[\w'’-]+(?: (?-i:[A-ZÁÉÍÓÚÑ])[\w'’-]+)*", _I
)
_ASKED_PRONOUN = LazyPattern(r"\b(?:she|he|her|him|his|ella|él)\b", _I)
_ASKED_IT = LazyPattern(
    r"\b(?:it|that|this|they|lo|eso)\b|^¿?(?:y )?(?:cu[aá]l|cu[aá]nto|d[oó]nde) (?:es|era|est[aá])",
    _I,
)
_OWN_NOUN = LazyPattern(r"\b(?:my|our|mi|nuestr[oa]) [\w-]+", _I)


def with_antecedent(question: str, messages: Sequence[str]) -> str:
    """The question, with what its pronoun means: behind it stands the latest of the person's
    messages (for `it`), or the noun in it (for `she` and `he`)."""
    if not messages or features(question).beings:
        return question
    if _ASKED_IT.search(question) and not concepts_of(question) - general():
        return f"{question} {messages[-1]}"
    if not _ASKED_PRONOUN.search(question):
        return question
    noun = _own_noun(messages[-1])
    return f"{question} {noun}" if noun else question


def _own_noun(text: str) -> str:
    """The first thing of the speaker that a text names, with its possessive; empty if none."""
    found = _OWN_NOUN.search(text)
    return found[0] if found else ""
