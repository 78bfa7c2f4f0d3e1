"""What people wrote while an agent was away, and another client of its account took."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.core.limits import Rate
from spade_llm.xmpp.admission_control import STRANGER, TOO_FAST, WELCOME, AdmissionPolicy
from spade_llm.xmpp.features import archive
from spade_llm.xmpp.invitations import Invitations
from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.conftest import Provisioner
from tests.integration.gated_model import GatedModel
from tests.integration.network import PATIENCE_S, answer_to, eventually, jid_of, next_message
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.agents import LLMAgent
    from tests.integration.network import Network

pytestmark = pytest.mark.server

REFUSE_ROWS = """CREATE TRIGGER full BEFORE INSERT ON requests
BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def archiving(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provisioner]:
    server = ProsodyServer(tmp_path_factory.mktemp("prosody"), has_archive=True)
    yield Provisioner(server=server, endpoint=await server.start())
    await server.stop()


@pytest.fixture
def server(archiving: Provisioner) -> Provisioner:
    return archiving


async def has_place(network: Network, agent: LLMAgent, person: Client) -> None:
    """Return once the agent knows up to where the archive concerns it no more."""
    name = jid_of(agent).partition("@")[0]

    async def is_there() -> bool:
        await person.ping()
        return (network.directory / name / f"archive-{name}.json").exists()

    await eventually(is_there)


async def said_elsewhere(network: Network, agent: LLMAgent, person: Client, *texts: str) -> None:
    """To another client of the agent's account, which shows it to nobody."""
    other = Client(jid_of(agent), network.passwords[jid_of(agent)])
    await other.log_in(network.server.endpoint)
    for text in texts:
        person.send(jid_of(agent), text)
        assert (await other.received())["body"] == text
    await other.close()


async def test_missed_messages_are_answered_once_and_in_order(network: Network) -> None:
    ada = await network.person()
    agent = await network.assistant()
    await has_place(network, agent, ada)
    assert await answer_to(ada, agent, "one") == "one"
    await agent.stop()
    await said_elsewhere(network, agent, ada, "two", "three")

    back = await network.assistant(jid=jid_of(agent))
    answers = [str((await next_message(ada))["body"]) for _ in range(2)]
    await back.stop()
    again = await network.assistant(jid=jid_of(agent))

    assert answers == ["two", "three"]
    assert await answer_to(ada, again, "four") == "four"
    assert ada.waiting() == []


async def test_what_was_refused_on_a_full_disk_is_not_run_after_a_reconnection(
    network: Network,
) -> None:
    ada = await network.person()
    agent = await network.assistant()
    await has_place(network, agent, ada)
    assert await answer_to(ada, agent, "one") == "one"
    name = jid_of(agent).partition("@")[0]
    folder = network.directory / name
    blocked = folder / f"archive-{name}.new"
    blocked.mkdir()
    with closing(sqlite3.connect(folder / f"answers-{name}.db")) as log, log:
        log.execute(REFUSE_ROWS)
    assert "cannot save" in await answer_to(ada, agent, "two")
    with closing(sqlite3.connect(folder / f"answers-{name}.db")) as log, log:
        log.execute("DROP TRIGGER full")
    blocked.rmdir()

    # The end of the stream, so that the next one is no resumption.
    sessions = asyncio.Event()
    agent.on_session.append(sessions.set)
    await agent.client.disconnect()
    await asyncio.wait_for(sessions.wait(), PATIENCE_S)

    assert await answer_to(ada, agent, "three") == "three"
    assert ada.waiting() == []
    with closing(sqlite3.connect(folder / f"answers-{name}.db")) as log:
        # "one" and "three".
        assert log.execute("SELECT count(*) FROM requests").fetchone() == (2,)


async def test_an_agent_that_is_new_to_an_account_answers_nothing_old(network: Network) -> None:
    ada = await network.person()
    jid = await network.account("assistant")
    other = Client(jid, network.passwords[jid])
    await other.log_in(network.server.endpoint)
    ada.send(jid, "an old question")
    await other.received()
    await other.close()

    agent = await network.assistant(jid=jid)
    await has_place(network, agent, ada)

    assert await answer_to(ada, agent, "a new one") == "a new one"
    assert ada.waiting() == []


