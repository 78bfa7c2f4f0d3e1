"""Commands that are chosen from a menu and filled in as forms (XEP-0050, XEP-0004): records, and no
XML. What a command does is its `begin`, and the `then` of each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

Filled = Mapping[str, tuple[str, ...]]
"""What was filled in, by the fields' names; checked against the form that was shown."""


class FieldKind(StrEnum):
    TEXT = "text-single"
    LINES = "text-multi"
    ONE = "list-single"
    """One of the options."""
    SEVERAL = "list-multi"
    YES_NO = "boolean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    label: str
    kind: FieldKind = FieldKind.TEXT
    options: tuple[Option, ...] = ()
    value: str = ""
    """What stands there before."""
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    title: str
    instructions: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A command is over, with what is to be said of it."""

    text: str
    is_failure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command goes on once this is filled in."""

    form: Form
    then: Callable[[Filled], Awaitable[Step]]


Step = Done | Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Whoever uses a menu."""

    jid: str
    """Full, as the server stamps it."""
    language: str = "en"
    """`en` or `es`, as their client says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a menu."""

    node: str
    labels: Mapping[str, str]
    """By language."""
    begin: Callable[[Visit], Awaitable[Step]]
    """Raises RequestError, ServiceError: it cannot be done now."""
