"""What was forgotten is in no file of the memory agent any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from tests.integration.network import answer_to, eventually, jid_of
from tests.memory.contract import said

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agents import MemoryAgent
    from tests.integration.network import Network


async def gone(memory: MemoryAgent, client: MemoryClient, secret: str) -> None:
    data = memory.options.data
    assert data is not None

    async def is_gone() -> bool:
        await client.stats()
        return not any(secret in _bytes(path) for path in _files(data))

    await eventually(is_gone)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _bytes(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


async def test_a_forgotten_memory_leaves_no_bytes(network: Network) -> None:
    memory = await network.memory()
    program = await network.program()
    client = MemoryClient(program.node.requester, jid_of(memory))
    draft = MemoryDraft(content="the code is swordfish", subject="ada@x", session="s")
    one, two, three = [await client.add(draft, merge=False) for _ in range(3)]
    await client.observe("s", [said("1", "swordfish, I said")], subject="ada@x")

    await client.forget([one.id])
    await client.forget_session("s")
    await client.forget_subject("ada@x")

    assert len(await client.peek([one.id, two.id, three.id])) == 0
    await gone(memory, client, "swordfish")


async def test_deleted_data_leaves_no_bytes(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    program = await network.program()
    client = MemoryClient(program.node.requester, jid_of(memory))
    await client.add(MemoryDraft(content="the code is swordfish", subject=ada.bare))
    await client.observe("s", [said("1", "swordfish, I said")], subject=ada.bare)

    assert "swordfish" in await answer_to(ada, memory, "/memories")
    # What was learned of it by then goes along.
    assert "Forgotten: " in await answer_to(ada, memory, "/forget all yes")

    await gone(memory, client, "swordfish")


async def test_a_request_is_not_repeated_after_its_answer_was_deleted(
    network: Network,
) -> None:
    memory = await network.memory()
    program = await network.program()
    client = MemoryClient(program.node.requester, jid_of(memory))
    kept = await client.add(MemoryDraft(content="kept"), key="k1")
    entry = await client.add(MemoryDraft(content="swordfish"), key="k2")

    await client.forget([entry.id])

    assert await client.add(MemoryDraft(content="kept"), key="k1") == kept
