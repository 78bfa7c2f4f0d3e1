"""Who is let in, and how fast, by what a message's stamped sender says."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import StorageFailed
from spade_llm.core.limits import Rate, TokenBucket
from spade_llm.messaging import AclMessage, Encoding, Performative
from spade_llm.xmpp import admission_control
from spade_llm.xmpp import invitations as invitations_module
from spade_llm.xmpp.admission_control import (
    NOT_VALID,
    STRANGER,
    TOO_FAST,
    WELCOME,
    AdmissionControl,
    AdmissionPolicy,
    TrustLevel,
)
from spade_llm.xmpp.invitations import Invitations
from spade_llm.xmpp.stanzas.message_codec import ACL_TAG, decode, encode
from tests.conftest import bytes_in, modes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from tests.conftest import PlaceOf

OWN = "here.example"
STANZAS = "{urn:ietf:params:xml:ns:xmpp-stanzas}"
GATEWAYS = (f"gateway@{OWN}",)
CLOSED = AdmissionPolicy(allow=("friend.example", "ada@other.example"), guests=("guests.example",))


class Entrance:
    """A door with a clock that stands still, and what was said at it."""

    def __init__(self, admission: AdmissionPolicy, invitations: Invitations | None = None) -> None:
        self.now_s = 1000.0
        self.invitations = invitations or Invitations(None)
        self.said: list[str] = []
        self.resumed: list[Element] = []
        """Messages that were let in after they had waited."""
        self._checking: list[asyncio.Task[None]] = []
        self.errors: list[Element] = []
        self.is_answered = False
        """Whether peers have had answers to all that they said."""
        self.admission = AdmissionControl(
            admission,
            self.invitations,
            own_domain=OWN,
            send=self._hear,
            own=f"bot@{OWN}",
            gateways=GATEWAYS,
            is_answered=lambda _: self.is_answered,
            spawn=self._spawn,
            resume=self._resume,
            clock=lambda: self.now_s,
        )

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        self._checking.append(asyncio.create_task(work))

    def _resume(self, xml: Element) -> None:
        if not self.admission.block_stranger(xml):
            self.resumed.append(xml)

    async def checked(self) -> None:
        """Wait until the invitation codes are checked."""
        while self._checking:
            await self._checking.pop()

    def _hear(self, xml: str) -> None:
        told = fromstring(xml.replace(" ", " xmlns='jabber:client' ", 1))
        if told.get("type") == "error":
            self.errors.append(told)
        else:
            self.said.append(told.findtext("{jabber:client}body") or "")

    def is_admitted(self, xml: Element) -> bool:
        return not (self.admission.is_rate_limited(xml) or self.admission.block_stranger(xml))

    def pause_s(self, xml: Element) -> float:
        """How long this message waits for its turn; it is let in."""
        assert self.is_admitted(xml)
        message = decode(xml)
        assert isinstance(message, AclMessage)
        return self.admission.pause_s(message)


def text(sender: str, body: str = "hello", *, kind: str = "chat", id: str = "m1") -> Element:
    return fromstring(
        f"<message xmlns='jabber:client' type='{kind}' from='{sender}/phone' to='bot@{OWN}'"
        f" id='{id}'><body>{body}</body></message>"
    )


def request(
    sender: str,
    *,
    ontology: str = "spade-llm.memory/1",
    performative: Performative = Performative.REQUEST,
    principal: str = "",
) -> Element:
    message = AclMessage(
        performative=performative,
        sender="",
        receiver=f"bot@{OWN}",
        content="{}",
        ontology=ontology,
        encoding=Encoding.ACL,
        acts_for=principal,
    )
    xml = encode(message).replace("<message ", f"<message from='{sender}/p' ", 1)
    return fromstring(xml.replace("<message ", "<message xmlns='jabber:client' ", 1))


async def test_listed_jids_and_domains_are_admitted(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        assert entrance.is_admitted(text("bob@friend.example"))
        assert entrance.is_admitted(text("ada@other.example"))
        assert entrance.is_admitted(text("guest@guests.example"))
        assert not entrance.is_admitted(text("eve@other.example"))
        assert not entrance.is_admitted(text(f"eve@{OWN}"))
        assert entrance.admission.is_guest("guest@guests.example")
        assert not entrance.admission.is_guest("bob@friend.example")


async def test_strangers_are_told_nothing_of_encryption_and_others_as_often_as_they_may_talk(
    place_of: PlaceOf,
) -> None:
    sealed = text("eve@evil.example")
    sealed.remove(sealed[0])
    SubElement(sealed, "{urn:xmpp:omemo:2}encrypted")
    async with Invitations(place_of("invitations.db")) as invitations:
        closed = Entrance(CLOSED, invitations)
        paced = Entrance(
            AdmissionPolicy(talk=Rate(per_s=0.1, burst=2), guest_talk=Rate(per_s=0.1, burst=2))
        )

        assert not closed.is_admitted(sealed)
        assert [paced.is_admitted(sealed) for _ in range(3)] == [True, True, False]


def test_an_open_door_takes_those_of_other_domains_as_guests() -> None:
    assert AdmissionPolicy().trust_level("a@x", OWN) is TrustLevel.GUEST
    assert AdmissionPolicy().trust_level(f"a@{OWN}", OWN) is TrustLevel.KNOWN
    assert AdmissionPolicy().has_no_limits


async def test_a_stranger_is_refused_once_a_minute_in_two_languages_and_then_in_silence(
    place_of: PlaceOf,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        for _ in range(50):
            assert not entrance.is_admitted(text("eve@evil.example"))
            entrance.now_s += 1
        assert entrance.said == [STRANGER]

        entrance.now_s += 11
        assert not entrance.is_admitted(text("eve@evil.example"))
        assert entrance.said == [STRANGER] * 2


async def test_strangers_together_are_refused_no_more_often_than_the_line_bears(
    place_of: PlaceOf,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        for number in range(5000):
            assert not entrance.is_admitted(text(f"eve{number}@evil.example"))

        assert len(entrance.said) == 200


async def test_a_stranger_s_answers_errors_and_marks_are_answered_by_nothing(
    place_of: PlaceOf,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        mark = text("eve@evil.example")
        mark.remove(mark[0])

        assert not entrance.is_admitted(
            request("eve@evil.example", performative=Performative.INFORM)
        )
        assert entrance.is_admitted(mark)
        assert entrance.is_admitted(text("eve@evil.example", kind="error"))
        assert entrance.is_admitted(text("room@evil.example", kind="groupchat"))
        assert entrance.said == []


async def test_a_program_is_refused_as_programs_read_it_and_once_a_second(
    place_of: PlaceOf,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        for _ in range(5):
            assert not entrance.is_admitted(request("eve@evil.example"))
            entrance.now_s += 0.5

        assert len(entrance.said) == 3
        assert all('"unauthorised"' in one for one in entrance.said)


async def test_peers_that_we_asked_may_answer(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        question = decode(request("bot@here.example"))
        assert isinstance(question, AclMessage)
        assert not entrance.is_admitted(request("memory@else.example"))

        entrance.admission.note_request(question)

        assert not entrance.is_admitted(text(f"eve@{OWN}"))
        assert entrance.is_admitted(text(f"bot@{OWN}"))


async def test_a_guest_that_we_asked_stays_a_guest_and_can_be_blocked(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        code = await invitations.make(uses=1, lasts_s=100.0)
        entrance.is_admitted(text("eve@evil.example", f"/join {code}"))
        await entrance.checked()
        question = decode(request("bot@here.example"))
        assert isinstance(question, AclMessage)

        entrance.admission.note_request(replace(question, receiver="eve@evil.example/phone"))

        assert entrance.admission.is_guest("eve@evil.example")
        assert await invitations.revoke("eve@evil.example")
        assert not entrance.is_admitted(text("eve@evil.example"))


async def test_a_full_disk_burns_no_invitation(tmp_path: Path) -> None:
    async with Invitations(tmp_path / "a.db") as invitations:
        code = str(await invitations.make(uses=1, lasts_s=100.0))
        ((pages,),) = await invitations._db.execute("PRAGMA page_count")
        await invitations._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StorageFailed):
            await invitations.redeem(code, "e" * 100_000 + "@evil.example")

        assert await invitations.redeem(code, "eve@evil.example")


async def test_an_invitation_code_admits_one_person(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        code = await invitations.make(uses=1, lasts_s=100.0, note="for Eve")
        assert code is not None

        assert not entrance.is_admitted(text("eve@evil.example", f"/JOIN {code.lower()}"))
        await entrance.checked()
        assert entrance.is_admitted(text("eve@evil.example"))
        assert entrance.admission.is_guest("eve@evil.example")
        assert not entrance.is_admitted(text("mallory@evil.example", f"/join {code}"))
        await entrance.checked()
        assert not entrance.is_admitted(text("mallory@evil.example"))
        assert entrance.said == [WELCOME, NOT_VALID, STRANGER]


@pytest.mark.parametrize("said", ["join {}", "Join  {}", "//join {}"])
async def test_a_code_is_taken_as_clients_let_it_through_that_join_rooms_with_a_slash(
    place_of: PlaceOf,
    said: str,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        code = await invitations.make(uses=1, lasts_s=100.0)

        assert not entrance.is_admitted(text("eve@evil.example", said.format(code)))
        await entrance.checked()

        assert entrance.said == [WELCOME]
        assert entrance.is_admitted(text("eve@evil.example", "join us at noon"))
        assert entrance.is_admitted(text("eve@evil.example", "join"))


async def test_a_code_stands_nowhere_in_the_file(tmp_path: Path) -> None:
    async with Invitations(tmp_path / "a.db") as invitations:
        code = await invitations.make(uses=1, lasts_s=100.0)
    assert code is not None

    stored = bytes_in(tmp_path)

    assert code.encode() not in stored
    assert code.replace("-", "").encode() not in stored


async def test_what_follows_a_code_waits_until_it_is_checked(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)
        code = await invitations.make(uses=1, lasts_s=100.0)

        assert not entrance.is_admitted(text("eve@evil.example", f"join {code}"))
        assert not entrance.is_admitted(text("eve@evil.example", "one"))
        assert not entrance.is_admitted(text("eve@evil.example", "two"))
        await entrance.checked()

        assert entrance.said == [WELCOME]
        assert [one.findtext("{jabber:client}body") for one in entrance.resumed] == ["one", "two"]


async def test_a_list_of_guests_that_cannot_be_read_admits_nobody(
    place_of: PlaceOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        monkeypatch.setattr(invitations_module, "TRUSTED_S", -1.0)

        with pytest.raises(StorageFailed):
            invitations.is_guest("a@x")


async def test_wrong_codes_are_answered_five_times_and_then_in_silence(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        for number in range(50):
            assert not entrance.is_admitted(text("eve@evil.example", f"/join AAAA-{number}"))
        await entrance.checked()

        assert entrance.said == [NOT_VALID] * 5


async def test_a_mistyped_code_is_told_even_right_behind_a_refusal(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        entrance = Entrance(CLOSED, invitations)

        assert not entrance.is_admitted(text("eve@evil.example", "hello"))
        assert not entrance.is_admitted(text("eve@evil.example", "join F8E3-DAVN"))
        await entrance.checked()

        assert entrance.said == [STRANGER, NOT_VALID]


async def test_expired_codes_and_admissions_are_refused(place_of: PlaceOf) -> None:
    now = [1000.0]
    async with Invitations(place_of("invitations.db"), clock=lambda: now[0]) as invitations:
        late = await invitations.make(uses=1, lasts_s=10.0)
        short = await invitations.make(uses=1, lasts_s=100.0, stay_s=50.0)
        assert late and short
        now[0] += 11

        assert not await invitations.redeem(late, "a@x")
        assert await invitations.redeem(short, "a@x")
        assert invitations.is_guest("a@x")
        now[0] += 51
        assert not invitations.is_guest("a@x")
        assert await invitations.guests() == []


async def test_admitted_jids_do_not_use_up_invitations(place_of: PlaceOf) -> None:
    async with Invitations(place_of("invitations.db")) as invitations:
        code = await invitations.make(uses=2, lasts_s=100.0)
        assert code

        assert await invitations.redeem(code, "a@x")
        assert await invitations.redeem(code, "a@x")
        assert [one.uses_left for one in await invitations.open_ones()] == [1]
        assert await invitations.revoke("a@x")
        assert not invitations.is_guest("a@x")
        assert await invitations.revoke((await invitations.open_ones())[0].name)
        assert await invitations.open_ones() == []


async def test_revocations_by_another_process_apply_soon(place_of: PlaceOf) -> None:
    async with (
        Invitations(place_of("invitations.db")) as mine,
        Invitations(place_of("invitations.db")) as other,
    ):
        code = await other.make(uses=1, lasts_s=100.0, stay_s=None)
        assert code and await mine.redeem(code, "a@x") and mine.is_guest("a@x")

        await other.revoke("a@x")
        assert mine.is_guest("a@x")
        await mine.refresh()
        assert not mine.is_guest("a@x")


LIMITED = AdmissionPolicy(
    talk=Rate(per_s=1, burst=3),
    guest_talk=Rate(per_s=1, burst=2),
    domain_talk=Rate(per_s=1, burst=5),
    requests=Rate(per_s=10, burst=20),
)


def test_each_message_that_comes_too_fast_is_refused_by_an_error_and_later_ones_are_heard() -> None:
    entrance = Entrance(LIMITED)

    heard = [entrance.is_admitted(text(f"eve@{OWN}", id=f"m{number}")) for number in range(10)]
    assert heard == [True] * 3 + [False] * 7
    assert entrance.said == []
    assert [one.get("id") for one in entrance.errors] == [f"m{number}" for number in range(3, 10)]
    for one in entrance.errors:
        assert (one.tag, one.get("to")) == ("{jabber:client}message", f"eve@{OWN}/phone")
        error = one.find("{jabber:client}error")
        assert error is not None and error.get("type") == "wait"
        assert error[0].tag == f"{STANZAS}resource-constraint"
        assert error.findtext(f"{STANZAS}text") == TOO_FAST
    assert entrance.is_admitted(text(f"ada@{OWN}"))

    entrance.now_s += 1
    assert entrance.is_admitted(text(f"eve@{OWN}"))
    assert not entrance.is_admitted(text(f"eve@{OWN}"))


@pytest.mark.thorough
def test_excess_messages_get_at_most_fifty_errors_a_second() -> None:
    entrance = Entrance(LIMITED)

    for _ in range(5000):
        entrance.is_admitted(text(f"eve@{OWN}"))
    assert len(entrance.errors) == 200

    entrance.now_s += 1
    for _ in range(5000):
        entrance.is_admitted(text(f"eve@{OWN}"))
    assert len(entrance.errors) == 250


def test_errors_marks_and_senders_without_address_get_no_error_answer() -> None:
    entrance = Entrance(LIMITED)
    mark = text(f"eve@{OWN}")
    mark.remove(mark[0])
    nobody, endless = text(f"eve@{OWN}"), text(f"eve@{OWN}", id="i" * 2000)
    nobody.set("from", "@")

    for _ in range(30):
        entrance.is_admitted(mark)
        entrance.is_admitted(text(f"eve@{OWN}", kind="error"))
        entrance.is_admitted(nobody)
    for _ in range(3):
        entrance.is_admitted(text(f"ada@{OWN}"))
    entrance.is_admitted(endless)

    assert entrance.errors == []


def test_a_client_that_waits_for_its_answers_is_paced_and_not_refused() -> None:
    entrance = Entrance(LIMITED)
    entrance.is_answered = True

    pauses = [entrance.pause_s(text(f"eve@{OWN}")) for _ in range(5)]
    assert pauses == [0.0, 0.0, 0.0, 1.0, 2.0]
    entrance.now_s += 1
    assert entrance.pause_s(text(f"eve@{OWN}")) == 2.0

    assert [entrance.pause_s(text(f"eve@{OWN}")) for _ in range(8)][-1] == 10.0
    assert not entrance.is_admitted(text(f"eve@{OWN}"))
    assert len(entrance.errors) == 1


def test_a_client_with_a_message_on_its_way_and_a_program_are_not_paced() -> None:
    entrance = Entrance(LIMITED)
    chats = [request(f"q@{OWN}", ontology="spade-llm.chat/1") for _ in range(5)]

    assert [entrance.is_admitted(text(f"eve@{OWN}")) for _ in range(5)].count(True) == 3
    entrance.is_answered = True
    assert [entrance.is_admitted(one) for one in chats].count(True) == 3


def test_a_burst_is_paced_after_its_first_messages() -> None:
    entrance = Entrance(replace(LIMITED, talk=Rate(per_s=10, burst=200)))
    chats = [request(f"q@{OWN}", ontology="spade-llm.chat/1") for _ in range(10)]

    pauses = [entrance.pause_s(text(f"eve@{OWN}")) for _ in range(200)]

    assert pauses[:5] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.1])
    assert pauses[-1] == pytest.approx(196 / 10)
    assert entrance.pause_s(text(f"ada@{OWN}")) == 0.0
    assert {entrance.pause_s(one) for one in chats} == {0.0}


def iq(sender: str, kind: str = "get", *, id: str = "q1") -> Element:
    return fromstring(
        f"<iq xmlns='jabber:client' type='{kind}' from='{sender}' to='bot@{OWN}/x' id='{id}'>"
        "<query xmlns='jabber:iq:version'/></iq>"
    )


def presence(sender: str, kind: str = "") -> Element:
    kinds = f" type='{kind}'" if kind else ""
    return fromstring(f"<presence xmlns='jabber:client' from='{sender}'{kinds}/>")


SIGNALLED = AdmissionPolicy(signals=Rate(per_s=1, burst=4))


def test_iqs_presences_and_marks_of_one_sender_are_counted_together() -> None:
    entrance = Entrance(SIGNALLED)
    mark = text(f"eve@{OWN}")
    mark.remove(mark[0])

    assert not entrance.admission.is_rate_limited(iq(f"eve@{OWN}/a"))
    assert not entrance.admission.is_rate_limited(presence(f"eve@{OWN}/b"))
    assert not entrance.admission.is_rate_limited(presence(f"eve@{OWN}", "subscribe"))
    assert entrance.is_admitted(mark)

    assert entrance.admission.is_rate_limited(iq(f"eve@{OWN}/a", id="too fast"))
    assert entrance.admission.is_rate_limited(presence(f"eve@{OWN}/b"))
    assert not entrance.is_admitted(mark)
    (error,) = entrance.errors
    assert (error.tag, error.get("id")) == ("{jabber:client}iq", "too fast")
    assert error.find(f"{{jabber:client}}error/{STANZAS}resource-constraint") is not None
    assert entrance.is_admitted(text(f"eve@{OWN}"))
    assert not entrance.admission.is_rate_limited(iq(f"ada@{OWN}/a"))
    entrance.now_s += 1
    assert not entrance.admission.is_rate_limited(iq(f"eve@{OWN}/a"))


@pytest.mark.parametrize(
    "sender",
    ["", OWN, f"bot@{OWN}", f"bot@{OWN}/other", *GATEWAYS, f"{GATEWAYS[0]}/x", f"memory@{OWN}/x"],
)
def test_own_server_own_account_gateways_and_asked_peers_are_not_rate_limited(sender: str) -> None:
    entrance = Entrance(SIGNALLED)
    question = decode(request(f"bot@{OWN}"))
    assert isinstance(question, AclMessage)
    entrance.admission.note_request(replace(question, receiver=f"memory@{OWN}"))

    assert not any(entrance.admission.is_rate_limited(iq(sender)) for _ in range(50))
    assert not any(entrance.admission.is_rate_limited(presence(sender)) for _ in range(50))


def test_the_presences_of_a_room_s_occupants_are_not_those_of_one_sender() -> None:
    entrance = Entrance(SIGNALLED)
    entrance.admission.is_room = {"den@rooms.example"}.__contains__

    seen = [
        entrance.admission.is_rate_limited(presence(f"den@rooms.example/{n}")) for n in range(50)
    ]
    said = [entrance.is_admitted(text("den@rooms.example", kind="groupchat")) for _ in range(50)]
    elsewhere = [entrance.is_admitted(text("x@rooms.example", kind="groupchat")) for _ in range(50)]
    asked = [entrance.admission.is_rate_limited(iq(f"den@rooms.example/{n}")) for n in range(50)]

    assert not any(seen) and all(said)
    assert elsewhere.count(True) == 4
    assert asked.count(False) == 4


def test_a_program_that_asks_the_same_again_costs_nothing_but_another_text_does() -> None:
    entrance = Entrance(LIMITED)
    question = request(f"p@{OWN}", ontology="spade-llm.chat/1")
    other = request(f"p@{OWN}", ontology="spade-llm.chat/1")
    other.set("id", question.get("id", ""))
    body = other.find("{jabber:client}body")
    assert body is not None

    assert all(entrance.is_admitted(question) for _ in range(15))
    for number, is_let_in in enumerate([True, True, False]):
        body.text = f"another {number}"
        assert entrance.is_admitted(other) is is_let_in


@pytest.mark.parametrize(
    "made_another",
    [
        lambda xml, n: SubElement(xml, "{jabber:client}thread").__setattr__("text", f"thread {n}"),
        lambda xml, n: xml.find(ACL_TAG).set("conversation-id", f"conversation {n}"),
        lambda xml, n: xml.find(ACL_TAG).set("reply-by", f"2030-01-01T00:00:{n:02}Z"),
        lambda xml, n: xml.set("from", f"p@{OWN}/resource-{n}"),
    ],
)
def test_a_different_question_under_the_same_id_is_charged_again(
    made_another: Callable[[Element, int], None],
) -> None:
    entrance = Entrance(LIMITED)
    question = request(f"p@{OWN}", ontology="spade-llm.chat/1")
    assert entrance.is_admitted(question)

    let_in = []
    for number in range(10):
        again = deepcopy(question)
        made_another(again, number)
        let_in.append(entrance.is_admitted(again))

    assert sum(let_in) < 10


async def test_archived_messages_are_not_rate_limited_but_strangers_are_refused() -> None:
    entrance = Entrance(LIMITED)
    async with Invitations(None) as invitations:
        assert not any(entrance.admission.block_stranger(text(f"eve@{OWN}")) for _ in range(20))
        closed = Entrance(CLOSED, invitations)
        assert closed.admission.block_stranger(text("eve@evil.example"))


def test_a_program_that_is_too_fast_is_busy_and_its_chat_counts_as_talk() -> None:
    entrance = Entrance(LIMITED)

    requests = [entrance.is_admitted(request(f"p@{OWN}")) for _ in range(30)]
    chats = [
        entrance.is_admitted(request(f"q@{OWN}", ontology="spade-llm.chat/1")) for _ in range(5)
    ]

    assert requests == [True] * 20 + [False] * 10
    assert chats == [True] * 3 + [False] * 2
    assert all('"busy"' in one for one in entrance.said)
    assert len(entrance.said) == 2


def test_gateway_requests_count_for_their_principal() -> None:
    entrance = Entrance(LIMITED)

    def heard(sender: str, principal: str) -> int:
        chat = "spade-llm.chat/1"
        asked = (request(sender, ontology=chat, principal=principal) for _ in range(10))
        return sum(map(entrance.is_admitted, asked))

    assert heard(GATEWAYS[0], f"ada@{OWN}") == 3
    assert heard(GATEWAYS[0], f"bob@{OWN}") == 3
    assert heard(GATEWAYS[0], "") == 3
    assert not entrance.is_admitted(text(f"ada@{OWN}"))
    assert heard(f"eve@{OWN}", f"cid@{OWN}") == 3
    assert heard(f"eve@{OWN}", f"dan@{OWN}") == 0
    assert entrance.is_admitted(text(f"cid@{OWN}"))


def test_closed_admission_treats_gateway_principals_as_guests() -> None:
    entrance = Entrance(replace(CLOSED, guest_talk=Rate(per_s=0.1, burst=1)))

    def chat(sender: str, principal: str) -> Element:
        return request(sender, ontology="spade-llm.chat/1", principal=principal)

    assert entrance.is_admitted(chat(GATEWAYS[0], "stranger@far.example"))
    assert not entrance.is_admitted(chat(GATEWAYS[0], "stranger@far.example"))
    assert all(entrance.is_admitted(chat(GATEWAYS[0], "ada@other.example")) for _ in range(5))
    assert entrance.admission.is_guest("stranger@far.example")
    assert not entrance.is_admitted(text("stranger@far.example"))
    assert not entrance.is_admitted(chat("eve@far.example", "ada@other.example"))


def test_the_accounts_of_one_other_domain_are_bounded_together() -> None:
    entrance = Entrance(LIMITED)

    heard = [entrance.is_admitted(text(f"eve{number}@evil.example")) for number in range(20)]

    assert heard == [True] * 5 + [False] * 15
    assert entrance.is_admitted(text("ada@good.example"))
    assert all(entrance.is_admitted(text(f"colleague{number}@{OWN}")) for number in range(20))


def test_replicas_bound_the_messages_of_one_other_domain_together() -> None:
    replicas = [Entrance(LIMITED), Entrance(LIMITED)]
    heard = []

    for number in range(20):
        message = text(f"eve{number}@evil.example")
        owner, other = replicas if number % 2 else reversed(replicas)
        heard.append(owner.is_admitted(message))
        other.admission.count_held(message)

    assert heard == [True] * 5 + [False] * 15


def test_a_repeated_request_that_another_replica_answers_counts_once() -> None:
    entrance = Entrance(LIMITED)
    repeated = request("eve@evil.example", ontology="spade-llm.chat/1")

    for _ in range(10):
        entrance.admission.count_held(repeated)

    assert entrance.is_admitted(text("mallory@evil.example"))


def test_many_senders_take_no_more_room_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_control, "MAX_SENDERS", 100)
    monkeypatch.setattr(admission_control, "MAX_DOMAINS", 10)
    entrance = Entrance(LIMITED)

    for number in range(150):
        entrance.is_admitted(text(f"eve{number}@d{number}.example"))

    assert len(entrance.admission._senders) == 100
    assert len(entrance.admission._domains) == 10


@given(st.lists(st.floats(0, 1e4), max_size=30), st.floats(0.01, 100), st.integers(1, 50))
def test_a_bucket_never_gives_more_than_its_burst_and_what_time_brings(
    moments: list[float], per_s: float, burst: int
) -> None:
    bucket = TokenBucket(Rate(per_s=per_s, burst=burst), 0.0)

    given_at = [now for now in sorted(moments) if bucket.take(now)]

    for first in range(len(given_at)):
        for last in range(first, len(given_at)):
            most = burst + per_s * (given_at[last] - given_at[first])
            assert last - first + 1 <= most + 1e-6


async def test_the_invitation_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    async with Invitations(tmp_path / "a.db") as invitations:
        await invitations.make(uses=1, lasts_s=100.0)

        assert modes_in(tmp_path) == {0o600}
