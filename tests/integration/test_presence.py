"""Who may see an agent's presence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slixmpp.stanza import Presence

from spade_llm.agents import ChatAgent
from tests.integration.network import WAIT_S, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network


async def answers_to_subscription(
    network: Network, asker: str, *, allowed: tuple[str, ...] = ()
) -> list[str]:
    """What an agent sends to this address, as if its server had brought the request."""
    jid = await network.account("assistant")
    agent = ChatAgent(jid, network.passwords[jid], options=network.options(jid, allowed=allowed))
    await network.start(agent)
    sent: list[str] = []

    def note(stanza: object) -> object:
        if isinstance(stanza, Presence) and stanza["to"] == asker:
            sent.append(stanza["type"])
        return stanza

    agent.client.add_filter("out", note)
    request = Presence(stream=agent.client)
    request["from"], request["type"] = asker, "subscribe"
    agent.client.event("presence_subscribe", request)
    await agent.client["xep_0199"].send_ping(agent.jid.domain, timeout=WAIT_S)
    return sent


async def test_the_own_domain_may_subscribe(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()

    await ada.xmpp.get_roster()
    ada.xmpp.send_presence_subscription(pto=jid_of(assistant))

    await ada.presence("subscribed", jid_of(assistant))
    await ada.presence("available", assistant.address)


async def test_an_agent_subscribes_to_its_subscribers(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()

    await ada.xmpp.get_roster()
    ada.xmpp.send_presence_subscription(pto=jid_of(assistant))

    await ada.presence("subscribe", jid_of(assistant))


async def test_a_stranger_is_declined(network: Network) -> None:
    assert await answers_to_subscription(network, "eve@elsewhere.example") == ["unsubscribed"]


async def test_subscriptions_of_allowed_jids_are_accepted(network: Network) -> None:
    for allowed in ("eve@elsewhere.example", "elsewhere.example", "*"):
        sent = await answers_to_subscription(network, "eve@elsewhere.example", allowed=(allowed,))
        assert sent[0] == "subscribed"
        assert "unsubscribed" not in sent


async def test_a_domain_on_the_list_does_not_admit_its_subdomains(network: Network) -> None:
    sent = await answers_to_subscription(
        network, "eve@deep.elsewhere.example", allowed=("elsewhere.example",)
    )

    assert sent == ["unsubscribed"]
