"""Documents from addresses: fetched, read as their names say, and forgotten. Stores nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.rag.loader import Loader

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from spade_llm.rag.documents import Document
    from spade_llm.rag.fetching import Fetcher


class FetchedDocuments:
    """An async context manager."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._loader = Loader([])

    async def __aenter__(self) -> Self:
        await self._fetcher.clear()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._loader.close)

    async def get(self, url: str, *, source: str, namespace: str) -> Document:
        """`source`: as it is cited; its ending says how it is read. Empty: the address' own name.

        Raises:
            InvalidArguments: also a file that cannot be read; and as Fetcher.fetched.
        """
        async with self._fetcher.fetched(url, name=source) as file:
            loaded = await self._loader.load(file)
        return loaded.document(source or file.source, namespace)
