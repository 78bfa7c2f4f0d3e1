"""Owners of one RAG agent, in a process of its own: apart, until one lets another in."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.core.errors import RequestRefused
from spade_llm.rag import Access, Document, RetrievalOptions
from tests.processes.rag_process import RagProcess, connected, rag_process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.rag import Retrieval
    from spade_llm.rag.remote import RagClient
    from tests.conftest import Provisioner

pytestmark = pytest.mark.server
MINE = Document(text="The vault code is amber.", source="notes.md", namespace="house")
THEIRS = Document(text="The vault code is cobalt.", source="notes.md", namespace="house")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def agent(
    prosody: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RagProcess]:
    async with rag_process(tmp_path_factory.mktemp("rag"), prosody) as agent:
        yield agent


class People:
    """Ann, whose documents are asked for, and two others."""

    def __init__(self, ann_jid: str, bob_jid: str, *clients: RagClient) -> None:
        self.ann_jid, self.bob_jid = ann_jid, bob_jid
        self.ann, self.bob, self.eve = clients

    @property
    def house(self) -> str:
        """As others address it."""
        return f"{self.ann_jid}/house"

    async def asks(self, client: RagClient) -> Retrieval:
        wanted = RetrievalOptions(namespaces=(self.house,))
        return await client.retrieve("vault code", options=wanted)

    async def is_refused(self, client: RagClient) -> None:
        with pytest.raises(RequestRefused) as refused:
            await self.asks(client)
        assert refused.value.wire_code == "unauthorised"


@pytest.fixture
async def people(agent: RagProcess) -> AsyncIterator[People]:
    from spade_llm.rag.remote import RagClient

    async with AsyncExitStack() as stack:
        names = ("ann", "bob", "eve")
        askers = [await stack.enter_async_context(connected(agent.server, name)) for name in names]
        clients = [RagClient(one.node.requester, agent.jid) for one in askers]
        yield People(str(askers[0].jid.bare), str(askers[1].jid.bare), *clients)


async def test_the_same_file_and_namespace_of_two_owners_are_two(people: People) -> None:
    await people.ann.ingest(MINE)
    await people.bob.ingest(THEIRS)

    for client, mine, other in ((people.ann, "amber", "cobalt"), (people.bob, "cobalt", "amber")):
        found = await client.retrieve(f"vault code {other}", k=20)
        assert [one.chunk.text for one in found.chunks] == [f"The vault code is {mine}."]
        assert [one.documents for one in await client.namespaces()] == [1]
    await people.bob.delete(namespace="house")
    assert len((await people.ann.retrieve("vault code")).chunks) == 1


async def test_a_stranger_is_refused(people: People) -> None:
    await people.ann.ingest(MINE)

    await people.is_refused(people.eve)
    for asked in (
        people.eve.ingest(Document(text="x", source="x", namespace=people.house)),
        people.eve.delete(namespace=people.house),
        people.eve.documents(namespace=people.house),
        people.eve.add_path("some", namespace=people.house),
    ):
        with pytest.raises(RequestRefused) as refused:
            await asked
        assert refused.value.wire_code == "unauthorised"


async def test_a_grant_lets_one_read_until_it_is_revoked(people: People) -> None:
    await people.ann.ingest(MINE)
    await people.ann.grant("house", to=people.bob_jid)

    found = await people.asks(people.bob)
    everything = await people.bob.retrieve("vault code")
    await people.is_refused(people.eve)
    with pytest.raises(RequestRefused):
        await people.bob.ingest(Document(text="x", source="x", namespace=people.house))
    granted = [(one.namespace, one.to, one.access) for one in await people.ann.grants()]
    was_there = await people.ann.revoke("house", to=people.bob_jid)

    assert [one.chunk.namespace for one in found.chunks] == [people.house]
    assert len(everything.chunks) == 1
    assert granted == [("house", people.bob_jid, Access.READ)]
    assert was_there
    await people.is_refused(people.bob)


async def test_a_domain_may_be_let_in_to_write(people: People) -> None:
    await people.ann.ingest(MINE)
    await people.ann.grant("house", to=people.ann_jid.partition("@")[2], access=Access.WRITE)

    added = Document(text="Owls hunt.", source="owls.md", namespace=people.house)
    done = await people.eve.ingest(added)
    found = await people.ann.retrieve("owls hunt")

    assert done.namespace == people.house
    assert [one.chunk.namespace for one in found.chunks] == ["house"]
    assert [one.name for one in await people.bob.namespaces()] == [people.house]
