"""What people's clients see of an agent: card, picture, software, time, status; and who sees it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.agents import LLMAgent
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.xmpp.stanzas.vcard import Identity, default_avatar, read_avatar
from tests.integration.gated_model import GatedModel
from tests.integration.network import WAIT_S, eventually, jid_of

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.providers.model import ChatModel
    from tests.integration.network import Network
    from tests.xmpp.client import Client

AVATAR = read_avatar(default_avatar("assistant", "assistant@localhost"))
ROBBIE = Identity(name="Robbie", description="A machine.", avatar=AVATAR, status_every_s=0.05)
PUBSUB = "{http://jabber.org/protocol/pubsub}"


async def robbie(
    network: Network,
    identity: Identity = ROBBIE,
    *,
    model: ChatModel | None = None,
    jid: str = "",
    allowed: tuple[str, ...] = (),
) -> LLMAgent:
    jid = jid or await network.account("assistant")
    options = replace(network.options(jid, allowed=allowed), identity=identity)
    model = model or ScriptedProvider.echo()
    return await network.start(LLMAgent(jid, network.passwords[jid], model, options=options))


async def asked(client: Client, to: str, query: str) -> Any:
    """The answer to an iq get, as XML."""
    id = client.xmpp.new_id()
    answer = client.expect_iq(id)
    client.send_raw(f"<iq type='get' id='{id}' to='{to}'>{query}</iq>")
    return (await answer).xml


async def subscribed(client: Client, agent: LLMAgent) -> Any:
    """The agent's first presence."""
    await client.xmpp.get_roster()
    client.xmpp.send_presence_subscription(pto=jid_of(agent))
    return await client.presence("available", agent.address)


async def item_at(client: Client, agent: LLMAgent, node: str) -> Any:
    items = f"<pubsub xmlns='{PUBSUB[1:-1]}'><items node='{node}'/></pubsub>"
    answer = await asked(client, jid_of(agent), items)
    item = answer.find(f"{PUBSUB}pubsub/{PUBSUB}items/{PUBSUB}item")
    return item if item is not None and len(item) else None


@pytest.mark.parametrize("server", ["prosody"], indirect=True)
@pytest.mark.server
async def test_a_contact_has_a_name_a_card_and_a_picture(network: Network) -> None:
    agent, ada = await robbie(network), await network.person()

    async def has_picture() -> bool:
        return await item_at(ada, agent, "http://jabber.org/protocol/nick") is not None

    await eventually(has_picture)

    card = (await asked(ada, jid_of(agent), "<vCard xmlns='vcard-temp'/>"))[0]
    assert card.findtext("{vcard-temp}FN") == "Robbie"
    assert "A machine." in card.itertext()
    assert card.findtext("{vcard-temp}PHOTO/{vcard-temp}BINVAL") == AVATAR.base64
    metadata = await item_at(ada, agent, "urn:xmpp:avatar:metadata")
    assert metadata.get("id") == AVATAR.hash
    data = await item_at(ada, agent, "urn:xmpp:avatar:data")
    assert data[0].text == AVATAR.base64
    vcard4 = await item_at(ada, agent, "urn:xmpp:vcard4")
    assert "Robbie" in "".join(vcard4.itertext())


@pytest.mark.parametrize("server", ["prosody"], indirect=True)
@pytest.mark.server
async def test_an_unchanged_profile_is_not_published_again(network: Network) -> None:
    first = await robbie(network)
    ada = await network.person()

    async def has_card() -> bool:
        return await item_at(ada, first, "http://jabber.org/protocol/nick") is not None

    await eventually(has_card)
    await first.stop()

    jid = jid_of(first)
    options = replace(network.options(jid), identity=ROBBIE)
    again = LLMAgent(jid, network.passwords[jid], ScriptedProvider.echo(), options=options)
    sets: list[str] = []
    asked_last = asyncio.Event()

    def note(stanza: Any) -> Any:
        if stanza.name == "iq" and stanza["type"] == "set":
            sets.extend(child.tag for child in stanza.xml)
        if "http://jabber.org/protocol/nick" in str(stanza):
            asked_last.set()
        return stanza

    again.on_client.append(lambda client: client.add_filter("out", note))
    await network.start(again)
    await asyncio.wait_for(asked_last.wait(), WAIT_S)
    await again.client["xep_0199"].send_ping(again.jid.domain, timeout=WAIT_S)

    assert not [tag for tag in sets if "vcard" in tag or "pubsub" in tag]


