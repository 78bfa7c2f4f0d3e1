"""Assistants in multi-user chats, on a real server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from spade_llm.agent import Conduct
from spade_llm.xmpp.room_list import KnownRoom
from spade_llm.xmpp.rooms import RoomsOptions
from tests.interaction.network import Network
from tests.interaction.room_guest import Guest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner

pytestmark = pytest.mark.server


@pytest.fixture
async def network(prosody: Provisioner, tmp_path: Path) -> AsyncIterator[Network]:
    """Rooms need a server that has some."""
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=prosody, directory=tmp_path, stack=stack)


@pytest.fixture
def room(prosody: Provisioner) -> str:
    return f"room-{uuid4().hex[:8]}@conference.{prosody.endpoint.domain}"


def in_rooms(*rooms: str, nick: str = "helper") -> Conduct:
    return Conduct(rooms=RoomsOptions(rooms=tuple(KnownRoom(jid=one) for one in rooms), nick=nick))


async def guest(network: Network, room: str, nick: str) -> Guest:
    return await Guest(await network.person(nick), room, nick).enter()


async def test_who_speaks_to_an_assistant_by_name_is_answered_by_name(
    network: Network, room: str
) -> None:
    ada = await guest(network, room, "ada")
    await network.assistant(conduct=in_rooms(room))
    await ada.sees("helper")

    ada.say("Helper: hello there")
    answer = await ada.hears_stanza("helper")

    assert answer["body"] == "ada: hello there"
    assert answer["type"] == "groupchat"
    mention = answer.xml.find("{urn:xmpp:reference:0}reference")
    assert mention.get("uri") == f"xmpp:{room}/ada"
