"""A RAG agent with its documents in PostgreSQL: another one goes on from an empty folder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents.rag import RAGAgent, RagOptions
from spade_llm.core.database import DatabaseUrl
from spade_llm.messaging import agent_status
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.network import Network
    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.thorough
TIMEOUT_S = 10.0


async def test_a_rag_agent_goes_on_from_an_empty_folder(
    network: Network, postgres: PostgresProcess, tmp_path: Path
) -> None:
    jid = await network.account("rag")
    program = await network.program()
    requester = program.node.requester
    client = RagClient(requester, jid, timeout_s=TIMEOUT_S)

    async def started(folder: str, rag: RagOptions | None = None) -> str:
        """Start an agent in this folder; return its status."""
        data = tmp_path / folder
        data.mkdir()
        database = DatabaseUrl(postgres.url())
        agent = RAGAgent(
            jid,
            network.passwords[jid],
            embedder=BagOfWords(),
            roots=[],
            options=replace(network.options(jid), data=data, database=database),
            rag=rag,
        )
        await network.start(agent)
        agents.append(agent)
        return (await agent_status.ask_status(requester, jid, timeout_s=TIMEOUT_S)).summary

    agents: list[RAGAgent] = []
    status = await started("one")
    await client.ingest(Document(text="The heron fishes at dawn.", source="heron.txt"))
    await agents[-1].stop()
    await started("two")
    found = await client.retrieve("when does the heron fish?")
    await agents[-1].stop()
    status_of_files = await started("three", RagOptions(uses_files=True))
    nothing = await client.retrieve("when does the heron fish?")

    assert status.startswith("PostgreSQL, embeddings")
    assert [one.chunk.source for one in found.chunks] == ["heron.txt"]
    assert status_of_files.startswith("Chroma, embeddings")
    assert not nothing.chunks
