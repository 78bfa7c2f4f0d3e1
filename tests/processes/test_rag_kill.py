"""A RAG agent that is killed while it takes documents in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.processes.rag_process import rag_process

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.rag import Progress
    from tests.conftest import Provisioner

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]
COUNT = 500
DONE_S = 60.0
REST = "Behind it is a corridor with a lamp, a chair and a window towards the harbour. " * 11
"""Makes each of them one full chunk, so that all together take seconds."""


async def test_documents_are_all_there_once_after_a_kill_and_the_asker_is_answered(
    prosody: Provisioner, tmp_path: Path
) -> None:
    begun = asyncio.Event()

    async def tell(progress: Progress) -> None:
        if progress.done >= COUNT // 10:
            begun.set()

    async with rag_process(tmp_path, prosody, rest='embeddings = "installed"') as agent:
        texts = {f"n{n:03}.md": f"The code of door{n} is zulu{n}. {REST}" for n in range(COUNT)}
        agent.folder_of("doors", texts)
        async with agent.asker("reader") as client:
            asked = asyncio.create_task(client.add_path("doors", id="r1", on_progress=tell))
            async with asyncio.timeout(DONE_S):
                await begun.wait()
            await agent.kill()
            was_done = asked.done()
            await agent.start()
            async with asyncio.timeout(DONE_S):
                report = await asked
            again = await client.add_path("doors", id="r1")
            stats = await client.stats("default")
            page = await client.documents(limit=1000)
            found = (await client.retrieve("door123", k=20)).chunks

    assert not was_done
    assert (report.total, report.added + report.unchanged) == (COUNT, COUNT)
    assert again == report
    assert sorted(one.source for one in page.documents) == [f"doors/{name}" for name in texts]
    assert (stats.documents, stats.chunks) == (COUNT, COUNT)
    assert stats.vectors in (0, COUNT)
    assert [one.chunk.source for one in found].count("doors/n123.md") == 1
