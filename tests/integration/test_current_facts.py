"""What a person said is outdated reaches no model as if it held, whichever way the request came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.turn.turn_options import ContextOptions
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers import ScriptedProvider
from spade_llm.providers.quoted_context import CONTEXT_NAME, QuotedMemory, read_context
from tests.integration.network import jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network

pytestmark = pytest.mark.server

EMBEDDED = pytest.mark.parametrize("server", ["embedded"], indirect=True)


def recalled_by(model: ScriptedProvider) -> list[QuotedMemory]:
    """Memories in the context of the latest request."""
    quoted = (one for one in model.requests[-1].messages if one.get("name") == CONTEXT_NAME)
    return [one for each in quoted for one in read_context(str(each["content"])).memories]


@EMBEDDED
@pytest.mark.parametrize(
    "context", [None, ContextOptions(), ContextOptions(use_memory=False)], ids=str
)
async def test_the_next_request_knows_the_former_home_as_former_only(
    network: Network, context: ContextOptions | None
) -> None:
    model = ScriptedProvider(["Nice.", "Good luck.", "In Valencia.", "In Madrid."])
    memory = await network.memory()
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))
    store = assistant.memory_behaviour.memory
    assert isinstance(store, MemoryClient)
    await store.add(MemoryDraft(content="The user lives in Madrid", subject=jid_of(program)))
    await client.say("I live in Madrid", conversation_id="old")
    await client.say("I moved to Valencia", conversation_id="new", context=context)
    await assistant.memory_behaviour.hand_over(jid_of(program))

    later = ContextOptions() if context else None
    await client.say("Which city do I live in?", conversation_id="later", context=later)
    now = recalled_by(model)
    await client.say("Where did I live before?", conversation_id="past", context=later)
    before = recalled_by(model)

    assert any("Valencia" in one.text for one in now)
    assert not any("Madrid" in one.text for one in now)
    assert any("Madrid" in one.text for one in before)
    assert all(one.until for one in before if "Madrid" in one.text)
