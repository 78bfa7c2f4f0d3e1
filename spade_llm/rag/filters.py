"""Which chunks a question may find: conditions on documents and chunks, as masks of rows.

Applied before anything is cut, so that one match in a thousand is found too. Knows no ranking.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.errors import InvalidArguments
from spade_llm.text.terms import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.database import Database, SqlValue
    from spade_llm.rag.retriever import Scalar
    from spade_llm.rag.word_index import WordIndex

    Mask = NDArray[np.bool_]
    Where = Mapping[str, Scalar]

MAX_CONDITIONS = 16
MAX_KEY_CHARS, MAX_VALUE_CHARS = 256, 1024

_OF_DOCUMENTS = {"source": "source = ?", "document": "uid = ?"}
_OF_CHUNKS = ("heading", "page")
_FACT = """
    id IN (SELECT document_id FROM document_facts WHERE key = ? AND value = ? AND is_bool = ?)
"""
_MATCHING = """
    SELECT id FROM documents WHERE namespace_id IN (SELECT value FROM json_each(?)) AND {conditions}
"""


class Filters:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def masks(
        self, where: Where, namespaces: Sequence[int], indexes: Sequence[WordIndex]
    ) -> list[Mask] | None:
        """One for each index; None: everything may be found."""
        if not where:
            return None
        documents = await self._documents(where, namespaces)
        return [_mask(index, where, documents) for index in indexes]

    async def _documents(self, where: Where, namespaces: Sequence[int]) -> NDArray[np.int64] | None:
        """None: nothing is asked of them."""
        wanted = {key: value for key, value in where.items() if key not in _OF_CHUNKS}
        if not wanted:
            return None
        conditions = " AND ".join(_OF_DOCUMENTS.get(key, _FACT) for key in wanted)
        values = [value for pair in wanted.items() for value in _values(*pair)]
        sql = _MATCHING.format(conditions=conditions)
        rows = await self._database.read_often(sql, (json.dumps(list(namespaces)), *values))
        return np.array([row[0] for row in rows], np.int64)


def check_where(where: Where) -> None:
    """Raises InvalidArguments."""
    if len(where) > MAX_CONDITIONS:
        raise InvalidArguments(f"where has more than {MAX_CONDITIONS} conditions")
    for key, value in where.items():
        if len(key) > MAX_KEY_CHARS or (isinstance(value, str) and len(value) > MAX_VALUE_CHARS):
            raise InvalidArguments(
                f"where: a key has {MAX_KEY_CHARS} characters at most, a value {MAX_VALUE_CHARS}"
            )
        _check_value(key, value)


def _check_value(key: str, value: Scalar) -> None:
    if key == "page":
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
            raise InvalidArguments(f"where: page is {value!r}; it must be a number from 1")
    elif key in ("source", "document", "heading"):
        if not isinstance(value, str):
            raise InvalidArguments(f"where: {key} must be a text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidArguments(f"where: {key!r} is {value}; nothing has this value")
    elif isinstance(value, int) and abs(value) >= 1 << 63:
        raise InvalidArguments(f"where: {key!r} is a larger number than can be kept")


def _values(key: str, value: Scalar) -> tuple[SqlValue, ...]:
    return (value,) if key in _OF_DOCUMENTS else (key, value, isinstance(value, bool))


def _mask(index: WordIndex, where: Where, documents: NDArray[np.int64] | None) -> Mask:
    mask = index.is_alive.copy()
    if documents is not None:
        mask &= np.isin(index.documents, documents)
    if "heading" in where:
        mask &= index.headings == content_hash(str(where["heading"]))
    if "page" in where:
        mask &= index.pages == where["page"]
    return mask
