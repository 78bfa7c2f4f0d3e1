"""`spade-llm rag add PATH…`: files by message; what lies below DATA/documents is only named, and
the RAG agent reads it itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.progress import progress_bar
from spade_llm.cli.rag_ledger import Ledger
from spade_llm.errors import InvalidArguments, RequestFailed, RequestRefused
from spade_llm.rag.documents import Ingested
from spade_llm.rag.loader import LeftOut, Loader
from spade_llm.rag.splitter import Splitting
from spade_llm.services.rag_ingest import Ingest
from spade_llm.xmpp.uploads import upload

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from spade_llm.rag.documents import Document, Progress
    from spade_llm.rag.loader import FoundFile
    from spade_llm.services.rag import RagClient
    from spade_llm.xmpp.agent import XmppAgent

IN_FLIGHT = 8
"""Files on their way at a time."""


async def add(
    sender: XmppAgent, documents: RagClient, options: argparse.Namespace, *, shared: Path
) -> int:
    """`sender`: whose server takes the files that are too large for a message."""
    adding = _Adding(sender, documents, options)
    for path in map(Path, options.path):
        name = await asyncio.to_thread(_name_below, shared, path)
        await (adding.by_message(path) if name is None else adding.by_name(name))
    return adding.ledger.close()


class _Adding:
    def __init__(
        self, sender: XmppAgent, documents: RagClient, options: argparse.Namespace
    ) -> None:
        self.ledger = Ledger()
        self._documents = documents
        self._sender = sender
        self._namespace: str = options.namespace
        self._is_recursive = not options.no_recursive
        self._splitting = _splitting(options)
        self._named: dict[str, Path] = {}
        """By what name each file of this command is kept."""

    async def by_name(self, name: str) -> None:
        """Of the shared folder. Ctrl-C cancels it at the agent; what is done by then stays."""
        with progress_bar("adding") as show:

            async def tell(progress: Progress) -> None:
                show(progress.done, progress.total)

            try:
                report = await self._documents.add_path(
                    name,
                    namespace=self._namespace,
                    is_recursive=self._is_recursive,
                    splitting=self._splitting,
                    on_progress=tell,
                )
            except (RequestRefused, RequestFailed) as error:
                self.ledger.fail(name, str(error))
                return
        self.ledger.note_all(report)

    async def by_message(self, path: Path) -> None:
        """What the files say is read here, in a process of its own where their kind needs it."""
        root, name = _from_last_part(path)
        with Loader([root]) as loader, progress_bar("adding") as show:
            try:
                found = await asyncio.to_thread(loader.find, name, is_recursive=self._is_recursive)
            except InvalidArguments as error:
                self.ledger.fail(str(path), str(error))
                return
            await self._send_all(loader, found, show)

    async def _send_all(
        self,
        loader: Loader,
        found: Sequence[FoundFile | LeftOut],
        show: Callable[[int, int], None],
    ) -> None:
        """A few at a time, so that one travels while another is embedded."""
        entries = iter(found)
        done = 0

        async def work() -> None:
            nonlocal done
            for entry in entries:
                await self._send(loader, entry)
                done += 1
                show(done, len(found))

        workers = [asyncio.create_task(work()) for _ in range(IN_FLIGHT)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _send(self, loader: Loader, file: FoundFile | LeftOut) -> None:
        if isinstance(file, LeftOut):
            self.ledger.note(
                Ingested(
                    source=file.source, namespace=self._namespace, chunks=0, left_out=file.reason
                )
            )
            return
        try:
            self._check_name(file)
            loaded = await asyncio.to_thread(loader.read, file)
            self.ledger.note(await self._taken(loaded.document(file.source, self._namespace), file))
        except (InvalidArguments, RequestRefused, RequestFailed) as error:
            self.ledger.fail(file.source, str(error))
        except OSError as error:
            self.ledger.fail(file.source, error.strerror or "cannot be read")

    def _check_name(self, file: FoundFile) -> None:
        """One would take the place of the other, and both be called added."""
        other = self._named.setdefault(file.source, file.path)
        if other != file.path:
            raise InvalidArguments(
                f"{other} has the same name here; add the folder that holds both, or use another "
                "namespace"
            )

    async def _taken(self, document: Document, file: FoundFile) -> Ingested:
        """As text in a message; what is too large for one, as a file."""
        if Ingest(document=document, splitting=self._splitting).fits_one_message:
            return await self._documents.ingest(document, splitting=self._splitting)
        url = await upload(self._sender, file.path)
        return await self._documents.ingest_url(
            url, source=file.source, namespace=self._namespace, splitting=self._splitting
        )


def _splitting(options: argparse.Namespace) -> Splitting | None:
    """None: as the agent does. Raises InvalidArguments."""
    if options.size is None and options.overlap is None:
        return None
    size = Splitting().size if options.size is None else options.size
    overlap = min(Splitting().overlap, size // 5) if options.overlap is None else options.overlap
    return Splitting(size=size, overlap=overlap)


def _from_last_part(path: Path) -> tuple[Path, str]:
    """Files are named from the path's own last part on: `docs/design/wire.md`."""
    full = path.absolute()
    return full.parent, full.name


def _name_below(folder: Path, path: Path) -> str | None:
    """The path as seen from the folder; None if it lies elsewhere."""
    folder, path = folder.resolve(), path.resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else None
