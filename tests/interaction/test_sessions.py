"""What an assistant says of its sessions: each asker sees, searches and clears their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.agent import Services
from spade_llm.runtime import SpeakingFor
from spade_llm.services.chat import ChatClient
from spade_llm.services.sessions import SessionsClient
from tests.interaction.gated_model import GatedModel
from tests.interaction.network import jid_of

if TYPE_CHECKING:
    from spade_llm.agent import ChatAgent, LLMAgent
    from tests.interaction.network import Network


class Asker:
    """A principal of a gateway."""

    def __init__(self, gateway: ChatAgent, assistant: LLMAgent, principal: str) -> None:
        asks = SpeakingFor(gateway.node.requester, principal)
        self.jid = principal
        self.chat = ChatClient(asks, jid_of(assistant))
        self.sessions = SessionsClient(asks, jid_of(assistant))


async def _started(
    network: Network, model: GatedModel | None = None, *, has_memory: bool = True
) -> tuple[LLMAgent, ChatAgent]:
    gateway = await network.program("gateway")
    network.gateways = (jid_of(gateway),)
    services = Services(memory=jid_of(await network.memory())) if has_memory else None
    return await network.assistant(model or GatedModel(), services=services), gateway


def _contents(messages: object) -> list[str]:
    return [one.content for one in messages]  # type: ignore[attr-defined]


async def test_what_was_just_said_is_shown_counted_and_found_by_its_asker_alone(
    network: Network,
) -> None:
    assistant, gateway = await _started(network)
    ada = Asker(gateway, assistant, "ada@principals")
    bob = Asker(gateway, assistant, "bob@principals")

    await ada.chat.say("My boat is called Isolde", conversation_id="s")
    history = await ada.sessions.history("s")
    found = await ada.sessions.search("How is the boat called?")

    assert (history.session_id, history.total_count) == ("s", 2)
    assert history.messages[0].content == "My boat is called Isolde"
    assert found.results[0].session_id == "s"
    assert "Isolde" in await ada.sessions.retrieve("boat", detail_limit=5)
    assert (await ada.sessions.stats("s")).messages == 2
    assert "Isolde" in (await ada.sessions.context("s")).context_text

    for name in ("s", f"{ada.jid}#s"):
        assert (await bob.sessions.history(name)).total_count == 0
        assert (await bob.sessions.clear(name)).messages == 0
    assert (await bob.sessions.search("How is the boat called?")).results == ()
    assert (await ada.sessions.stats("s")).messages == 2