async def test_its_software_and_its_time_are_told_and_not_its_system(network: Network) -> None:
    agent, ada = await robbie(network), await network.person()

    software = (await asked(ada, agent.address, "<query xmlns='jabber:iq:version'/>"))[0]
    time = (await asked(ada, agent.address, "<time xmlns='urn:xmpp:time'/>"))[0]
    said = await (await network.program()).discover(agent.address)

    assert software.findtext("{jabber:iq:version}name") == "spade-llm-agents"
    assert not software.findtext("{jabber:iq:version}os")
    assert time.findtext("{urn:xmpp:time}utc")
    assert {"jabber:iq:version", "urn:xmpp:time"} <= said.features
    assert said.name == "Robbie"


async def test_the_status_line_names_the_model_and_its_load(network: Network) -> None:
    model = GatedModel()
    agent = await robbie(network, replace(ROBBIE, busy_at=1), model=model)
    ada = await network.person()
    first = await subscribed(ada, agent)

    ada.send(jid_of(agent), "wait for it")
    saturated = await ada.presence("dnd", agent.address)
    model.gate.set()
    after = await ada.presence("available", agent.address)

    assert first["status"] == f"{model.name} · ready"
    assert saturated["status"].startswith(f"{model.name} · working to capacity")
    assert after["status"] == first["status"]


async def test_a_presence_names_the_picture_by_its_hash(network: Network) -> None:
    agent, ada = await robbie(network), await network.person()

    presence = await subscribed(ada, agent)

    photo = presence.xml.find("{vcard-temp:x:update}x/{vcard-temp:x:update}photo")
    assert photo.text == AVATAR.hash


@pytest.mark.parametrize("server", ["prosody"], indirect=True)
@pytest.mark.server
async def test_revoked_contacts_are_notified_and_lose_access(
    network: Network,
) -> None:
    agent, ada = await robbie(network), await network.person()
    await subscribed(ada, agent)
    await agent.stop()
    await ada.presence("unavailable", agent.address)

    jid = jid_of(agent)
    options = replace(network.options(jid), identity=ROBBIE)
    stricter = LLMAgent(jid, network.passwords[jid], ScriptedProvider.echo(), options=options)
    stricter.roster.allowed = frozenset()
    await network.start(stricter)
    await ada.presence("unsubscribed", jid)
    ada.xmpp.send_presence(pto=jid, ptype="probe")
    await ada.ping()

    waiting = [ada.presences.get_nowait() for _ in range(ada.presences.qsize())]
    assert [one["type"] for one in waiting if one["from"].full == stricter.address] in (
        [],
        ["unavailable"],
    )


async def test_an_account_that_is_a_person_s_keeps_its_card_and_contacts(network: Network) -> None:
    program, ada = await network.program(), await network.person()

    await ada.xmpp.get_roster()
    ada.xmpp.send_presence_subscription(pto=jid_of(program))
    presence = await ada.presence("available", program.address)

    card = await asked(ada, jid_of(program), "<vCard xmlns='vcard-temp'/>")
    assert card.find("{vcard-temp}vCard/{vcard-temp}FN") is None
    assert not presence["status"]


async def test_a_second_process_of_the_account_in_another_folder_is_said(
    network: Network, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = await robbie(network)
    elsewhere = replace(network, directory=tmp_path / "elsewhere")
    elsewhere.directory.mkdir()
    said = asyncio.Event()
    caplog.handler.addFilter(lambda record: _set_if(said, "another process" in record.getMessage()))

    second = await robbie(elsewhere, jid=jid_of(first))
    await asyncio.wait_for(said.wait(), WAIT_S)

    assert second.address in caplog.text or first.address in caplog.text


def _set_if(event: asyncio.Event, is_it: bool) -> bool:
    if is_it:
        event.set()
    return True
