"""Search filters: metadata conditions as row masks, validation of retrieval options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.store.schema import MAX_KEY_CHARS, fact_text
from spade_llm.search.terms import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.contract import RetrievalOptions, Scalar
    from spade_llm.rag.store.library_database import LibraryDatabase, SqlValue
    from spade_llm.search.passage_index import PassageIndex

    Mask = NDArray[np.bool_]
    Where = Mapping[str, Scalar]

MAX_CONDITIONS = 16
MAX_VALUE_CHARS = 1024

_DOCUMENT_CONDITIONS = {"source": "source = ?", "document": "uid = ?"}
_CHUNK_KEYS = ("heading", "page")
_METADATA_CONDITION = """
    id IN (SELECT document_id FROM document_facts WHERE key = ? AND value = ?)
"""
_SELECT_MATCHING = """
    SELECT id FROM documents WHERE namespace_id IN (SELECT value FROM json_each(?)) AND {conditions}
"""


class MetadataFilters:
    """Metadata conditions of retrievals, evaluated in the database."""

    def __init__(self, database: LibraryDatabase) -> None:
        self._database = database

    async def masks(
        self, where: Where, namespaces: Sequence[int], indexes: Sequence[PassageIndex]
    ) -> list[Mask] | None:
        """Compute the row mask of each index; None means that all rows are allowed."""
        if not where:
            return None
        documents = await self._documents(where, namespaces)
        return [_row_mask(index, where, documents) for index in indexes]

    async def _documents(self, where: Where, namespaces: Sequence[int]) -> NDArray[np.int64] | None:
        """Return the ids of the documents that match; None if no condition concerns documents."""
        wanted = {key: value for key, value in where.items() if key not in _CHUNK_KEYS}
        if not wanted:
            return None
        conditions = " AND ".join(
            _DOCUMENT_CONDITIONS.get(key, _METADATA_CONDITION) for key in wanted
        )
        values: list[SqlValue] = []
        for key, value in wanted.items():
            values += (value,) if key in _DOCUMENT_CONDITIONS else (key, fact_text(value))
        # Only constants go into the text of the statement; every value is bound.
        sql = _SELECT_MATCHING.format(conditions=conditions)
        rows = await self._database.read_often(sql, (list(namespaces), *values))
        return np.array([row[0] for row in rows], np.int64)


def check_where(where: Where) -> None:
    """Validate metadata conditions. Raises InvalidArguments."""
    if len(where) > MAX_CONDITIONS:
        raise InvalidArguments(f"where has more than {MAX_CONDITIONS} conditions")
    for key, value in where.items():
        if len(key) > MAX_KEY_CHARS or (isinstance(value, str) and len(value) > MAX_VALUE_CHARS):
            raise InvalidArguments(
                f"where: keys have up to {MAX_KEY_CHARS} characters, values {MAX_VALUE_CHARS}"
            )
        _check_value(key, value)


def _check_value(key: str, value: Scalar) -> None:
    if key == "page":
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
            raise InvalidArguments(f"where: page is {value!r}; it must be a number from 1")
    elif key in ("source", "document", "heading"):
        if not isinstance(value, str):
            raise InvalidArguments(f"where: {key} must be a string")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidArguments(f"where: {key!r} is {value}; it must be finite")
    # SQLite's integers have 64 bits; binding a larger one raises OverflowError.
    elif isinstance(value, int) and abs(value) >= 1 << 63:
        raise InvalidArguments(f"where: {key!r} exceeds 64 bits")


def _row_mask(index: PassageIndex, where: Where, documents: NDArray[np.int64] | None) -> Mask:
    # A copy, because the conditions below change it in place.
    mask = index.is_alive.rows.copy()
    if documents is not None:
        mask &= np.isin(index.document.rows, documents)
    if "heading" in where:
        mask &= index.heading.rows == content_hash(str(where["heading"]))
    if "page" in where:
        mask &= index.page.rows == where["page"]
    return mask


MAX_RETRIEVED_TOKENS = 1_000_000


def check_options(options: RetrievalOptions) -> None:
    """Validate retrieval options. Raises InvalidArguments."""
    if options.min_score is not None and not 0 <= options.min_score <= 1:
        raise InvalidArguments(f"min_score is {options.min_score}; it must be 0 to 1")
    if options.max_tokens is not None and not 1 <= options.max_tokens <= MAX_RETRIEVED_TOKENS:
        raise InvalidArguments(
            f"max_tokens is {options.max_tokens}; it must be 1 to {MAX_RETRIEVED_TOKENS}"
        )
    check_where(options.where)
