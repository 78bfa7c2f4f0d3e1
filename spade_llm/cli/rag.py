"""`spade-llm rag ACTION`: the documents of an assistant, through the RAG agent.

Documents belong to whoever sends them; so this logs in as the assistant, beside it, with the
account that the data directory has, and without announcing itself.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.cli import rag_show
from spade_llm.cli.place import find_place
from spade_llm.cli.rag_add import add
from spade_llm.cli.stopping import run_until_stopped, uninterrupted
from spade_llm.services.rag import RagClient
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from spade_llm.cli.place import Place

SHARED = "documents"
"""The RAG agent's document root, below the data directory (agents/rag/agent.toml: roots)."""
INTERRUPTED = 130


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_run(options), stopped=INTERRUPTED)


async def _run(options: argparse.Namespace) -> int:
    place = find_place(options)
    async with _logged_in(place.jid(options.owner), place) as sender:
        documents = RagClient(sender.node.requester, place.jid(options.rag))
        if options.action == "add":
            return await add(sender, documents, options, shared=place.data / SHARED)
        await rag_show.ACTIONS[options.action](documents, options)
        return 0


@asynccontextmanager
async def _logged_in(owner: str, place: Place) -> AsyncIterator[XmppAgent]:
    """The owner, beside whoever else uses this account, as long as the block runs."""
    password = place.accounts.get(owner)
    options = AgentOptions(connection=place.connection(), is_available=False)
    sender = XmppAgent(owner, password, options=options)
    await sender.start()
    try:
        yield sender
    finally:
        await uninterrupted(sender.stop())
