"""What is known of the clients of those who write to us, and what nobody can make us believe."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from spade_llm.core.errors import PeerUnavailable
from spade_llm.xmpp.features import peer_features
from spade_llm.xmpp.features.peer_features import PeerClient, PeerFeatures, PeerPresence
from spade_llm.xmpp.stanzas.announcement import Announcement
from spade_llm.xmpp.stanzas.message_codec import CORRECTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.xmpp.agent import XmppAgent

PHONE, LAPTOP = "ada@x/phone", "ada@x/laptop"
EDIT, OTHER = PeerClient(frozenset({"edit"})), PeerClient(frozenset({"none"}))
DINO = PeerClient(frozenset({CORRECTION}), "Dino")


class Asking:
    """The part of an agent that asks others what they can do; they answer what the test says."""

    def __init__(self) -> None:
        self.on_peer_presence: list[Callable[[PeerPresence], None]] = []
        self.can: dict[str, PeerClient] = {}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.features = PeerFeatures(cast("XmppAgent", self))  # All of it that is used is here.

    async def discover(self, jid: str, *, timeout_s: float) -> Announcement:
        self.asked.append(jid)
        await self.gate.wait()
        if jid not in self.can:
            raise PeerUnavailable("silent", peer=jid)
        return Announcement(name="", features=self.can[jid].features, facts={})

    async def software_of(self, jid: str, *, timeout_s: float) -> str:
        return self.can[jid].software

    def shows(
        self,
        jid: str,
        *,
        ver: str = "",
        node: str = "",
        is_available: bool = True,
        is_ours: bool = False,
    ) -> None:
        seen = PeerPresence(jid=jid, is_available=is_available, is_ours=is_ours, ver=ver, node=node)
        for tell in self.on_peer_presence:
            tell(seen)


async def test_a_connection_is_asked_once() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT

    assert asking.features.known(PHONE) is None
    assert await asking.features.of(PHONE) == await asking.features.of(PHONE) == EDIT

    assert asking.features.known(PHONE) == EDIT
    assert asking.asked == [PHONE]


async def test_concurrent_queries_share_one_answer() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT
    asking.gate.clear()
    both = asyncio.gather(asking.features.of(PHONE), asking.features.of(PHONE))
    await asyncio.sleep(0)

    asking.gate.set()

    assert list(await both) == [EDIT, EDIT]
    assert asking.asked == [PHONE]


async def test_equal_clients_of_one_person_are_queried_once_and_persons_separately() -> None:
    asking = Asking()
    asking.can |= {PHONE: EDIT, "eve@x/1": OTHER}
    for jid in (PHONE, LAPTOP, "eve@x/1"):
        asking.shows(jid, ver="v1")

    assert await asking.features.of(PHONE) == EDIT
    assert asking.features.known(LAPTOP) == EDIT
    assert await asking.features.of("eve@x/1") == OTHER
    assert asking.asked == [PHONE, "eve@x/1"]


async def test_a_client_that_becomes_another_is_asked_again() -> None:
    asking = Asking()
    asking.can[PHONE] = OTHER
    asking.shows(PHONE, ver="v1")
    assert await asking.features.of(PHONE) == OTHER

    asking.can[PHONE] = EDIT
    asking.shows(PHONE, ver="v2")

    assert await asking.features.of(PHONE) == EDIT


async def test_features_of_offline_peers_are_dropped() -> None:
    asking = Asking()
    asking.can[PHONE] = EDIT
    await asking.features.of(PHONE)

    asking.shows(PHONE, is_available=False)

    assert asking.features.known(PHONE) is None


async def test_a_silent_client_is_not_queried_again_until_its_presence_changes() -> None:
    asking = Asking()
    asking.features.learn(PHONE)
    assert asking.features.may_follow_corrections(PHONE)
    assert await asking.features.of(PHONE) == PeerClient()
    asking.features.learn(PHONE)
    await asyncio.sleep(0)
    assert asking.asked == [PHONE]
    assert not asking.features.may_follow_corrections(PHONE)

    asking.can[PHONE] = DINO
    asking.shows(PHONE)
    asking.features.learn(PHONE)

    assert await asking.features.of(PHONE) == DINO
    assert asking.features.may_follow_corrections(PHONE)
    assert asking.asked == [PHONE, PHONE]


async def test_the_feature_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_features, "MAX_KNOWN", 3)
    asking = Asking()
    jids = [f"p{number}@x/1" for number in range(5)]
    asking.can |= dict.fromkeys(jids, EDIT)

    for jid in jids:
        await asking.features.of(jid)

    assert [asking.features.known(jid) for jid in jids] == [None, None, *[EDIT] * 3]


async def test_stopping_does_not_wait_for_clients() -> None:
    asking = Asking()
    asking.gate.clear()
    asking.features.learn(PHONE)
    await asyncio.sleep(0)

    await asyncio.wait_for(asking.features.close(), 5)

    assert asking.asked == [PHONE]
    assert asking.features.known(PHONE) is None


@pytest.mark.parametrize(
    ("software", "follows"),
    [
        ("Dino", True),
        ("https://gajim.org", True),
        ("http://conversations.im/", True),
        ("https://conversejs.org", True),
        ("Profanity", False),
        ("http://profanity-im.github.io", False),
        ("https://dino.im.example.org", False),
        ("", False),
    ],
)
def test_which_clients_are_known_to_show_every_correction(software: str, follows: bool) -> None:
    client = PeerClient(frozenset({CORRECTION}), software)

    assert client.follows_corrections == follows
    assert not PeerClient(frozenset(), software).follows_corrections


async def test_the_node_of_a_presence_says_what_it_is_without_a_further_question() -> None:
    asking = Asking()
    asking.can[PHONE] = PeerClient(frozenset({CORRECTION}), "what it calls itself")
    asking.shows(PHONE, ver="v1", node="https://dino.im")

    assert await asking.features.follow_corrections(PHONE)


async def test_a_person_follows_corrections_while_all_of_their_clients_do() -> None:
    asking = Asking()
    asking.can |= {PHONE: DINO, LAPTOP: EDIT}
    asking.shows(PHONE)
    assert not asking.features.knows_to_follow(PHONE)
    assert await asking.features.follow_corrections(PHONE)
    assert asking.features.knows_to_follow(PHONE)

    asking.shows(LAPTOP, is_ours=True)
    assert asking.features.knows_to_follow(PHONE)

    asking.shows(LAPTOP)
    assert asking.features.may_follow_corrections(PHONE)
    assert not await asking.features.follow_corrections(PHONE)
    assert not asking.features.may_follow_corrections(PHONE)

    asking.shows(LAPTOP, is_available=False)
    assert await asking.features.follow_corrections(PHONE)