async def test_messages_with_a_no_store_hint_or_for_programs_are_not_answered_later(
    network: Network,
) -> None:
    ada = await network.person()
    agent = await network.assistant()
    await has_place(network, agent, ada)
    await agent.stop()
    other = Client(jid_of(agent), network.passwords[jid_of(agent)])
    await other.log_in(network.server.endpoint)
    to = f"to='{jid_of(agent)}' type='chat'"
    acl = "<acl xmlns='urn:spade-llm:acl:1' performative='request' ontology='text'/>"
    ada.send_raw(f"<message {to} id='1'><body>1</body><no-store xmlns='urn:xmpp:hints'/></message>")
    ada.send_raw(f"<message {to} id='2'><body>2</body>{acl}</message>")
    ada.send_raw(f"<message {to} id='3'><body>3</body></message>")
    for _ in range(3):
        await other.received()
    await other.close()

    await network.assistant(jid=jid_of(agent))

    assert str((await next_message(ada))["body"]) == "3"
    assert ada.waiting() == []


async def test_messages_refused_by_admission_are_not_read_from_the_archive(
    network: Network,
) -> None:
    eve = await network.person("eve")
    door = AdmissionPolicy(allow=("nobody@localhost",), guest_talk=Rate(per_s=0.001, burst=1))
    agent = await network.assistant(admission=door)
    await has_place(network, agent, eve)
    name = jid_of(agent).partition("@")[0]
    async with Invitations(network.directory / name / f"admission-{name}.db") as invitations:
        code = await invitations.make(uses=2, lasts_s=600.0)
        assert await answer_to(eve, agent, f"/join {code}") == WELCOME
        assert await answer_to(eve, agent, "one") == "one"
        eve.send(jid_of(agent), "too much")
        assert (await eve.error())["error"]["text"] == TOO_FAST
        await invitations.revoke(eve.bare)
        await agent.stop()
        back = await network.assistant(jid=jid_of(agent), admission=door)

        assert await answer_to(eve, back, "two") == STRANGER
        assert await invitations.guests() == []
    assert eve.waiting() == []


async def test_a_flood_of_missed_messages_does_not_hide_those_of_others(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_PER_SENDER", 2)
    monkeypatch.setattr(archive, "MAX_MESSAGES", 3)
    eve, ada = await network.person("eve"), await network.person()
    agent = await network.assistant()
    await has_place(network, agent, ada)
    await agent.stop()
    await said_elsewhere(network, agent, eve, *(f"flood {number}" for number in range(5)))
    await said_elsewhere(network, agent, ada, "and me?")

    back = await network.assistant(jid=jid_of(agent))

    assert str((await next_message(ada))["body"]) == "and me?"
    assert await answer_to(ada, back, "thanks") == "thanks"
    assert [str((await next_message(eve))["body"]) for _ in range(2)] == ["flood 0", "flood 1"]
    await eve.ping()
    assert eve.waiting() == []


async def test_catching_up_resumes_after_a_kill(network: Network) -> None:
    ada = await network.person()
    agent = await network.assistant()
    await has_place(network, agent, ada)
    await agent.stop()
    await said_elsewhere(network, agent, ada, "one", "wait, two", "three")
    model = GatedModel()
    killed = await network.assistant(model, jid=jid_of(agent))
    await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)
    assert killed.connection is not None
    assert killed.connection._keeper is not None
    killed.connection._keeper.cancel()
    killed.client.abort()
    await asyncio.sleep(0)

    back = await network.assistant(jid=jid_of(agent))
    said: dict[str, str] = {}
    while len(said) < 3:
        message = await next_message(ada)
        said.setdefault(str(message["id"]), str(message["body"]))

    model.gate.set()

    assert list(said.values()) == ["one", "wait, two", "three"]
    assert await answer_to(ada, back, "four") == "four"
