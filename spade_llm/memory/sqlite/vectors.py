"""The vectors in the file: which are wanted, and keeping them. Knows no embedder.

A trigger keeps `vector_wanted`, so that what is wanted survives a crash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Transaction, Value

FRESH = """
    SELECT row FROM vector_wanted WHERE row IN (SELECT value FROM json_each(:keys)) LIMIT :limit
"""
OLDEST = "SELECT row FROM vector_wanted ORDER BY row LIMIT :limit"

ENTRY = """
    SELECT jid, content, content_hash, subject, sources, surprise
    FROM entry JOIN owner ON owner.number = entry.owner WHERE seq = :seq
"""
MESSAGE = """
    SELECT jid, content, content_hash, subject, NULL, 0
    FROM message JOIN owner ON owner.number = message.owner WHERE seq = :seq
"""
SEQ_OF_ID = """
    SELECT seq FROM entry WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND id = :id
"""

ADD_MODEL = "INSERT INTO model (name, dimension) VALUES (:model, :dimension) ON CONFLICT DO NOTHING"
MODEL = "SELECT number, dimension FROM model WHERE name = :model"
COUNT_WANTED = "SELECT count(*) FROM vector_wanted"
OTHER_MODELS = "SELECT name FROM model WHERE name <> :model"

# Not of a text that has changed since it was read: that one is wanted anew.
ADD_VECTOR = """
    INSERT OR REPLACE INTO vector (row, model, data) SELECT :key, :number, :data
    FROM {table} WHERE seq = :seq AND content_hash = :content_hash
"""
ADD_ENTRY_VECTOR = ADD_VECTOR.format(table="entry")
ADD_MESSAGE_VECTOR = ADD_VECTOR.format(table="message")


SET_SURPRISE = """
    UPDATE entry SET surprise = :surprise
    WHERE seq = :seq AND content_hash = :content_hash AND surprise IS NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A row without a vector."""

    key: int
    owner: str
    content: str
    content_hash: int
    subject: str | None
    sources: tuple[int, ...]
    """Keys of the entries that it was made from."""
    has_surprise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vector of a row, packed, and how surprising it is (None: it is said already)."""

    wanted: Wanted
    data: bytes
    surprise: float | None


def wanted(transaction: Transaction, fresh: Sequence[int], *, limit: int) -> list[Wanted]:
    """Those among the fresh ones first, then the oldest."""
    keys = _keys(transaction, FRESH, {"keys": json.dumps(fresh), "limit": limit})
    if len(keys) < limit:
        keys |= _keys(transaction, OLDEST, {"limit": limit})
    found = (_wanted(transaction, key) for key in list(keys)[:limit])
    return [one for one in found if one is not None]


def count_wanted(transaction: Transaction) -> int:
    return int(transaction.all(COUNT_WANTED)[0][0])


def keep_vectors(
    transaction: Transaction, embedded: Iterable[Embedded], *, model: str, dimension: int
) -> None:
    """Raises StorageFailed if the model made vectors of another length before."""
    number = _model_number(transaction, model, dimension)
    for one in embedded:
        _keep(transaction, one, number)
        transaction.touch(one.wanted.owner, [one.wanted.key])


def other_models(transaction: Transaction, model: str) -> list[str]:
    """Models whose vectors are in the file."""
    return [name for (name,) in transaction.all(OTHER_MODELS, {"model": model})]


def _keys(transaction: Transaction, sql: str, which: Mapping[str, Value]) -> dict[int, None]:
    return {row: None for (row,) in transaction.all(sql, which)}


def _wanted(transaction: Transaction, key: int) -> Wanted | None:
    row = transaction.first(MESSAGE if key & 1 else ENTRY, {"seq": key >> 1})
    if row is None:
        return None
    owner, content, content_hash, subject, sources, surprise = row
    return Wanted(
        key=key,
        owner=owner,
        content=content,
        content_hash=content_hash,
        subject=subject,
        sources=tuple(_source_keys(transaction, owner, sources)),
        has_surprise=surprise is not None,
    )


def _source_keys(transaction: Transaction, owner: str, packed: bytes | None) -> Iterator[int]:
    for at in range(0, len(packed or b""), 16):
        id = (packed or b"")[at : at + 16]
        for (seq,) in transaction.all(SEQ_OF_ID, {"owner": owner, "id": id}):
            yield seq * 2


def _model_number(transaction: Transaction, model: str, dimension: int) -> int:
    transaction.count(ADD_MODEL, {"model": model, "dimension": dimension})
    ((number, known),) = transaction.all(MODEL, {"model": model})
    if known != dimension:
        raise StorageFailed(
            f"vectors of {model!r} had {known} numbers, and now have {dimension}: reindex"
        )
    return int(number)


def _keep(transaction: Transaction, one: Embedded, number: int) -> None:
    which: Mapping[str, Value] = {
        "key": one.wanted.key,
        "seq": one.wanted.key >> 1,
        "content_hash": one.wanted.content_hash,
        "number": number,
        "data": one.data,
        "surprise": one.surprise,
    }
    transaction.count(ADD_MESSAGE_VECTOR if one.wanted.key & 1 else ADD_ENTRY_VECTOR, which)
    if one.surprise is not None:
        transaction.count(SET_SURPRISE, which)
