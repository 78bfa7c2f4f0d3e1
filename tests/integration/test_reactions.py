"""👍 and 👎 from a person's client: what becomes of them, and what /why says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.agents import Services
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import answer_to, eventually, jid_of

if TYPE_CHECKING:
    from spade_llm.agents import LLMAgent
    from tests.integration.network import Network
    from tests.xmpp.client import Client


def react(client: Client, agent: LLMAgent, emoji: str, *, to: str) -> None:
    inner = f"<reaction>{emoji}</reaction>" if emoji else ""
    client.send_raw(
        f"<message to='{jid_of(agent)}' type='chat'>"
        f"<reactions xmlns='urn:xmpp:reactions:0' id='{to}'>{inner}</reactions></message>"
    )


async def test_a_reaction_is_noted_for_the_answer_and_its_memories(network: Network) -> None:
    memory = await network.memory()
    model = ScriptedProvider(["The ferry leaves at six.", "And so on."])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada, eve = await network.person("ada"), await network.person("eve")
    kept = MemoryClient(assistant.node.requester, jid_of(memory))
    known = await kept.add(MemoryDraft(content="The ferry leaves at six.", subject=ada.bare))
    ada.send(jid_of(assistant), "When does the ferry leave?")
    answer = (await ada.received())["id"]

    async def confidence() -> float:
        return (await kept.peek([known.id]))[0].confidence

    async def is_explained() -> bool:
        why = await answer_to(ada, assistant, "/why")
        return "Your reaction: 👎; 1 of my memories count less since" in why

    async def counts_as_before() -> bool:
        return await confidence() == 1

    react(eve, assistant, "👎", to=answer)
    await eve.ping()
    react(ada, assistant, "👎", to=answer)
    await eventually(is_explained)
    less = await confidence()
    react(ada, assistant, "", to=answer)
    await eventually(counts_as_before)

    assert less < 1
    assert "Your reaction" not in await answer_to(ada, assistant, "/why")
    assert len(model.requests) == 1


async def test_a_correction_of_an_older_message_takes_no_answer_s_reactions(
    network: Network,
) -> None:
    memory = await network.memory()
    model = ScriptedProvider(["The ferry leaves at six.", "Hello.", "No idea."])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()
    kept = MemoryClient(assistant.node.requester, jid_of(memory))
    known = await kept.add(MemoryDraft(content="The ferry leaves at six.", subject=ada.bare))
    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='m1'>"
        "<body>When does the ferry leave?</body></message>"
    )
    answer = (await ada.received())["id"]
    await answer_to(ada, assistant, "hello")
    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='c1'><body>quantum chess?</body>"
        "<replace xmlns='urn:xmpp:message-correct:0' id='m1'/></message>"
    )
    assert (await ada.received())["body"] == "No idea."

    react(ada, assistant, "👎", to=answer)

    async def counts_less() -> bool:
        return (await kept.peek([known.id]))[0].confidence < 1

    await eventually(counts_less)


async def test_a_reaction_to_anything_else_is_answered_by_nothing(network: Network) -> None:
    model = ScriptedProvider(["hello"])
    assistant = await network.assistant(model)
    ada = await network.person()

    react(ada, assistant, "👍", to="never-sent")

    assert await answer_to(ada, assistant, "hi") == "hello"
