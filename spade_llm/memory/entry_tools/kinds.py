"""What a parameter may be: text, a UUID, a date, a number in a range … and nothing that is close.

`true` is no number and "5" is not 5; 5.0 is 5, since JSON knows no difference.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.parameters import Kind, object_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.entry_tools.parameters import Parameter

Choice = TypeVar("Choice", bound=StrEnum)

MAX_DEPTH = 32
"""Of metadata: objects and lists within each other."""
MAX_IDS = 1000
MAX_SHOWN = 64
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def whole(lowest: int, highest: int) -> Kind[int]:
    def read(name: str, value: object) -> int:
        number = _number(value)
        if number is None or number != math.floor(number) or not lowest <= number <= highest:
            limits = f"a whole number from {lowest} to {highest}"
            raise InvalidArguments(f"{name} must be {limits}, not {shown(value)}")
        return int(number)

    return Kind(schema={"type": "integer", "minimum": lowest, "maximum": highest}, read=read)


def number(lowest: float, highest: float) -> Kind[float]:
    def read(name: str, value: object) -> float:
        found = _number(value)
        if found is None or not lowest <= found <= highest:
            limits = f"a number from {lowest} to {highest}"
            raise InvalidArguments(f"{name} must be {limits}, not {shown(value)}")
        return float(found)

    return Kind(schema={"type": "number", "minimum": lowest, "maximum": highest}, read=read)


def choice(values: Sequence[Choice]) -> Kind[Choice]:
    names = [value.value for value in values]

    def read(name: str, value: object) -> Choice:
        for one in values:
            if value == one.value:
                return one
        raise InvalidArguments(f"{name} must be one of {', '.join(names)}, not {shown(value)}")

    return Kind(schema={"type": "string", "enum": names}, read=read)


def several(one: Kind[Choice]) -> Kind[tuple[Choice, ...]]:
    def read(name: str, value: object) -> tuple[Choice, ...]:
        return tuple(dict.fromkeys(one.read(name, item) for item in _list(name, value)))

    return Kind(schema={"type": "array", "items": dict(one.schema)}, read=read)


def items(parameters: Sequence[Parameter[object]], most: int) -> Kind[tuple[object, ...]]:
    """Each is read for itself: a wrong one does not make the others wrong."""

    def read(name: str, value: object) -> tuple[object, ...]:
        found = _list(name, value)
        if not 1 <= len(found) <= most:
            raise InvalidArguments(f"{name} must have 1 to {most} elements, not {len(found)}")
        return tuple(found)

    schema = {
        "type": "array",
        "items": object_schema(parameters),
        "minItems": 1,
        "maxItems": most,
    }
    return Kind(schema=schema, read=read)


def shown(value: object) -> str:
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


def _read_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArguments(f"{name} must be a string, not {shown(value)}")
    _check_unicode(name, value)
    return value


def _read_id(name: str, value: object) -> str:
    text = _read_text(name, value)
    if not _UUID.fullmatch(text):
        raise InvalidArguments(f"{name} must be a UUID, not {shown(text)}")
    return text.lower()


def _read_ids(name: str, value: object) -> tuple[str, ...]:
    """Each once."""
    ids = tuple(dict.fromkeys(_read_id(name, item) for item in _list(name, value)))
    if len(ids) > MAX_IDS:
        raise InvalidArguments(f"{name} must have at most {MAX_IDS} elements, not {len(ids)}")
    return ids


def _read_texts(name: str, value: object) -> tuple[str, ...]:
    found = _list(name, value)
    if wrong := [item for item in found if not isinstance(item, str)]:
        raise InvalidArguments(f"{name} must be a list of strings, not of {shown(wrong[0])}")
    return tuple(dict.fromkeys(_read_text(name, item) for item in found))


def _read_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidArguments(f"{name} must be true or false, not {shown(value)}")
    return value


def _read_object(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidArguments(f"{name} must be an object, not {shown(value)}")
    if _is_deeper(value, MAX_DEPTH):
        raise InvalidArguments(f"{name} must have at most {MAX_DEPTH} levels")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidArguments(f"{name} must hold JSON values, and numbers in range") from None
    _check_unicode(name, text)
    return value


def _read_date(name: str, value: object) -> datetime:
    """In UTC; without an offset it is UTC already."""
    text = _read_text(name, value)
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArguments(
            f"{name} must be a date in ISO 8601 form, as 2025-01-15T10:30:00Z, not {shown(text)}"
        ) from None


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"{name} must be valid Unicode text") from None


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _list(name: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InvalidArguments(f"{name} must be a list, not {shown(value)}")
    return value


def _is_deeper(value: object, levels: int) -> bool:
    layer = [value]
    for _ in range(levels + 1):
        layer = [inner for one in layer for inner in _inner(one)]
    return any(isinstance(one, Mapping | list | tuple) for one in layer)


def _inner(value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()


TEXT = Kind(schema={"type": "string"}, read=_read_text)
ID = Kind(schema={"type": "string"}, read=_read_id)
IDS = Kind(schema={"type": "array", "items": {"type": "string"}}, read=_read_ids)
TEXTS = Kind(schema={"type": "array", "items": {"type": "string"}}, read=_read_texts)
FLAG = Kind(schema={"type": "boolean"}, read=_read_flag)
OBJECT = Kind(schema={"type": "object"}, read=_read_object)
DATE = Kind(schema={"type": "string"}, read=_read_date)
FRACTION = number(0.0, 1.0)
