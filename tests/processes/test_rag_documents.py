"""The project's own pages for its users, a PDF of 300 pages and 2000 notes, given by message to a
RAG agent in another process: what was planted in them is found again."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

from spade_llm.providers import find_weights
from spade_llm.rag.remote import RagClient
from spade_llm.xmpp.features.uploads import upload
from tests.cli.program import ROOT
from tests.processes.rag_process import connected, rag_process
from tests.rag.corpus import NOTES, PDF, write_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.rag import Progress
    from tests.conftest import Provisioner
    from tests.rag.corpus import Planted

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]
ENOUGH = 27
"""Of 30 questions: right passage among the first five."""


async def test_planted_facts_in_many_documents_are_found(
    prosody: Provisioner, tmp_path: Path
) -> None:
    if find_weights(tmp_path / "models") is None:
        pytest.skip("the weights are not installed")
    told: list[Progress] = []

    async def tell(progress: Progress) -> None:
        told.append(progress)

    async with (
        rag_process(tmp_path / "agent", prosody, rest='embeddings = "installed"') as agent,
        connected(prosody, "reader") as reader,
    ):
        client = RagClient(reader.node.requester, agent.jid)
        planted = await asyncio.to_thread(write_corpus, agent.documents)
        await asyncio.to_thread(
            shutil.copytree,
            ROOT / "docs",
            agent.documents / "docs",
            ignore=shutil.ignore_patterns("design", "images", "wire-reference.md"),
        )
        docs = await client.add_path("docs")
        notes = await client.add_path("notes", on_progress=tell)
        url = await upload(reader, agent.documents / PDF)
        voyages = await client.ingest_url(url, source=PDF)
        missed = [one for one in planted if not await is_found(client, one)]

    assert (notes.added, notes.left_out) == (NOTES, 0)
    assert (told[-1].done, told[-1].total) == (NOTES, NOTES)
    assert len(told) >= 2
    assert docs.added > 10
    assert voyages.chunks >= 300
    assert len(planted) == 30
    assert len(missed) <= len(planted) - ENOUGH, missed


async def is_found(client: RagClient, one: Planted) -> bool:
    found = await client.retrieve(one.question, k=5)
    assert found.degraded == ""
    return any(one.is_answered_by(x.chunk.source, x.chunk.text) for x in found.chunks)
