"""Reads the words of documents from the library's file; makes those that are not there. Knows no
index.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from spade_llm.rag.word_records import VERSION, WordRecord, word_record
from spade_llm.rag.word_tables import CHANGES, DOCUMENTS, KEEP_WORDS, LAST_CHANGE, TEXTS, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Row

    from spade_llm.rag.database import Database

PAGE_CHUNKS = 16_384
"""Read together, so that not all of a large namespace is in RAM twice."""
GLANCED_DOCUMENTS = 4
"""So many changed ones are read in the loop's own thread, so that nothing comes in between."""
MADE_DOCUMENTS = 256
"""Texts of so many documents are read together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    number: int
    document: int
    namespace: int
    is_gone: bool
    """The whole namespace is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    text: str
    heading: str
    page: int | None


class WordStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def last_change(self) -> int:
        ((number,),) = await self._database.read(LAST_CHANGE)
        return int(number)

    async def changes(self, after: int) -> Sequence[Change]:
        """In order. If the first is not the next one, some have been forgotten. Read each time:
        what this process remembers is behind the file for a moment after a commit."""
        return [
            Change(number=number, document=document, namespace=namespace, is_gone=not is_there)
            for number, document, namespace, is_there in await self._database.glance(
                CHANGES, (after,)
            )
        ]

    async def pages(self, namespace: int) -> Sequence[Sequence[int]]:
        """All documents of a namespace, in parts that may be read at once."""
        rows = await self._database.read(DOCUMENTS, (namespace,))
        return list(pages_of([(row[0], row[1]) for row in rows]))

    async def records(self, documents: Sequence[int]) -> Mapping[int, WordRecord]:
        """Of those that are there and have chunks."""
        is_few = len(documents) <= GLANCED_DOCUMENTS
        read = self._database.glance if is_few else self._database.read
        rows = await read(WORDS, (VERSION, json.dumps(documents)))
        found = {row[0]: WordRecord(chunks=row[1], terms=row[2]) for row in rows if row[1]}
        missing = [row[0] for row in rows if not row[1]]
        for start in range(0, len(missing), MADE_DOCUMENTS):
            found |= await self._made(missing[start : start + MADE_DOCUMENTS])
        return found

    async def _made(self, documents: Sequence[int]) -> Mapping[int, WordRecord]:
        """Stored by an older version, or by one that had other rules for words."""
        rows = await self._database.read(TEXTS, (json.dumps(documents),))
        made = await asyncio.to_thread(_records_of, rows)
        first_ids = {document: next(its)[1] for document, its in groupby(rows, _document)}
        async with self._database.transaction() as writer:
            for document, record in made.items():
                kept = (document, VERSION, record.chunks, record.terms, first_ids[document])
                await writer.execute(KEEP_WORDS, kept)
        return made


def pages_of(documents: Sequence[tuple[int, int]]) -> Iterator[Sequence[int]]:
    """In parts of about PAGE_CHUNKS; each document with how many it has."""
    page: list[int] = []
    chunks = 0
    for document, count in documents:
        page.append(document)
        chunks += count
        if chunks >= PAGE_CHUNKS:
            yield page
            page, chunks = [], 0
    if page:
        yield page


def _records_of(rows: Sequence[Row]) -> Mapping[int, WordRecord]:
    made: dict[int, WordRecord] = {}
    for document, its in groupby(rows, _document):
        chunks = list(its)
        texts = [_Text(heading=row[2], page=row[3], text=row[4]) for row in chunks]
        made[document] = word_record(texts, [row[1] for row in chunks])
    return made


def _document(row: Row) -> int:
    return int(row[0])
