"""`spade-llm rag add PATH…`: give documents to an assistant, through the RAG agent.

Files go by message; what lies below DATA/documents is only named: the RAG agent reads there itself.

Documents belong to whoever sends them; so this logs in as the assistant, beside it, with the
account that the data directory has, and without announcing itself.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.place import find_place
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import InvalidArguments, RequestError
from spade_llm.rag.loader import FoundFile, LeftOut, Loader

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from spade_llm.cli.place import Place
    from spade_llm.rag.documents import Ingested
    from spade_llm.services.rag import RagClient

SHARED = "documents"
"""The RAG agent's document root, below the data directory (agents/rag/agent.toml: roots)."""


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_add(options))


async def _add(options: argparse.Namespace) -> int:
    place = find_place(options)
    failures = 0
    async with _documents_of(place.jid(options.owner), place.jid(options.rag), place) as documents:
        for path in map(Path, options.path):
            failures += await _add_path(documents, path, place.data / SHARED, options.namespace)
    return 1 if failures else 0


async def _add_path(documents: RagClient, path: Path, shared: Path, namespace: str) -> int:
    """How many files should have been added and were not."""
    name = await asyncio.to_thread(_name_below, shared, path)
    if name is not None:
        for done in await documents.ingest_path(name, namespace=namespace):
            _say(done)
        return 0
    found = await asyncio.to_thread(_find, path)
    return sum([not await _add_one(documents, one, namespace) for one in found])


def _name_below(folder: Path, path: Path) -> str | None:
    """The path as seen from the folder; None if it lies elsewhere."""
    folder, path = folder.resolve(), path.resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else None


@asynccontextmanager
async def _documents_of(owner: str, rag: str, place: Place) -> AsyncIterator[RagClient]:
    """The owner's documents in the RAG agent, as long as the block runs."""
    password = place.accounts.get(owner)
    from spade_llm.services.rag import RagClient
    from spade_llm.xmpp.agent import AgentOptions, XmppAgent

    options = AgentOptions(connection=place.connection(), is_available=False)
    sender = XmppAgent(owner, password, options=options)
    await sender.start()
    try:
        yield RagClient(sender.node.requester, rag)
    finally:
        await sender.stop()


def _find(path: Path) -> list[tuple[Loader, FoundFile | LeftOut]]:
    """Files of a path, named from its own last part on: `docs/design/wire.md`."""
    full = path.absolute()
    loader = Loader([full.parent])
    return [(loader, found) for found in loader.find(full.name)]


async def _add_one(
    documents: RagClient, found: tuple[Loader, FoundFile | LeftOut], namespace: str
) -> bool:
    """False if it should have been added and was not."""
    loader, file = found
    if isinstance(file, LeftOut):
        _say_left_out(file.source, file.reason)
        return True
    try:
        loaded = await asyncio.to_thread(loader.read, file)
        done = await documents.ingest(loaded.document(file.source, namespace))
    except (InvalidArguments, RequestError) as error:
        _say_left_out(file.source, str(error))
        return False
    _say(done)
    return True


def _say(done: Ingested) -> None:
    if done.left_out:
        _say_left_out(done.source, done.left_out)
        return
    state = "unchanged" if done.was_unchanged else f"{done.chunks} chunks"
    print(f"added       {done.source}: {state}")


def _say_left_out(source: str, reason: str) -> None:
    print(f"left out    {source}: {reason}", file=sys.stderr)
