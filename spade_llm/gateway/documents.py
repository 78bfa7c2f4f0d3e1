"""Putting documents of a principal where they are kept. Knows no HTTP and reads no file by a name
that a request gave: the RAG agent reads those, below its own roots.

What is put in is granted to the assistants, for reading: they quote it to that principal alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, NoSuchPath, RequestError, RequestRefused
from spade_llm.rag.documents import Document
from spade_llm.rag.loading.kinds import kind_of
from spade_llm.services.rag_ingest import Ingest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.gateway.uploads import Uploads
    from spade_llm.rag.documents import Ingested
    from spade_llm.rag.splitter import Splitting
    from spade_llm.services.rag import RagClient
    from spade_llm.services.rag_ingest import IngestReport

AT_A_TIME = 8
"""Texts of one request on their way; paths go one after the other."""
MAX_PATH_CHARS = 1000
_ENDING = re.compile(r"\.[^\s./\\]{1,16}\Z")


class Shelf:
    """One namespace of one principal, for one request."""

    def __init__(
        self,
        rag: RagClient,
        uploads: Uploads,
        *,
        namespace: str,
        splitting: Splitting | None,
        owner: str,
        readers: Sequence[str],
    ) -> None:
        """`owner`: whose they are; `readers`: the assistants; bare JIDs."""
        self._rag = rag
        self._owner = owner
        self._uploads = uploads
        self._namespace = namespace
        self._splitting = splitting
        self._readers = readers
        self._is_new_here = False

    async def add_all(self, documents: Sequence[str]) -> int:
        """Each one is the path of a file below a document root, or else a text; how many.

        Raises:
            InvalidArguments: a file of these cannot be read; its place in the list is named. Others
                may have been added.
            RequestError: the RAG agent is away, or refuses.
        """
        places = asyncio.Semaphore(AT_A_TIME)

        async def add(number: int, document: str) -> None:
            async with places:
                try:
                    await self._add(document, paths)
                except RequestRefused as refusal:
                    raise _numbered(refusal, number) from None

        paths = asyncio.Lock()
        async with self._granted():
            tasks = [asyncio.create_task(add(*one)) for one in enumerate(documents)]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        return len(documents)

    async def add_folder(self, path: str, *, is_recursive: bool) -> IngestReport:
        """Raises RequestRefused (`no-such-path`: there is no such folder), RequestError."""
        async with self._granted():
            report = await self._rag.add_path(
                path,
                namespace=self._namespace,
                is_recursive=is_recursive,
                only="folder",
                splitting=self._splitting,
            )
            self._is_new_here = True
        return report

    async def add_file(self, path: Path, *, source: str) -> Ingested:
        """A file of ours, by way of the XMPP server's uploads. Raises RequestError."""
        async with self._granted():
            url = await self._uploads.put(path, name=source)
            done = await self._rag.ingest_url(
                url, source=source, namespace=self._namespace, splitting=self._splitting
            )
            self._is_new_here = True
        return done

    async def add_text(self, text: str, *, source: str) -> Ingested:
        """Raises RequestError; InvalidArguments if nothing can carry it."""
        async with self._granted():
            return await self._put_text(text, source)

    async def _add(self, document: str, paths: asyncio.Lock) -> None:
        if _may_be_path(document):
            async with paths:
                if await self._put_path(document):
                    return
        await self._put_text(document, source_of(document))

    async def _put_path(self, path: str) -> bool:
        """False: there is no such file."""
        try:
            await self._rag.add_path(
                path, namespace=self._namespace, only="file", splitting=self._splitting
            )
        except RequestRefused as refusal:
            if refusal.wire_code == NoSuchPath.code:
                return False
            raise
        self._is_new_here = True
        return True

    async def _put_text(self, text: str, source: str) -> Ingested:
        """In a message; what is too large for one, as a file."""
        document = Document(text=text, source=source, namespace=self._namespace)
        if Ingest(document=document, splitting=self._splitting).fits_one_message:
            done = await self._rag.ingest(document, splitting=self._splitting)
        else:
            async with self._uploads.file(self._owner) as path:
                await asyncio.to_thread(path.write_text, text, encoding="utf-8")
                url = await self._uploads.put(path, name=source)
                done = await self._rag.ingest_url(
                    url, source=source, namespace=self._namespace, splitting=self._splitting
                )
        self._is_new_here = True
        return done

    @asynccontextmanager
    async def _granted(self) -> AsyncIterator[None]:
        """Also what was put in before something went wrong. Granted each time: a namespace that was
        deleted meanwhile, by whichever way, took its grants along."""
        try:
            yield
        finally:
            if self._is_new_here:
                await self._grant()

    async def _grant(self) -> None:
        await asyncio.gather(
            *(self._rag.grant(self._namespace, to=reader) for reader in self._readers)
        )


def source_of(text: str) -> str:
    """A name for a text without one: equal texts have equal names, and are there once."""
    return f"text-{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"


def _may_be_path(text: str) -> bool:
    """One line that ends as the name of a file does; anything else is text without asking."""
    if len(text) > MAX_PATH_CHARS or not text.isprintable():
        return False
    return bool(_ENDING.search(text)) or kind_of(text) is not None


def _numbered(refusal: RequestRefused, number: int) -> InvalidArguments | RequestError:
    if refusal.wire_code != InvalidArguments.code:
        return refusal
    return InvalidArguments(f"documents.{number}: {refusal.detail}")
