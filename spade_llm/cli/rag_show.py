"""`spade-llm rag`, without `add`: what is there, what is found, who was let in. Adds nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spade_llm.cli.plain import lines, one_line
from spade_llm.cli.progress import progress_bar
from spade_llm.rag.citations import place_of
from spade_llm.rag.documents import Access
from spade_llm.rag.retriever import RetrievalOptions
from spade_llm.text.counted import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from spade_llm.rag.documents import DocumentSummary, NamespaceSummary, Progress
    from spade_llm.rag.retriever import ScoredChunk
    from spade_llm.services.rag import RagClient

PAGE = 1000


async def _list(documents: RagClient, options: argparse.Namespace) -> None:
    if options.namespace is None:
        for namespace in await documents.namespaces():
            print(_line_of_namespace(namespace))
        return
    offset, has_more = 0, True
    while has_more:
        page = await documents.documents(namespace=options.namespace, limit=PAGE, offset=offset)
        for document in page.documents:
            print(_line_of_document(document))
        offset, has_more = offset + len(page.documents), page.has_more and bool(page.documents)


async def _stats(documents: RagClient, options: argparse.Namespace) -> None:
    stats = await documents.stats(options.namespace)
    updated = _when(stats.updated_at) if stats.updated_at else "never"
    print(f"namespace   {stats.name}" + ("" if stats.exists else " (does not exist)"))
    print(f"documents   {stats.documents}")
    print(f"passages    {stats.chunks}")
    print(f"vectors     {stats.vectors} of {stats.dimension or 0} numbers, {stats.model or 'none'}")
    print(f"updated     {updated}")


async def _search(documents: RagClient, options: argparse.Namespace) -> None:
    wanted = RetrievalOptions(namespaces=tuple(options.namespace))
    found = await documents.retrieve(options.query, k=options.k, options=wanted)
    if found.degraded:
        print(f"degraded    {found.degraded}", file=sys.stderr)
    for one in found.chunks:
        print(_passage(one))


async def _answer(documents: RagClient, options: argparse.Namespace) -> None:
    wanted = RetrievalOptions(namespaces=tuple(options.namespace))
    answer = await documents.answer(options.query, k=options.k, options=wanted)
    if answer.degraded:
        print(f"degraded    {answer.degraded}", file=sys.stderr)
    print(lines(answer.text))
    for one in answer.citations:
        place = f"{one.passage.chunk.namespace}: {place_of(one.passage.chunk)}"
        print(f"[{one.number}] {one_line(place)}")


async def _delete(documents: RagClient, options: argparse.Namespace) -> None:
    count = await documents.delete(namespace=options.namespace, source=options.source)
    print(f"deleted     {counted(count, 'document')}")


async def _reindex(documents: RagClient, options: argparse.Namespace) -> None:
    with progress_bar("embedding") as show:

        async def tell(progress: Progress) -> None:
            show(progress.done, progress.total)

        passages = await documents.reindex(namespace=options.namespace, on_progress=tell)
    print(f"embedded    {counted(passages, 'passage')}")


async def _grant(documents: RagClient, options: argparse.Namespace) -> None:
    access = Access.WRITE if options.write else Access.READ
    await documents.grant(options.namespace, to=options.grantee, access=access)
    print(f"granted     {options.namespace} to {options.grantee}: {access}")


async def _revoke(documents: RagClient, options: argparse.Namespace) -> None:
    was_there = await documents.revoke(options.namespace, to=options.grantee)
    print("revoked" if was_there else "there was no such grant")


async def _grants(documents: RagClient, _options: argparse.Namespace) -> None:
    for one in await documents.grants():
        print(f"{one.namespace:<20} {one.access:<6} {one.to}")


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


def _line_of_namespace(one: NamespaceSummary) -> str:
    figures = f"{one.documents:>7} documents {one.chunks:>8} passages"
    return f"{one.name:<20} {figures}  {_when(one.updated_at)}  {one.access}"


def _line_of_document(one: DocumentSummary) -> str:
    figures = f"{one.chunks:>6} passages  version {one.version:<3} {_when(one.updated_at)}"
    return f"{figures}  {one_line(one.source)}"


def _passage(one: ScoredChunk) -> str:
    chunk = one.chunk
    heading = f" ({chunk.heading})" if chunk.heading else ""
    text = "\n".join(f"    {line}" for line in lines(chunk.text.strip()).split("\n"))
    place = one_line(f"{chunk.namespace}: {place_of(chunk)}{heading}")
    return f"{one.score:.2f}  {place}\n{text}"


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
