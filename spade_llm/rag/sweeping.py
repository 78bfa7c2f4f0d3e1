"""Removes vectors that no document has any more. Knows no document and no embedder.

Whatever changes the library holds `alone` while it does, and sweeps in the end: so what is loose
when a sweep begins was left by a change that is over, or was interrupted.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.errors import StorageFailed
from spade_llm.rag.chroma_index import Place
from spade_llm.rag.readers import Readers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.rag.chroma_index import ChromaIndex
    from spade_llm.rag.registry import Registry

_log = logging.getLogger(__name__)


class Sweeping:
    def __init__(self, registry: Registry, index: ChromaIndex) -> None:
        self._registry = registry
        self._index = index
        self._in_making: set[Place] = set()
        self.alone = asyncio.Lock()
        self.readers = Readers()

    @contextmanager
    def making(self, place: Place) -> Iterator[None]:
        """Not swept meanwhile, though nobody uses it yet."""
        self._in_making.add(place)
        try:
            yield
        finally:
            self._in_making.discard(place)

    async def sweep(self) -> None:
        """To be called with `alone`."""
        await self._sweep_collections()
        for (namespace_id, edition), ids in (await self._registry.loose_places()).items():
            place = Place(namespace_id=namespace_id, edition=edition)
            await self._index.remove(place, sorted(ids))
            await self._registry.settle_vectors(sorted(ids))

    async def try_to_sweep(self) -> None:
        """The same after a change that is done, whatever becomes of what it left behind."""
        try:
            await self.sweep()
        except StorageFailed as error:
            _log.warning("vectors that are not used any more will be removed later: %s", error)

    async def _sweep_collections(self) -> None:
        loose = [
            Place(namespace_id=namespace_id, edition=edition)
            for namespace_id, edition in await self._registry.loose_collections()
        ]
        unused = [place for place in loose if place not in self._in_making]
        if unused:
            await self.readers.leave()
        for place in unused:
            await self._index.drop(place)
            await self._registry.settle_collection(place.namespace_id, place.edition)
