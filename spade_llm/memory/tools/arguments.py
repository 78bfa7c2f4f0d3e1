"""Tool arguments: pydantic models, their JSON schema, and error messages for the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from spade_llm.core.errors import InvalidArguments

ArgumentsT = TypeVar("ArgumentsT", bound="ToolArguments")

MAX_DEPTH = 32
"""Maximum nesting depth of metadata."""
MAX_IDS = 1000
MAX_SHOWN = 64
"""Maximum length of a wrong value in an error text, in characters."""
MAX_UNKNOWN_NAMED = 5
"""Maximum number of unknown parameters that an error text names."""

_UUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_KEYWORDS = (
    *("type", "enum", "items", "properties", "required", "additionalProperties"),
    *("minItems", "maxItems", "minimum", "maximum", "default", "description"),
)
"""Keywords of a schema for a language model, in this order."""
_ERROR_TEXTS = {
    "string_type": "a string",
    "string_pattern_mismatch": "a UUID",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
}
"""Kinds of values, by the type of pydantic's error."""

Id = Annotated[str, StringConstraints(strict=True, pattern=_UUID, to_lower=True)]

Fraction = Annotated[StrictFloat, Field(ge=0.0, le=1.0)]


class ToolArguments(BaseModel):
    """Arguments of a tool; without fields, those of a tool that takes none."""

    # Most programs import the tools and offer none: schemas are built when one is asked for.
    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def read(cls, raw: object) -> Self:
        """Parse arguments that a language model sent.

        Raises:
            InvalidArguments: says which field is wrong, and how.
        """
        if not isinstance(raw, Mapping):
            raise InvalidArguments("the arguments must be a JSON object")
        if unknown := [name for name in raw if name not in cls.model_fields]:
            raise InvalidArguments(_unknown_arguments(unknown, list(cls.model_fields)))
        try:
            return cls.model_validate({k: v for k, v in raw.items() if v is not None})
        except ValidationError as error:
            raise InvalidArguments(cls._sentence(error.errors()[0])) from None

    @classmethod
    @cache
    def parameters(cls) -> dict[str, object]:
        """JSON schema without references and titles."""
        schema = cls.model_json_schema()
        return _plain_schema(schema, schema.get("$defs", {}))

    @classmethod
    def _sentence(cls, error: ErrorDetails) -> str:
        name, *inner = error["loc"]
        kind, value = error["type"], shorten_value(error["input"])
        schema: Any = cls.parameters()["properties"]
        schema = schema[name]
        match kind:
            case "missing":
                return f"{name} is required"
            case "string_unicode":
                return f"{name} must be valid Unicode text"
            case "value_error":
                return f"{name} {error['ctx']['error']}"
            case "string_type" if inner:
                return f"{name} must be a list of strings, not of {value}"
            case "enum" | "literal_error":
                names = schema.get("enum") or schema["items"]["enum"]
                wanted = f"one of {', '.join(names)}"
            case _ if schema["type"] in ("integer", "number"):
                number = "a whole number" if schema["type"] == "integer" else "a number"
                wanted = f"{number} from {schema['minimum']} to {schema['maximum']}"
            case _:
                wanted = _ERROR_TEXTS[kind]
        return f"{name} must be {wanted}, not {value}"


def narrow_arguments(
    model: type[ArgumentsT], field: str, kind: object, *, default: object = ...
) -> type[ArgumentsT]:
    """Model with another type for a field, such as fewer choices."""
    description = model.model_fields[field].description
    declared: Any = {field: (kind, Field(default=default, description=description))}
    return create_model(model.__name__, __base__=model, **declared)


def list_of(model: type[ToolArguments], most: int) -> object:
    """Type of a list whose items are parsed one by one: a wrong one leaves the others valid."""

    def check(items: list[Any]) -> list[Any]:
        if not 1 <= len(items) <= most:
            raise ValueError(f"must have 1 to {most} elements, not {len(items)}")
        return items

    schema = {"items": model.parameters(), "minItems": 1, "maxItems": most}
    return Annotated[list[Any], AfterValidator(check), WithJsonSchema({"type": "array", **schema})]


def shorten_value(value: object) -> str:
    """A wrong value, short enough for a sentence."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}…")
    if isinstance(value, int) and abs(value) > 10**18:
        return "so large a number"
    if isinstance(value, int | float):
        return str(value)
    return "an object" if isinstance(value, Mapping) else "a list"


def _check_unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return text


def _parse_date(value: object) -> datetime:
    """Parse a date; without an offset it is UTC."""
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "not a string")
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        form = "a date in ISO 8601 form, as 2025-01-15T10:30:00Z"
        raise ValueError(f"must be {form}, not {shorten_value(value)}") from None


def unique_values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _unknown_arguments(unknown: Sequence[object], known: Sequence[str]) -> str:
    names = ", ".join(repr(str(name)[:64]) for name in unknown[:MAX_UNKNOWN_NAMED])
    more = (
        f" and {len(unknown) - MAX_UNKNOWN_NAMED} more" if len(unknown) > MAX_UNKNOWN_NAMED else ""
    )
    there_are = f"there are: {', '.join(known)}" if known else "there are none"
    return f"unknown parameter{'s' if len(unknown) > 1 else ''} {names}{more}; {there_are}"


def _plain_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, object]:
    schema = {**definitions.get(schema.get("$ref", "").rpartition("/")[2], {}), **schema}
    if "anyOf" in schema:
        # Null counts as not given, and a language model need not know of it.
        schema = {**schema, **_plain_schema(schema["anyOf"][0], definitions)}
    if schema.get("default", ...) is None:
        del schema["default"]
    if "const" in schema:
        schema["enum"] = [schema["const"]]
    if schema["type"] == "object" and "properties" in schema:
        required = schema.get("required", [])
        names = sorted(schema["properties"], key=lambda name: name not in required)
        schema["properties"] = {
            name: _plain_schema(schema["properties"][name], definitions) for name in names
        }
        schema = {**schema, "required": required, "additionalProperties": False}
    elif "additionalProperties" in schema:
        del schema["additionalProperties"]
    if "items" in schema:
        schema["items"] = _plain_schema(schema["items"], definitions)
    return {name: schema[name] for name in _KEYWORDS if name in schema}


def _check_count(ids: tuple[str, ...]) -> tuple[str, ...]:
    if len(ids) > MAX_IDS:
        raise ValueError(f"must have at most {MAX_IDS} elements, not {len(ids)}")
    return ids


def _check_json_object(value: dict[str, Any]) -> dict[str, Any]:
    layer: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        lists = [one for one in layer if isinstance(one, list | tuple)]
        lists += [list(one.values()) for one in layer if isinstance(one, Mapping)]
        layer = [inner for one in lists for inner in one]
    if any(isinstance(one, Mapping | list | tuple) for one in layer):
        raise ValueError(f"must have at most {MAX_DEPTH} levels")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must hold JSON values, and numbers in range") from None
    _check_unicode(text)
    return value


Text = Annotated[StrictStr, AfterValidator(_check_unicode)]

Ids = Annotated[tuple[Id, ...], AfterValidator(unique_values), AfterValidator(_check_count)]
Texts = Annotated[tuple[Text, ...], AfterValidator(unique_values)]
Date = Annotated[datetime, BeforeValidator(_parse_date)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_check_json_object)]
FLOAT_AS_INT = BeforeValidator(
    # JSON does not tell 5.0 from 5.
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
Whole = Annotated[StrictInt, FLOAT_AS_INT]
