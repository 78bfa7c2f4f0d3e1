"""What the chunks of a document are found by, as bytes that are kept beside it. Knows no search.

Made once, when a document is stored: to make them again of the texts takes a hundred times as
long as to read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_llm.text import terms
from spade_llm.text.terms import ITEM, content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

VERSION = 100 + terms.VERSION
"""Another one means that they must be made anew."""
NO_PAGE = 0

CHUNK = np.dtype(
    [
        ("id", "<i8"),
        ("text", "<i8"),
        ("heading", "<i8"),
        ("position", "<i4"),
        ("page", "<i4"),
        ("items", "<i4"),
    ]
)
"""`text` and `heading` are hashes; `items`: so many of the terms' items are of this chunk."""


class Worded(Protocol):
    """A chunk or passage."""

    @property
    def text(self) -> str: ...
    @property
    def heading(self) -> str: ...
    @property
    def page(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRecord:
    """Of one document; `chunks` are rows of CHUNK."""

    chunks: bytes
    terms: bytes


def word_record(passages: Sequence[Worded], ids: Sequence[int] = ()) -> WordRecord:
    """Of all passages of a document, in order; without ids, they are given later."""
    encoded = [encode_terms(passage.text, passage.heading) for passage in passages]
    rows = np.zeros(len(passages), CHUNK)
    rows["id"] = ids or 0
    rows["text"] = [content_hash(passage.text) for passage in passages]
    rows["heading"] = [content_hash(passage.heading) for passage in passages]
    rows["position"] = np.arange(len(passages))
    rows["page"] = [passage.page or NO_PAGE for passage in passages]
    rows["items"] = [len(one) // ITEM.size for one in encoded]
    return WordRecord(chunks=rows.tobytes(), terms=b"".join(encoded))


def with_ids(record: WordRecord, ids: Sequence[int]) -> WordRecord:
    """The same passages under the ids that they were given since."""
    rows = chunk_rows([record]).copy()
    rows["id"] = ids
    return WordRecord(chunks=rows.tobytes(), terms=record.terms)


def chunk_rows(records: Sequence[WordRecord]) -> NDArray[np.void]:
    """Of all records, one behind the other."""
    return np.frombuffer(b"".join(record.chunks for record in records), CHUNK)
