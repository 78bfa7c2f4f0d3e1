"""`spade-llm rag add`: ingests files, by message or by name from a shared folder."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.terminal import note, progress_bar, sanitize_line, show, warn
from spade_llm.core.concurrency import for_each
from spade_llm.core.errors import InvalidArguments, RequestFailed, RequestRefused
from spade_llm.core.text import pluralize
from spade_llm.rag.contract import Ingested
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.loading.loader import Loader, SkippedFile
from spade_llm.rag.loading.text_files import file_kind
from spade_llm.xmpp.features.uploads import upload

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from spade_llm.rag.contract import Progress, SourceDocument
    from spade_llm.rag.loading.loader import FoundFile
    from spade_llm.rag.remote import RagClient
    from spade_llm.rag.remote_endpoint import IngestReport
    from spade_llm.xmpp.agent import XmppAgent

MAX_IN_FLIGHT = 8
"""Maximum number of files that are sent concurrently."""


class IngestOutput:
    """Output and totals of an ingest: a line for each file in a script's log; on a terminal, which
    shows a progress bar, only for files that were left out."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._total = self._added = self._unchanged = self._left_out = self._chunks = 0
        self._failures = 0

    def note(self, done: Ingested) -> None:
        self._total += 1
        self._left_out += bool(done.left_out)
        self._unchanged += done.was_unchanged
        self._added += not (done.left_out or done.was_unchanged)
        self._chunks += done.chunks
        self._say(done)

    def note_all(self, report: IngestReport) -> None:
        self._total += report.total
        self._left_out += report.left_out
        self._unchanged += report.unchanged
        self._added += report.added
        self._chunks += report.chunks
        for done in report.documents:
            self._say(done)
        if len(report.documents) < report.total and not sys.stderr.isatty():
            note(self._options, f"…           and {report.total - len(report.documents)} more")

    def fail(self, source: str, reason: str) -> None:
        """Count and print a document that failed."""
        self._total += 1
        self._left_out += 1
        self._failures += 1
        warn(f"left out    {sanitize_line(f'{source}: {reason}')}")

    def close(self) -> int:
        """Print the totals, and return the exit code: 1 if a document was left out."""
        record = {
            "documents": self._total,
            "added": self._added,
            "unchanged": self._unchanged,
            "left_out": self._left_out,
            "passages": self._chunks,
        }
        text = (
            f"documents   {self._total}: {self._added} added, {self._unchanged} unchanged,"
            f" {self._left_out} left out; {pluralize(self._chunks, 'passage')}"
        )
        show(self._options, record, text)
        return 1 if self._failures else 0

    def _say(self, done: Ingested) -> None:
        if done.left_out:
            self._failures += file_kind(done.source) is not None
            warn(f"left out    {sanitize_line(f'{done.source}: {done.left_out}')}")
        elif self._options.json or not sys.stderr.isatty():
            state = "unchanged" if done.was_unchanged else pluralize(done.chunks, "passage")
            show(self._options, done, f"added       {sanitize_line(done.source)}: {state}")


async def add_documents(
    sender: XmppAgent, documents: RagClient, options: argparse.Namespace, *, shared: Path
) -> int:
    """Add the files; those that are too large for a message are uploaded to the server."""
    adding = _DocumentAdder(sender, documents, options)
    for path in map(Path, options.path):
        name = await asyncio.to_thread(_name_in_shared_folder, shared, path)
        await (adding.add_local_path(path) if name is None else adding.add_shared_path(name))
    return adding.ledger.close()


class _DocumentAdder:
    def __init__(
        self, sender: XmppAgent, documents: RagClient, options: argparse.Namespace
    ) -> None:
        self.ledger = IngestOutput(options)
        self._documents = documents
        self._sender = sender
        self._namespace: str = options.namespace
        self._is_recursive = not options.no_recursive
        self._splitting = _splitting(options)
        self._paths_by_name: dict[str, Path] = {}
        """Files of this command, keyed by document name."""

    async def add_shared_path(self, name: str) -> None:
        """Add a path of the shared folder, which the agent reads itself. Ctrl-C cancels it at the
        agent; documents added by then stay."""
        with progress_bar("adding") as bar:

            async def tell(progress: Progress) -> None:
                bar(progress.done, progress.total)

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

    async def add_local_path(self, path: Path) -> None:
        """Read the files here, in a separate process if their kind needs it, and send their
        text."""
        # Documents are named from the path's last part on: `docs/design/wire.md`.
        full = await asyncio.to_thread(path.absolute)
        with Loader([full.parent]) as loader, progress_bar("adding") as bar:
            try:
                found = await asyncio.to_thread(
                    loader.find, full.name, is_recursive=self._is_recursive
                )
            except InvalidArguments as error:
                self.ledger.fail(str(path), str(error))
                return
            await self._send_all(loader, found, bar)

    async def _send_all(
        self,
        loader: Loader,
        found: Sequence[FoundFile | SkippedFile],
        bar: Callable[[int, int], None],
    ) -> None:
        """Send several files concurrently, so that one travels while another is embedded."""
        done = 0

        async def send(entry: FoundFile | SkippedFile) -> None:
            nonlocal done
            await self._send(loader, entry)
            done += 1
            bar(done, len(found))

        await for_each(found, send, max_concurrent=MAX_IN_FLIGHT)

    async def _send(self, loader: Loader, file: FoundFile | SkippedFile) -> None:
        if isinstance(file, SkippedFile):
            self.ledger.note(
                Ingested(
                    source=file.source, namespace=self._namespace, chunks=0, left_out=file.reason
                )
            )
            return
        try:
            self._check_name(file)
            loaded = await asyncio.to_thread(loader.read, file)
            self.ledger.note(
                await self._ingest(loaded.document(file.source, self._namespace), file)
            )
        except (InvalidArguments, RequestRefused, RequestFailed) as error:
            self.ledger.fail(file.source, str(error))
        except OSError as error:
            self.ledger.fail(file.source, error.strerror or "cannot be read")

    def _check_name(self, file: FoundFile) -> None:
        """Check that no other file has this name: it would replace the other, and both would count
        as added."""
        other = self._paths_by_name.setdefault(file.source, file.path)
        if other != file.path:
            raise InvalidArguments(
                f"{other} has the same document name: add the folder that contains both, or use"
                " another namespace"
            )

    async def _ingest(self, document: SourceDocument, file: FoundFile) -> Ingested:
        """Send the text in a message, or upload the file if it is too large for one."""
        if self._documents.fits_one_message(document, self._splitting):
            return await self._documents.ingest(document, splitting=self._splitting)
        url = await upload(self._sender, file.path)
        return await self._documents.ingest_url(
            url, source=file.source, namespace=self._namespace, splitting=self._splitting
        )


def _splitting(options: argparse.Namespace) -> Splitting | None:
    """Splitting from the options; None means the agent's default. Raises InvalidArguments."""
    if options.size is None and options.overlap is None:
        return None
    size = Splitting().size if options.size is None else options.size
    overlap = min(Splitting().overlap, size // 5) if options.overlap is None else options.overlap
    return Splitting(size=size, overlap=overlap)


def _name_in_shared_folder(folder: Path, path: Path) -> str | None:
    """Path relative to the folder; None if it is elsewhere."""
    folder, path = folder.resolve(), path.resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else None
