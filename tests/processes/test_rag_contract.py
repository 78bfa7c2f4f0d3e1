"""A library in another process, behind a real Prosody: of its contract what depends on the server
and the process, that is who asks, files, progress, text as XML and pages. The whole contract over
messages: tests/rag/test_remote_contract.py.
"""

from __future__ import annotations

import shutil
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.rag.remote import RagClient
from tests.processes.rag_process import RagProcess, connected, rag_process
from tests.rag import contract, contract_catalogue
from tests.rag.contract import LibraryCase
from tests.rag.contract_catalogue import CatalogueCase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.conftest import Provisioner

pytestmark = pytest.mark.server

PROMISES = (
    contract.what_was_ingested_is_found_with_its_source,
    contract.two_owners_with_the_same_names_never_see_each_other,
    contract.a_folder_is_ingested_and_tells_what_was_left_out,
    contract.the_last_progress_of_a_folder_says_that_all_is_done,
    contract.a_path_outside_the_roots_is_refused,
    contract.any_text_is_a_question,
)
CATALOGUE_PROMISES = (
    contract_catalogue.documents_are_listed_page_by_page,
    contract_catalogue.who_may_read_finds_what_was_granted_under_its_address,
    contract_catalogue.who_may_read_may_not_write,
    contract_catalogue.who_may_write_may_not_do_what_is_the_owners,
    contract_catalogue.a_revoked_grant_holds_no_longer,
    contract_catalogue.a_domain_can_be_let_in,
    contract_catalogue.what_is_not_there_and_what_is_not_ours_look_alike,
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def agent(
    prosody: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RagProcess]:
    async with rag_process(tmp_path_factory.mktemp("rag"), prosody) as agent:
        yield agent


@pytest.fixture
async def case(agent: RagProcess) -> AsyncIterator[LibraryCase]:
    for left in agent.documents.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    async with AsyncExitStack() as stack:
        mine = await stack.enter_async_context(agent.asker("ann"))
        others = await stack.enter_async_context(agent.asker("bob"))
        yield LibraryCase(mine=mine, others=others, root=agent.documents)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_a_library_in_another_process_keeps(
    promise: Callable[[LibraryCase], Awaitable[None]], case: LibraryCase
) -> None:
    await promise(case)


@pytest.fixture
async def whole(agent: RagProcess) -> AsyncIterator[CatalogueCase]:
    async with connected(agent.server, "ann") as ann, connected(agent.server, "bob") as bob:
        clients = [RagClient(one.node.requester, agent.jid) for one in (ann, bob)]
        yield CatalogueCase(
            mine=clients[0],
            others=clients[1],
            mine_jid=ann.jid.bare,
            others_jid=bob.jid.bare,
            has_embeddings=False,
        )
        for client in clients:
            await delete_all(client)


async def delete_all(client: RagClient) -> None:
    """What is granted to the whole domain would be seen by the next test."""
    for one in await client.namespaces():
        if "/" not in one.name:
            await client.delete(namespace=one.name)


@pytest.mark.parametrize("promise", CATALOGUE_PROMISES, ids=lambda promise: promise.__name__)
async def test_a_catalogue_in_another_process_keeps(
    promise: Callable[[CatalogueCase], Awaitable[None]],
    whole: CatalogueCase,
) -> None:
    await promise(whole)
