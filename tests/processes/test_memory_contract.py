"""A memory in another process, behind a real Prosody: of its contract what depends on the server
and the process, that is who asks, text as XML, pages and many requests at once. The whole contract
over messages: tests/memory/test_remote_contract.py.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.agents import AgentOptions, ConnectionSettings, XmppAgent
from spade_llm.memory.remote import MemoryClient
from spade_llm.search.memory_query import MemoryFilter
from tests.cli.program import ROOT
from tests.memory.contract import (
    test_a_conversation_is_kept_verbatim_and_in_order,
    test_a_draft_out_of_bounds_is_refused_by_field,
    test_a_history_is_read_page_by_page,
    test_a_list_is_newest_first_and_comes_in_pages,
    test_a_new_entry_has_what_it_was_given,
    test_a_spanish_question_finds_the_fact_with_or_without_accents,
    test_owners_never_see_each_other,
    test_search_syntax_is_only_text,
    test_sixty_four_writers_lose_nothing,
)
from tests.memory.contract_changes import (
    test_a_bad_item_is_reported_by_its_index,
    test_a_draft_comes_back_whole,
    test_a_message_keeps_its_speaker_and_what_it_was_written_with,
    test_half_a_character_in_a_relation_is_refused_and_the_memory_goes_on,
    test_sixty_four_batches_with_failures_lose_nobodys_write,
)
from tests.memory.contract_relations import (
    test_an_unknown_owner_is_denied_like_one_who_granted_nothing,
    test_nothing_of_another_is_seen_without_a_grant,
    test_what_was_revoked_is_not_seen_any_more,
    test_who_was_granted_to_read_reads_and_does_not_write,
    test_who_was_granted_to_write_corrects_deletes_and_forgets,
    theirs,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory
    from tests.conftest import Provisioner

__all__ = [
    "test_a_bad_item_is_reported_by_its_index",
    "test_a_conversation_is_kept_verbatim_and_in_order",
    "test_a_draft_comes_back_whole",
    "test_a_draft_out_of_bounds_is_refused_by_field",
    "test_a_history_is_read_page_by_page",
    "test_a_list_is_newest_first_and_comes_in_pages",
    "test_a_message_keeps_its_speaker_and_what_it_was_written_with",
    "test_a_new_entry_has_what_it_was_given",
    "test_a_spanish_question_finds_the_fact_with_or_without_accents",
    "test_an_unknown_owner_is_denied_like_one_who_granted_nothing",
    "test_half_a_character_in_a_relation_is_refused_and_the_memory_goes_on",
    "test_nothing_of_another_is_seen_without_a_grant",
    "test_owners_never_see_each_other",
    "test_search_syntax_is_only_text",
    "test_sixty_four_batches_with_failures_lose_nobodys_write",
    "test_sixty_four_writers_lose_nothing",
    "test_what_was_revoked_is_not_seen_any_more",
    "test_who_was_granted_to_read_reads_and_does_not_write",
    "test_who_was_granted_to_write_corrects_deletes_and_forgets",
    "theirs",
]

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="session")]
READY_S = 30.0
CONVERSATIONS = ("c", "another")
"""Those of the tests above."""
AGENT = """
kind = "memory"
jid = "{jid}"
password_file = "password"
embeddings = "none"

[learning]
enabled = false

[server]
host = "{host}"
port = {port}
ca = "{ca}"
domain = "{domain}"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def memory(
    prosody: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The JID of a memory agent in a process of its own."""
    folder = tmp_path_factory.mktemp("memory")
    jid, password = await prosody.account("memory")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spade_llm.cli", "run", str(agent_file(folder, prosody, jid))),
        *("--data", str(folder), "--no-download"),
        stdin=DEVNULL,
        stdout=PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    async with asyncio.timeout(READY_S):
        while not (await process.stdout.readline()).startswith(b"ready"):
            assert not process.stdout.at_eof()
    yield jid
    process.terminate()
    await process.wait()


def agent_file(folder: Path, server: Provisioner, jid: str) -> Path:
    endpoint = server.endpoint
    text = AGENT.format(
        jid=jid, host=endpoint.host, port=endpoint.port, ca=endpoint.ca_path, domain=endpoint.domain
    )
    (folder / "agent.toml").write_text(text, encoding="utf-8")
    (folder / "password").write_text("correct horse", encoding="utf-8")
    return folder / "agent.toml"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def members(prosody: Provisioner) -> AsyncIterator[list[XmppAgent]]:
    """Two accounts that are logged in."""
    async with AsyncExitStack() as stack:
        names = ("assistant", "someone.else")
        yield list(await asyncio.gather(*(asker(name, prosody, stack) for name in names)))


@pytest_asyncio.fixture(loop_scope="session")
async def askers(members: list[XmppAgent], memory: str) -> list[XmppAgent]:
    """The two, with nothing in their memories."""
    stores = [MemoryClient(member.node.requester, memory) for member in members]
    await asyncio.gather(*(forget_everything(store) for store in stores))
    return members


async def forget_everything(store: MemoryClient) -> None:
    entries = (await store.list(MemoryFilter(with_invalid=True), limit=1000)).entries
    await store.forget([entry.id for entry in entries])
    for conversation in CONVERSATIONS:
        await store.forget_session(conversation)
    for grant in await store.grants():
        await store.revoke(grant.id)
    assert (await store.stats()).messages == 0


async def asker(name: str, prosody: Provisioner, stack: AsyncExitStack) -> XmppAgent:
    endpoint = prosody.endpoint
    connection = ConnectionSettings(
        host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path
    )
    jid, password = await prosody.account(name)
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    await agent.start()
    stack.push_async_callback(agent.stop)
    return agent


@pytest.fixture
def owner(askers: list[XmppAgent]) -> str:
    return str(askers[0].jid)


@pytest.fixture
def other(askers: list[XmppAgent]) -> str:
    return str(askers[1].jid)


@pytest.fixture
def store(askers: list[XmppAgent], memory: str) -> OwnedMemory:
    return MemoryClient(askers[0].node.requester, memory)


@pytest.fixture
def other_store(askers: list[XmppAgent], memory: str) -> OwnedMemory:
    return MemoryClient(askers[1].node.requester, memory)
