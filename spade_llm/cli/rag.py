"""`spade-llm rag`: adds, searches, lists, shares and deletes documents of an assistant.

Documents belong to the account that sends them. This command therefore logs in as the assistant,
with the account in the data directory, as a second session that sends no presence.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import CliContext, find_context
from spade_llm.cli.signals import run_until_stopped, shield_from_stop
from spade_llm.cli.terminal import note, progress_bar, sanitize_line, sanitize_lines, show, warn
from spade_llm.core.concurrency import for_each
from spade_llm.core.errors import InvalidArguments, RequestFailed, RequestRefused
from spade_llm.core.text import pluralize
from spade_llm.rag.cited_answers import citation_label
from spade_llm.rag.contract import Access, Ingested, Progress, RetrievalOptions, SourceDocument
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.loading.loader import FoundFile, Loader, SkippedFile
from spade_llm.rag.loading.text_files import file_kind
from spade_llm.rag.remote import RagClient
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.features.uploads import upload

if TYPE_CHECKING:
    import argparse

    from spade_llm.rag.remote_endpoint import IngestReport

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


PAGE = 1000

SHARED_FOLDER = "documents"
"""Document root of the RAG agent, below the data directory (agents/rag/agent.toml: roots)."""
INTERRUPTED = 130


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_run(options), stopped=INTERRUPTED)


async def _list(documents: RagClient, options: argparse.Namespace) -> None:
    if options.namespace is None:
        namespaces = await documents.namespaces()
        if not namespaces:
            note(options, "no documents yet: add some with `spade-llm rag add PATH`")
        for namespace in namespaces:
            figures = (
                f"{pluralize(namespace.documents, 'document'):>17}"
                f" {pluralize(namespace.chunks, 'passage'):>17}"
            )
            updated = _date(namespace.updated_at)
            text = f"{namespace.name:<20} {figures}  {updated}  {namespace.access}"
            show(options, namespace, text)
        return
    offset, has_more = 0, True
    while has_more:
        page = await documents.documents(namespace=options.namespace, limit=PAGE, offset=offset)
        for document in page.documents:
            figures = f"{document.chunks:>6} passages  version {document.version:<3}"
            text = f"{figures} {_date(document.updated_at)}  {sanitize_line(document.source)}"
            show(options, document, text)
        # An empty page ends the loop, also if documents were deleted meanwhile.
        offset, has_more = offset + len(page.documents), page.has_more and bool(page.documents)


async def _stats(documents: RagClient, options: argparse.Namespace) -> None:
    stats = await documents.stats(options.namespace)
    updated = _date(stats.updated_at) if stats.updated_at else "never"
    lines = (
        f"namespace   {stats.name}" + ("" if stats.exists else " (does not exist)"),
        f"documents   {stats.documents}",
        f"passages    {stats.chunks}",
        f"vectors     {stats.vectors} of {stats.dimension or 0} numbers, {stats.model or 'none'}",
        f"updated     {updated}",
    )
    show(options, stats, lines)


async def _search(documents: RagClient, options: argparse.Namespace) -> None:
    wanted = RetrievalOptions(namespaces=tuple(options.namespace))
    found = await documents.retrieve(options.query, k=options.k, options=wanted)
    if found.degraded:
        print(f"degraded    {found.degraded}", file=sys.stderr)
    if not found.chunks:
        note(options, "no passage was found")
    for one in found.chunks:
        chunk = one.chunk
        heading = f" ({chunk.heading})" if chunk.heading else ""
        place = sanitize_line(f"{chunk.namespace}: {citation_label(chunk)}{heading}")
        lines = sanitize_lines(chunk.text.strip()).split("\n")
        show(options, one, [f"{one.score:.2f}  {place}", *(f"    {line}" for line in lines)])


async def _answer(documents: RagClient, options: argparse.Namespace) -> None:
    wanted = RetrievalOptions(namespaces=tuple(options.namespace))
    answer = await documents.answer(options.query, k=options.k, options=wanted)
    if answer.degraded:
        print(f"degraded    {answer.degraded}", file=sys.stderr)
    lines = [sanitize_lines(answer.text)]
    for one in answer.citations:
        place = f"{one.passage.chunk.namespace}: {citation_label(one.passage.chunk)}"
        lines.append(f"[{one.number}] {sanitize_line(place)}")
    show(options, answer, lines)


async def _delete(documents: RagClient, options: argparse.Namespace) -> None:
    count = await documents.delete(namespace=options.namespace, source=options.source)
    show(options, {"deleted": count}, f"deleted     {pluralize(count, 'document')}")


async def _reindex(documents: RagClient, options: argparse.Namespace) -> None:
    with progress_bar("embedding") as bar:

        async def tell(progress: Progress) -> None:
            bar(progress.done, progress.total)

        passages = await documents.reindex(namespace=options.namespace, on_progress=tell)
    show(options, {"embedded": passages}, f"embedded    {pluralize(passages, 'passage')}")


async def _grant(documents: RagClient, options: argparse.Namespace) -> None:
    access = Access.WRITE if options.write else Access.READ
    await documents.grant(options.namespace, to=options.grantee, access=access)
    record = {"namespace": options.namespace, "to": options.grantee, "access": access}
    show(options, record, f"granted     {options.namespace} to {options.grantee}: {access}")


async def _revoke(documents: RagClient, options: argparse.Namespace) -> None:
    existed = await documents.revoke(options.namespace, to=options.grantee)
    text = "revoked" if existed else "there was no such grant"
    show(options, {"revoked": existed}, text)


async def _grants(documents: RagClient, options: argparse.Namespace) -> None:
    grants = await documents.grants()
    if not grants:
        note(options, "no grants")
    for one in grants:
        show(options, one, f"{one.namespace:<20} {one.access:<6} {one.to}")


ACTIONS: Mapping[str, Callable[[RagClient, argparse.Namespace], Awaitable[None]]] = {
    "list": _list,
    "stats": _stats,
    "search": _search,
    "answer": _answer,
    "delete": _delete,
    "reindex": _reindex,
    "grant": _grant,
    "revoke": _revoke,
    "grants": _grants,
}


def _date(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


async def _run(options: argparse.Namespace) -> int:
    cli_context = find_context(options)
    async with _owner_login(cli_context.jid(options.owner), cli_context) as sender:
        documents = RagClient(sender.node.requester, cli_context.jid(options.rag))
        if options.action == "add":
            return await add_documents(
                sender, documents, options, shared=cli_context.data / SHARED_FOLDER
            )
        await ACTIONS[options.action](documents, options)
        return 0


@asynccontextmanager
async def _owner_login(owner: str, cli_context: CliContext) -> AsyncIterator[XmppAgent]:
    """Log in as the owner for the block, besides other sessions of this account."""
    password = cli_context.accounts.get(owner)
    options = AgentOptions(connection=cli_context.connection(), is_available=False)
    sender = XmppAgent(owner, password, options=options)
    await sender.start()
    try:
        yield sender
    finally:
        await shield_from_stop(sender.stop())
