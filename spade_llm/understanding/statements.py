"""Statements of a message, resolved against earlier ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.understanding.clauses import TAKEN_BACK, ClauseKind, split_clauses
from spade_llm.understanding.corrections import resolve_correction, with_subject
from spade_llm.understanding.features import features, is_changed, is_denial
from spade_llm.understanding.replacement import Statement, replaces
from spade_llm.understanding.vocabulary import has_count, is_concept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.understanding.clauses import Clause

_I = re.IGNORECASE

MAX_STATEMENTS = 5
"""Maximum number of statements from one message."""
MAX_EARLIER = 12
"""Number of earlier statements that a correction may refer to."""
MAX_ANTECEDENT_CHARS = 150
"""Maximum length in characters of a statement that is repeated before what refers to it."""
_PRONOUN = re.compile(r"^(?:he|she|they|his|her|their|él|ell[ao]s?|sus?)(?:\s|['’])", _I)
MAX_BARE_WORDS = 5
_NO_LONGER_BUT_NOW = re.compile(
    r"^(?P<ended>(?:i (?:no longer|don['’]?t) (?P<en>\w+)|(?:yo )?ya no (?P<es>\w+)) .+?)"
    r"(?: any ?more)?[,;]? (?:(?:and|but|y|sino|pero) )?(?:now|ahora),? (?:(?:it['’]?s|i"
    r"|es) )?(?P<rest>.+)$",
    _I,
)
"""Two statements in one: `I no longer live in Rome, now in Oslo`."""
_PREPOSITIONS = frozenset({"in", "at", "for", "as", "on", "to", "en", "de", "para", "como", "con"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a message says and asks."""

    statements: tuple[Statement, ...]
    questions: tuple[str, ...]
    clauses: tuple[Clause, ...]
    takes_back: str = ""
    """Earlier statement that the message takes back as a joke or as untrue."""

    @property
    def may_change(self) -> bool:
        """True if the message may end the validity of something that was said before it."""
        return bool(self.statements) or any(
            one.is_change or one.kind is ClauseKind.UNREAL or is_denial(one.text)
            for one in self.clauses
            if one.kind is not ClauseKind.QUESTION
        )

    def has(self, kind: ClauseKind) -> bool:
        """Check whether one of the clauses is of this kind."""
        return any(clause.kind is kind for clause in self.clauses)


def read_message(text: str, earlier: Sequence[str] = (), remembered: Sequence[str] = ()) -> Reading:
    """Read a message: what it states, what it asks, and what it takes back. Of a long message the
    first clauses.MAX_CHARS are read, and at most MAX_STATEMENTS statements are returned.

    `earlier`: the person's statements before it in this conversation, oldest first; elliptic
    corrections (`no, green`) and pronouns are resolved with them. `remembered`: statements of other
    conversations; only corrections that name the old value refer to them.
    """
    clauses = split_clauses(text)
    known = list(earlier[-MAX_EARLIER:])
    statements: list[Statement] = []
    takes_back = ""
    for clause in clauses:
        if clause.kind is ClauseKind.UNREAL and known and TAKEN_BACK.match(clause.text):
            takes_back = known[-1]
        if clause.kind not in (ClauseKind.STATEMENT, ClauseKind.OTHER):
            continue
        for found in _statements_of_clause(clause, known, remembered):
            statements.append(found)
            known = [one for one in known if one != found.replaced] + [found.text]
    return Reading(
        statements=tuple(statements[:MAX_STATEMENTS]),
        questions=tuple(one.text for one in clauses if one.kind is ClauseKind.QUESTION),
        clauses=tuple(clauses),
        takes_back=takes_back,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementHistory:
    """Statements of several messages of one person, oldest first."""

    current: list[str]
    """Those that hold at the end."""
    former: list[str]
    """Those that a later one replaced; not what was taken back, which never held."""


def read_history(messages: Sequence[str]) -> StatementHistory:
    """Read the messages of one person. Each new statement is compared with all before it: the time
    grows with the square of the number of messages, which callers bound."""
    current: list[str] = []
    former: list[str] = []
    for message in messages:
        reading = read_message(message, current)
        current = [one for one in current if one != reading.takes_back]
        for statement in reading.statements:
            ended = [one for one in current if replaces(statement, one)]
            former += ended
            current = [one for one in current if one not in ended]
            current.append(statement.text)
    return StatementHistory(current=current, former=former)


def statements_of(messages: Sequence[str]) -> list[str]:
    """Statements of several messages of one person that hold at the end, oldest first."""
    return read_history(messages).current


def _statements_of_clause(
    clause: Clause, known: Sequence[str], remembered: Sequence[str]
) -> list[Statement]:
    text = clause.text
    if clause.kind is ClauseKind.STATEMENT and len(text.split()) < 2:
        return []
    if found := _NO_LONGER_BUT_NOW.match(text):
        rest = str(found["rest"])
        if rest.split()[0].lower() in _PREPOSITIONS:
            rest = f"I now {found['en']} {rest}" if found["en"] else f"Ahora {found['es']} {rest}"
        return [_plain_statement(found["ended"]), _plain_statement(rest, is_change=True)]
    if corrected := resolve_correction(clause, known, remembered):
        return [corrected]
    if clause.kind is not ClauseKind.STATEMENT:
        return []
    return [_plain_statement(_with_antecedent(text, known), clause.is_change)]


def _with_antecedent(text: str, known: Sequence[str]) -> str:
    """The statement with what its pronoun means; behind the statement before it, if that does not
    name it in words that can be put in the pronoun's place."""
    if not known:
        return text
    resolved = with_subject(text, known)
    is_open = resolved == text and not is_changed(text) and (_PRONOUN.match(text) or _is_bare(text))
    if is_open and ";" not in known[-1] and len(known[-1]) <= MAX_ANTECEDENT_CHARS:
        return f"{known[-1]}; {text}"
    return resolved


def _is_bare(text: str) -> bool:
    """Check whether a short statement has a number but no known topic: `I've got nine hundred`."""
    concepts = features(text).concepts
    is_short = len(text.split()) <= MAX_BARE_WORDS
    return is_short and has_count(text) and not any(map(is_concept, concepts))


def _plain_statement(text: str, is_change: bool = False) -> Statement:
    text = text.strip(" ,;")
    return Statement(
        text=text[:1].upper() + text[1:],
        is_change=is_change or is_changed(text),
        is_correction=is_change,
    )
