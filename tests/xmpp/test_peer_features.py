"""What is known of the clients of those who write to us, and what nobody can make us believe."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from spade_llm.errors import PeerUnavailable
from spade_llm.xmpp import peer_features
from spade_llm.xmpp.announcement import Announcement
from spade_llm.xmpp.discovery import Sighting
from spade_llm.xmpp.peer_features import PeerFeatures

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from spade_llm.xmpp.agent import XmppAgent

PHONE, LAPTOP = "ada@x/phone", "ada@x/laptop"
EDIT = frozenset({"edit"})


class Asking:
    """The part of an agent that asks others what they can do; they answer what the test says."""

    def __init__(self) -> None:
        self.on_sighting: list[Callable[[Sighting], None]] = []
        self.can: dict[str, frozenset[str]] = {}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.features = PeerFeatures(cast("XmppAgent", self))  # All of it that is used is here.

    async def discover(self, jid: str, *, timeout_s: float) -> Announcement:
        self.asked.append(jid)
        await self.gate.wait()
        if jid not in self.can:
            raise PeerUnavailable("silent", peer=jid)
        return Announcement(name="", features=self.can[jid], facts={})

    def shows(self, jid: str, *, ver: str = "", is_available: bool = True) -> None:
        seen = Sighting(jid=jid, is_available=is_available, is_ours=False, ver=ver)
        for tell in self.on_sighting:
            tell(seen)


async def test_a_connection_is_asked_once() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT

    assert asking.features.known(PHONE) is None
    assert await asking.features.of(PHONE) == await asking.features.of(PHONE) == EDIT

    assert asking.features.known(PHONE) == EDIT
    assert asking.asked == [PHONE]


async def test_those_who_ask_at_the_same_time_share_the_answer() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT
    asking.gate.clear()
    both = asyncio.gather(asking.features.of(PHONE), asking.features.of(PHONE))
    await asyncio.sleep(0)

    asking.gate.set()

    assert list(await both) == [EDIT, EDIT]
    assert asking.asked == [PHONE]


async def test_equal_clients_of_one_person_are_asked_once_but_nobody_speaks_for_another() -> None:
    asking = Asking()
    asking.can |= {PHONE: EDIT, "eve@x/1": frozenset({"none"})}
    for jid in (PHONE, LAPTOP, "eve@x/1"):
        asking.shows(jid, ver="v1")

    assert await asking.features.of(PHONE) == EDIT
    assert asking.features.known(LAPTOP) == EDIT
    assert await asking.features.of("eve@x/1") == frozenset({"none"})
    assert asking.asked == [PHONE, "eve@x/1"]


async def test_a_client_that_becomes_another_is_asked_again() -> None:
    asking = Asking()
    asking.can[PHONE] = frozenset()
    asking.shows(PHONE, ver="v1")
    assert await asking.features.of(PHONE) == frozenset()

    asking.can[PHONE] = EDIT
    asking.shows(PHONE, ver="v2")

    assert await asking.features.of(PHONE) == EDIT


async def test_of_who_leaves_nothing_is_kept() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT
    await asking.features.of(PHONE)

    asking.shows(PHONE, is_available=False)

    assert asking.features.known(PHONE) is None


async def test_who_is_silent_is_not_asked_again_until_it_shows_itself() -> None:
    asking = Asking()
    asking.features.learn(PHONE)
    assert asking.features.may_have(PHONE, "edit")
    assert await asking.features.of(PHONE) == frozenset()
    asking.features.learn(PHONE)
    await asyncio.sleep(0)
    assert asking.asked == [PHONE]
    assert not asking.features.may_have(PHONE, "edit")

    asking.can[PHONE] = EDIT
    asking.shows(PHONE)
    asking.features.learn(PHONE)

    assert await asking.features.of(PHONE) == EDIT
    assert asking.features.may_have(PHONE, "edit")
    assert asking.asked == [PHONE, PHONE]


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_features, "MAX_KNOWN", 3)
    asking = Asking()
    jids = [f"p{number}@x/1" for number in range(5)]
    asking.can |= dict.fromkeys(jids, EDIT)

    for jid in jids:
        await asking.features.of(jid)

    assert [asking.features.known(jid) for jid in jids] == [None, None, *[EDIT] * 3]


async def test_who_stops_waits_for_no_client() -> None:
    asking = Asking()
    asking.gate.clear()
    asking.features.learn(PHONE)
    await asyncio.sleep(0)

    await asyncio.wait_for(asking.features.close(), 5)

    assert asking.asked == [PHONE]
    assert asking.features.known(PHONE) is None
