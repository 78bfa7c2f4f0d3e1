"""Reads again, from the start on and behind the questions, what was asked before the last stop.

Knows no question: it is told which namespaces are asked, and writes each down once in a run.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spade_llm.errors import StorageFailed
from spade_llm.rag.shelves import shelf_of
from spade_llm.rag.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.chroma_index import ChromaIndex
    from spade_llm.rag.registry import Registry
    from spade_llm.rag.rows import Namespace
    from spade_llm.rag.word_indexes import WordIndexes

_log = logging.getLogger(__name__)

MAX_WARMED = 8
"""Namespaces."""
PATIENCE_S = 60.0
"""Beyond it, the next namespace is begun."""


class Warming:
    """`start` it when the library is open, `close` it before."""

    def __init__(
        self, registry: Registry, words: WordIndexes, index: ChromaIndex, *, model: str | None
    ) -> None:
        """`model`: of the questions; vectors of others are not read."""
        self._registry, self._words, self._index = registry, words, index
        self._model = model
        self._noted: set[int] = set()
        """Bounded by the namespaces of the library, as is what waits to be noted."""
        self._to_note: list[int] = []
        self._warming = Worker(self.warm, name="warming")
        self._noting = Worker(self._note, name="noting")

    def start(self) -> None:
        self._warming.wake()

    async def close(self) -> None:
        await self._warming.close()
        await self._noting.close()
        await self._words.close()

    def asked(self, namespaces: Sequence[Namespace]) -> None:
        new = [namespace.id for namespace in namespaces if namespace.id not in self._noted]
        if new:
            self._noted.update(new)
            self._to_note += new
            self._noting.wake()

    async def warm(self) -> None:
        """What `start` does beside us."""
        try:
            for namespace in await self._registry.last_asked(MAX_WARMED):
                await self._read(namespace)
        except StorageFailed as error:
            _log.warning("nothing is read before it is asked: %s", error)

    async def _read(self, namespace: Namespace) -> None:
        words = self._words.ready([namespace.id], patience_s=PATIENCE_S)
        shelf = shelf_of(namespace)
        if shelf is None or namespace.model != self._model:
            await words
        else:
            await asyncio.gather(words, self._index.warm(shelf))

    async def _note(self) -> None:
        while self._to_note:
            ids, self._to_note = self._to_note, []
            try:
                await self._registry.note_asked(ids)
            except StorageFailed as error:
                _log.warning("which namespaces are asked is not noted: %s", error)
