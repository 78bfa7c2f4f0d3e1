"""Faults of a settings file, one line each: the key, what is wrong, and the nearest known word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from spade_llm.core.text import suggestion

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_PLAIN = {
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false, without quotes",
    "list_type": 'must be a list, for instance ["one"]',
    "tuple_type": 'must be a list, for instance ["one"]',
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "missing": "missing: add it",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
"""Plain words for pydantic's types of errors, with the values of its context."""


def fault_lines(error: ValidationError, schema: type[BaseModel]) -> list[str]:
    """A line for each fault; no value of a field is in it, except a misspelt choice."""
    return [
        f"{'.'.join(map(str, one['loc']))}: {_reason(one, schema)}".removeprefix(": ")
        for one in error.errors(include_url=False)
    ]


def _reason(fault: ErrorDetails, schema: type[BaseModel]) -> str:
    kind, context = fault["type"], _plain_numbers(fault.get("ctx", {}))
    if kind in _PLAIN:
        return _PLAIN[kind].format_map(context)
    if kind == "extra_forbidden":
        near = suggestion(str(fault["loc"][-1]), _known_keys(schema, fault["loc"][:-1]))
        return f"unknown key{near or ': remove it, or check its spelling'}"
    if kind == "literal_error" and isinstance(fault["input"], str):
        words = str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
        near = suggestion(fault["input"], words)
        return f"must be one of {', '.join(words)}{near}"
    return fault["msg"].removeprefix("Value error, ")


def _plain_numbers(context: Mapping[str, Any]) -> dict[str, Any]:  # pydantic's own type
    """Context with 0 instead of 0.0."""
    whole = {key: isinstance(one, float) and one.is_integer() for key, one in context.items()}
    return {key: int(one) if whole[key] else one for key, one in context.items()}


def _known_keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at this location; indices of lists and names of unions have no fields."""
    tables = [schema]
    for part in location:
        fields = [one.model_fields[str(part)] for one in tables if str(part) in one.model_fields]
        if fields:
            tables = [table for field in fields for table in _tables(field.annotation)]
    return [key for table in tables for key in table.model_fields]


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:  # any type expression
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _tables(inner)
