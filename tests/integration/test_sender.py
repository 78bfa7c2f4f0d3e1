"""What an agent writes as the sender of its stanzas: nothing, or its own JID. ejabberd closes a
stream for any other (RFC 6120 §4.9.3.9), Prosody and the embedded server put the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.integration.network import answer_to, jid_of
from tests.integration.test_profile import robbie

if TYPE_CHECKING:
    from tests.integration.network import Network


async def test_no_stanza_has_a_foreign_sender(network: Network) -> None:
    agent = await robbie(network)
    assert agent.connection is not None
    client = agent.connection.client
    sent: list[Any] = []

    def note(stanza: Any) -> Any:
        sent.append(stanza)
        return stanza

    client.add_filter("out", note)
    ada = await network.person()
    await client.ping(client.boundjid.host, 5.0)
    await client.ping(jid_of(agent), 5.0)
    await answer_to(ada, agent, "hello")

    assert len(sent) > 2
    assert {str(one["from"]) for one in sent} <= {"", agent.address, jid_of(agent)}
