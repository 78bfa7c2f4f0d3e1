"""The texts in a JSON object, and the object with other texts in their places. Pure.

Escapes hide words (`\\u0068ack`, a line end in a phrase), so texts are judged as they are read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Scalar = str | int | float


def texts_of(answer: str) -> list[str]:
    """Keys and values, each as text, in order. `answer`: valid JSON."""
    return [str(one) for one in _scalars(json.loads(answer))]


def with_texts(answer: str, texts: Mapping[str, str]) -> str:
    """JSON with each text that is named replaced, numbers by text if need be. Keys that become
    equal are one."""
    return json.dumps(_replaced(json.loads(answer), texts), ensure_ascii=False)


def _scalars(value: object) -> Iterator[Scalar]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from (key, *_scalars(inner))
        case list():
            for inner in value:
                yield from _scalars(inner)
        case bool() | None:
            return
        case str() | int() | float():
            yield value


def _replaced(value: object, texts: Mapping[str, str]) -> object:
    match value:
        case dict():
            return {texts.get(key, key): _replaced(one, texts) for key, one in value.items()}
        case list():
            return [_replaced(one, texts) for one in value]
        case bool() | None:
            return value
        case _:
            return texts.get(str(value), value)
