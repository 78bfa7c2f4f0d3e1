"""A tool's parameters, declared once: the schema that the model sees, and the check of its call.

Knows no tool. A parameter that is null counts as not given; one that nobody declared is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NAMED = 5
"""How many unknown parameters a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T_co]):
    """What a value may be."""

    schema: Mapping[str, object]
    read: Callable[[str, object], T_co]
    """Of a field's name and its value. Raises InvalidArguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Generic[T_co]):
    name: str
    kind: Kind[T_co]
    schema: Mapping[str, object]
    is_required: bool
    missing: Callable[[], T_co]
    """What it is if it is not given. Raises InvalidArguments if it must be."""

    def read(self, arguments: Mapping[str, object]) -> T_co:
        value = arguments.get(self.name)
        return self.missing() if value is None else self.kind.read(self.name, value)


def required(name: str, kind: Kind[T], description: str) -> Parameter[T]:
    def refuse() -> NoReturn:
        raise InvalidArguments(f"{name} is required")

    schema = {**kind.schema, "description": description}
    return Parameter(name=name, kind=kind, schema=schema, is_required=True, missing=refuse)


def optional(name: str, kind: Kind[T], description: str) -> Parameter[T | None]:
    schema = {**kind.schema, "description": description}
    return Parameter(name=name, kind=kind, schema=schema, is_required=False, missing=lambda: None)


def defaulted(
    name: str, kind: Kind[T], description: str, default: T, *, shown: object = None
) -> Parameter[T]:
    """`shown` is the default as JSON, where that is another value."""
    in_json = default if shown is None else shown
    schema = {**kind.schema, "default": in_json, "description": description}
    return Parameter(
        name=name, kind=kind, schema=schema, is_required=False, missing=lambda: default
    )


def object_schema(parameters: Sequence[Parameter[object]]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {one.name: dict(one.schema) for one in parameters},
        "required": [one.name for one in parameters if one.is_required],
        "additionalProperties": False,
    }


class Arguments:
    """What a model sent, to be read by parameter.

    Raises:
        InvalidArguments: it is no object, or has fields that are no parameters.
    """

    def __init__(self, raw: object, parameters: Sequence[Parameter[object]]) -> None:
        if not isinstance(raw, Mapping):
            raise InvalidArguments("the arguments must be a JSON object")
        known = [one.name for one in parameters]
        if unknown := [name for name in raw if name not in known]:
            raise InvalidArguments(_unknown(unknown, known))
        self._raw = raw

    def __getitem__(self, parameter: Parameter[T]) -> T:
        """Raises InvalidArguments, naming the field."""
        return parameter.read(self._raw)

    def has(self, parameter: Parameter[object]) -> bool:
        """Whether it was given, and is not null."""
        return self._raw.get(parameter.name) is not None


def _unknown(unknown: Sequence[object], known: Iterable[str]) -> str:
    names = ", ".join(repr(str(name)[:64]) for name in unknown[:NAMED])
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    there_are = f"there are: {', '.join(known)}" if known else "there are none"
    return f"unknown parameter{'s' if len(unknown) > 1 else ''} {names}{more}; {there_are}"
