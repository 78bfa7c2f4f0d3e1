"""Document uploads: temporary files, ingestion, grants to the assistants.

The file name that a client sends is used in citations, never as a path.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments, PathNotFound, RequestRefused, StorageFailed
from spade_llm.core.limits import ConcurrencyQuota
from spade_llm.messaging import new_id
from spade_llm.rag.contract import Ingested, SourceDocument
from spade_llm.rag.loading.text_files import file_kind

if TYPE_CHECKING:
    from spade_llm.rag.loading.chunking import Splitting
    from spade_llm.rag.remote import RagClient
    from spade_llm.rag.remote_endpoint import IngestReport

MAX_SPOOLED_FILES = 8
"""Maximum number of uploads at a time; one principal may use half."""
MAX_FILE_NAME_CHARS = 200

PutFile = Callable[[Path, str], Awaitable[str]]
"""Uploads a file under a name, and returns the URL to fetch it from. Raises RequestError."""

MAX_CONCURRENT_TEXTS = 8
"""Maximum number of concurrent texts of one request; paths are added one after the other."""
MAX_PATH_CHARS = 1000
_FILE_EXTENSION = re.compile(r"\.[^\s./\\]{1,16}\Z")


class UploadSpool:
    """Temporary files of uploads, and the upload service that passes them to the RAG agent."""

    def __init__(self, folder: Path | None, put: PutFile | None) -> None:
        """`folder`: the gateway's own, created when needed; None: the system's temporary folder.
        `put`: None without an upload service."""
        self._folder = folder
        self._put = put
        self._held = ConcurrencyQuota(MAX_SPOOLED_FILES, message="{} file uploads are in progress")

    def clear(self) -> None:
        """Delete the files that a killed gateway left."""
        if self._folder is not None and self._folder.is_dir():
            for left in self._folder.iterdir():
                left.unlink(missing_ok=True)

    @asynccontextmanager
    async def file(self, principal: str) -> AsyncIterator[Path]:
        """Create an empty file that only this user can read; it is deleted after the block. Raises
        Busy, StorageFailed (also for an OSError of the block)."""
        with self._held.hold(principal, 1):
            path: Path | None = None
            try:
                path = await asyncio.to_thread(self._create_file)
                yield path
            except OSError as error:
                raise StorageFailed("the uploaded file cannot be stored") from error
            finally:
                if path is not None:
                    path.unlink(missing_ok=True)

    async def put(self, path: Path, *, name: str) -> str:
        """Upload the file and return the URL from which the RAG agent fetches it. Raises
        RequestError (`no-uploads`, `too-large`)."""
        if self._put is None:
            raise RequestRefused(
                "the XMPP server offers no file upload (XEP-0363)", peer="", wire_code="no-uploads"
            )
        return await self._put(path, name)

    def _create_file(self) -> Path:
        folder = self._folder or Path(tempfile.gettempdir())
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"upload-{new_id()}"
        # O_EXCL: in a temporary folder that others share, a link of this name may lie in wait.
        path.touch(mode=0o600, exist_ok=False)
        return path


def sanitize_file_name(name: str) -> str:
    """Last part of a client's file name, printable characters only; empty if nothing is left."""
    # Programs on Windows send whole paths with backslashes.
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = "".join(char for char in last if char.isprintable()).strip(" .")
    stem, dot, extension = printable.rpartition(".")
    if not dot or len(printable) <= MAX_FILE_NAME_CHARS:
        return printable[:MAX_FILE_NAME_CHARS]
    # The extension survives the cut: it tells how the file is parsed.
    return f"{stem[: MAX_FILE_NAME_CHARS - 20]}.{extension[:16]}"


class DocumentUploads:
    """Ingestion of documents into one namespace of one principal, for one request."""

    def __init__(
        self,
        rag: RagClient,
        uploads: UploadSpool,
        *,
        namespace: str,
        splitting: Splitting | None,
        owner: str,
        readers: Sequence[str],
    ) -> None:
        """`owner`: bare JID that owns the documents. `readers`: bare JIDs of the assistants, which
        get read access."""
        self._rag = rag
        self._owner = owner
        self._uploads = uploads
        self._namespace = namespace
        self._splitting = splitting
        self._readers = readers
        self._is_new_here = False

    async def add_all(self, documents: Sequence[str]) -> int:
        """Add documents, each the path of a file below a document root or else a text, and return
        their number.

        Raises:
            InvalidArguments: a file cannot be read; its position in the list is named. Others may
                have been added.
            RequestError: the RAG agent is unavailable, or refuses.
        """
        texts, paths = asyncio.Semaphore(MAX_CONCURRENT_TEXTS), asyncio.Lock()

        async def add(position: int, document: str) -> None:
            async with texts:
                try:
                    if _may_be_path(document):
                        async with paths:
                            if await self._put_path(document):
                                return
                    await self._put_text(document, text_source_name(document))
                except RequestRefused as refusal:
                    if refusal.wire_code != InvalidArguments.code:
                        raise
                    raise InvalidArguments(f"documents.{position}: {refusal.detail}") from None

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
        """Add all files of a folder. Raises RequestRefused (`no-such-path`), RequestError."""
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
        """Upload a local file, from where the RAG agent fetches it. Raises RequestError."""
        async with self._granted():
            return await self._put_file(path, source)

    async def add_text(self, text: str, *, source: str) -> Ingested:
        """Raises RequestError; InvalidArguments if neither a message nor a file can carry it."""
        async with self._granted():
            return await self._put_text(text, source)

    async def _put_path(self, path: str) -> bool:
        """Add a file below a document root; False if it does not exist."""
        try:
            await self._rag.add_path(
                path, namespace=self._namespace, only="file", splitting=self._splitting
            )
        except RequestRefused as refusal:
            if refusal.wire_code == PathNotFound.code:
                return False
            raise
        self._is_new_here = True
        return True

    async def _put_text(self, text: str, source: str) -> Ingested:
        """Send the text in a message, or upload it as a file if it is too large for one."""
        document = SourceDocument(text=text, source=source, namespace=self._namespace)
        if self._rag.fits_one_message(document, self._splitting):
            done = await self._rag.ingest(document, splitting=self._splitting)
            self._is_new_here = True
            return done
        async with self._uploads.file(self._owner) as path:
            await asyncio.to_thread(path.write_text, text, encoding="utf-8")
            return await self._put_file(path, source)

    async def _put_file(self, path: Path, source: str) -> Ingested:
        url = await self._uploads.put(path, name=source)
        done = await self._rag.ingest_url(
            url, source=source, namespace=self._namespace, splitting=self._splitting
        )
        self._is_new_here = True
        return done

    @asynccontextmanager
    async def _granted(self) -> AsyncIterator[None]:
        """Grant read access to the assistants after the block, also if it failed halfway. It is
        granted each time, because a namespace that was deleted in between has lost its grants."""
        try:
            yield
        finally:
            if self._is_new_here:
                await asyncio.gather(
                    *(self._rag.grant(self._namespace, to=reader) for reader in self._readers)
                )


def text_source_name(text: str) -> str:
    """Source name of a text without one: equal texts have equal names, and are stored once."""
    return f"text-{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"


def _may_be_path(text: str) -> bool:
    """True for a single line that ends like a file name; anything else is text, and the RAG agent
    is not asked."""
    if len(text) > MAX_PATH_CHARS or not text.isprintable():
        return False
    return bool(_FILE_EXTENSION.search(text)) or file_kind(text) is not None
