"""Where a RAG agent's vectors are, and by which model, as its toml says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused
from spade_llm.rag import Document
from tests.openai_server import running_server
from tests.processes.rag_process import rag_process
from tests.rag.chroma_server import ChromaServer

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.rag import Progress
    from tests.conftest import Provisioner

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]
TIDES = Document(text="The tide turns at noon.", source="tides.md")
OWLS = Document(text="Owls hunt at midnight.", source="owls.md")
REST = """
[embeddings]
kind = "openai_compatible"
base_url = "{url}"
model = "words"
dimension = {dimension}

[storage]
chroma_url = "{chroma_url}"
"""


async def test_vectors_are_on_the_server_that_is_named_and_of_one_model_until_reindexed(
    prosody: Provisioner, tmp_path: Path
) -> None:
    told: list[Progress] = []

    async def tell(progress: Progress) -> None:
        told.append(progress)

    async with running_server() as model, ChromaServer(tmp_path / "server") as chroma:
        rest = REST.format(url=model.base_url, dimension=32, chroma_url=chroma.url)
        async with (
            rag_process(tmp_path / "agent", prosody, rest=rest) as agent,
            agent.asker("ann") as client,
        ):
            await client.ingest(TIDES)
            first = await client.stats("default")
            await agent.kill()
            agent.change("dimension = 32", "dimension = 64")
            await agent.start()
            with pytest.raises(RequestRefused, match="reindex"):
                await client.ingest(OWLS)
            count = await client.reindex(on_progress=tell)
            await client.ingest(OWLS)
            second = await client.stats("default")
            found = await client.retrieve("When does the tide turn?", k=1)

    assert (first.vectors, first.dimension) == (1, 32)
    assert (second.vectors, second.dimension) == (2, 64)
    assert count == 1
    assert told and told[-1].done == told[-1].total
    assert (found.degraded, found.chunks[0].chunk.source) == ("", "tides.md")
    assert not (tmp_path / "agent" / "agents" / agent.jid / "rag" / "chroma").exists()
