"""What services keep for the users of a gateway is each user's, in the store and in the log."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.remote import MemoryClient, MemoryService
from spade_llm.memory.remote_endpoint import ONTOLOGY
from spade_llm.messaging import (
    InMemoryNetwork,
    OutgoingRequest,
    Performative,
    PersistentAnswerLog,
    PrincipalRequester,
)
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.remote import RagClient, RagService
from spade_llm.search.memory_query import MemoryQuery
from tests.messaging.node_harness import Member, network_of
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SERVICE, GATEWAY = "service@home/1", "gateway@home/1"
ANA, BOB = "ana@home", "bob@home"
ID = "8a6e7d3c-1f0b-4d52-9c7e-5f4b0c7b6a11"


@asynccontextmanager
async def remembering(folder: Path) -> AsyncIterator[Member]:
    """The gateway of a memory whose answers are kept in a file."""
    network = InMemoryNetwork()
    async with (
        SQLiteMemoryBackend(folder / "memory.db") as backend,
        PersistentAnswerLog(folder / "answers.db") as log,
    ):
        memory = Member(network=network, jid=SERVICE, log=log)
        gateway = Member(network=network, jid=GATEWAY)
        memory.node.dispatcher.gateways = frozenset({"gateway@home"})
        MemoryService(backend).attach(memory.node.dispatcher)
        yield gateway
        for member in (gateway, memory):
            await member.node.close(patience_s=0)


def memory_of(gateway: Member, principal: str) -> MemoryClient:
    return MemoryClient(PrincipalRequester(gateway.node.requester, principal), SERVICE)


async def test_each_principal_s_memory_is_theirs_in_every_way_to_reach_it(tmp_path: Path) -> None:
    async with remembering(tmp_path) as gateway:
        ana, bob = memory_of(gateway, ANA), memory_of(gateway, BOB)
        own = MemoryClient(gateway.node.requester, SERVICE)
        entry = await ana.add(MemoryDraft(content="the code is 77", subject=ANA), key=ID)
        # The same text under the same request id: another's.
        his = await bob.add(MemoryDraft(content="the code is 77", subject=ANA), key=ID)

        for other in (bob, own):
            with pytest.raises(RequestRefused):
                await other.get(entry.id)
            found = await other.search(MemoryQuery(text="code"))
            assert entry.id not in [hit.entry.id for hit in found.hits]
        again = await ana.add(MemoryDraft(content="the code is 77", subject=ANA), key=ID)

    assert (entry.owner, his.owner) == (ANA, BOB)
    assert entry.id != his.id
    assert again.id == entry.id


async def test_data_that_a_principal_deleted_leaves_no_bytes_in_the_log(tmp_path: Path) -> None:
    async with remembering(tmp_path) as gateway:
        ana, bob = memory_of(gateway, ANA), memory_of(gateway, BOB)
        await ana.add(MemoryDraft(content="swordfish", subject=ANA))
        await bob.add(MemoryDraft(content="herring", subject=ANA))

        assert await ana.forget_subject(ANA) == 1
        left = bytes_of(tmp_path)

    assert b"swordfish" not in left
    assert b"herring" in left


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("answers.db*"))


async def test_a_body_s_owner_is_the_principal_or_refused(tmp_path: Path) -> None:
    async with remembering(tmp_path) as gateway:

        def owned(owner: str) -> OutgoingRequest:
            content = f'{{"op":"list","which":{{"owner":"{owner}"}}}}'
            return OutgoingRequest(peer=SERVICE, ontology=ONTOLOGY, content=content)

        ask = PrincipalRequester(gateway.node.requester, ANA).ask
        assert (await ask(owned(ANA), timeout_s=5)).performative is Performative.INFORM
        for other in (BOB, "gateway@home"):
            with pytest.raises(RequestRefused, match="owner"):
                await ask(owned(other), timeout_s=5)


async def test_a_library_is_each_principal_s_own(tmp_path: Path) -> None:
    async with (
        DocumentLibrary(tmp_path, embedder=BagOfWords(), roots=[]) as library,
        network_of(SERVICE, GATEWAY) as (rag, gateway),
    ):
        rag.node.dispatcher.gateways = frozenset({"gateway@home"})
        RagService(library).attach(rag.node.dispatcher)
        ana, bob = (
            RagClient(PrincipalRequester(gateway.node.requester, one), SERVICE)
            for one in (ANA, BOB)
        )
        own = RagClient(gateway.node.requester, SERVICE)
        same = [Document(text=f"The tide of {who}.", source="tide.md") for who in ("Ana", "Bob")]
        await ana.ingest(same[0])
        await bob.ingest(same[1])

        texts = [
            [hit.chunk.text for hit in (await one.retrieve("tide")).chunks]
            for one in (ana, bob, own)
        ]
        await bob.delete(namespace="default")

        assert texts == [["The tide of Ana."], ["The tide of Bob."], []]
        assert (await ana.stats("default")).documents == 1
        with pytest.raises(RequestRefused):
            await bob.documents(namespace=f"{ANA}/default")
