"""`spade-llm rag`: searches, lists, shares and deletes documents of an assistant.

Documents belong to the account that sends them. This command therefore logs in as the assistant,
with the account in the data directory, as a second session that sends no presence.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.cli.context import find_context
from spade_llm.cli.rag_add import add_documents
from spade_llm.cli.signals import run_until_stopped, shield_from_stop
from spade_llm.cli.terminal import note, progress_bar, sanitize_line, sanitize_lines, show
from spade_llm.core.text import pluralize
from spade_llm.rag.cited_answers import citation_label
from spade_llm.rag.contract import Access, RetrievalOptions
from spade_llm.rag.remote import RagClient
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from datetime import datetime

    from spade_llm.cli.context import CliContext
    from spade_llm.rag.contract import Progress

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
            figures = f"{namespace.documents:>7} documents {namespace.chunks:>8} passages"
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
