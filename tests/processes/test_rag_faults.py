"""Files that are not what they say, and an embedder that goes away, met by message."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused
from spade_llm.rag import Document
from tests.openai_server import running_server
from tests.processes.rag_process import rag_process
from tests.rag.files import with_part, write_docx

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from tests.conftest import Provisioner

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]
GIGABYTE = 1 << 30
EMBEDDINGS = """
[embeddings]
kind = "openai_compatible"
base_url = "{url}"
model = "words"
"""


async def test_a_batch_of_bad_files_says_what_was_left_out_and_takes_the_rest(
    prosody: Provisioner, tmp_path: Path
) -> None:
    async with rag_process(tmp_path, prosody) as agent, agent.asker("reader") as client:
        folder = agent.folder_of("mixed", {"good.md": "Herons fish.", "also.txt": "Owls hunt."})
        (agent.documents / "empty").mkdir()
        await asyncio.to_thread(make_bad_files, folder)

        report = await client.add_path("mixed")
        found = await client.retrieve("herons owls", k=20)
        empty = await refusal(client.add_path("empty"))
        elsewhere = await refusal(client.add_path("mixed", namespace="../x"))
        names = [one.name for one in await client.namespaces()]

    left_out = {one.source: one.left_out for one in report.documents if one.left_out}
    assert set(left_out) == {f"mixed/{name}" for name in BAD}
    for name, word in BAD.items():
        assert word in left_out[f"mixed/{name}"], left_out
    assert (report.total, report.added, report.left_out) == (len(BAD) + 2, 2, len(BAD))
    assert {one.chunk.source for one in found.chunks} == {"mixed/good.md", "mixed/also.txt"}
    assert "empty" in empty
    assert "namespace '../x'" in elsewhere
    assert names == ["default"]


BAD = {"latin.txt": "UTF-8", "huge.txt": "bytes", "torn.pdf": "PDF", "bomb.docx": "zip bomb"}
"""And a word of each reason."""


def make_bad_files(folder: Path) -> None:
    (folder / "latin.txt").write_bytes(b"caf\xe9 au lait")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(GIGABYTE)
    (folder / "torn.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    write_docx(folder / "bomb.docx", "T", {"One": "x"})
    with_part(folder / "bomb.docx", "word/document.xml", b"<a>" + b" " * 61_000_000 + b"</a>")


async def refusal(asked: Awaitable[object]) -> str:
    with pytest.raises(RequestRefused) as refused:
        await asked
    assert refused.value.wire_code == "invalid-arguments"
    return str(refused.value)


async def test_without_its_embedder_it_finds_by_words_and_says_so(
    prosody: Provisioner, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(running_server())
        rest = EMBEDDINGS.format(url=model.base_url)
        async with rag_process(tmp_path, prosody, rest=rest) as agent, agent.asker("ann") as client:
            await client.ingest(Document(text="The tide turns at noon.", source="tides.md"))
            whole = await client.retrieve("When does the tide turn?")
            await stack.aclose()
            poor = await client.retrieve("The tide turns when?")
            late = await client.ingest(Document(text="Herons fish at dawn.", source="herons.md"))
            found = await client.retrieve("herons dawn")

    assert (whole.degraded, len(whole.chunks)) == ("", 1)
    assert "keywords" in poor.degraded
    assert [one.chunk.source for one in poor.chunks] == ["tides.md"]
    assert late.chunks == 1
    assert [one.chunk.source for one in found.chunks] == ["herons.md"]
