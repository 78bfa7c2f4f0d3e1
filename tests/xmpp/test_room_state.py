"""What an agent knows of a room, as the room's presences come; they may be anybody's making."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.middleware.quota import subject_jid
from spade_llm.memory.validation import normalize_subject, room_subject_range
from spade_llm.messaging import AclMessage, ChatMetadata, Encoding, Performative
from spade_llm.xmpp.features.room_state import MAX_LINE_CHARS, MAX_LINES, RoomState
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.muc import RoomInvitation, read_invitation, read_presence

ROOM = "tea@conference.example.org"


def room() -> RoomState:
    made = RoomState(ROOM, "bot", per_minute=20)
    made.begin("bot")
    return made


def show(
    to: RoomState,
    nick: str,
    *,
    kind: str = "",
    codes: str = "",
    real: str = "",
    id: str = "",
    new: str = "",
) -> None:
    statuses = "".join(f"<status code='{code}'/>" for code in codes.split())
    item = "<item" + (f" jid='{real}/phone'" if real else "") + (f" nick='{new}'" if new else "")
    to.see(
        read_presence(
            ET.fromstring(
                f"<presence xmlns='jabber:client' from='{ROOM}/{nick}'"
                + (f" type='{kind}'" if kind else "")
                + f"><x xmlns='http://jabber.org/protocol/muc#user'>{item}/>{statuses}</x>"
                + (f"<occupant-id xmlns='urn:xmpp:occupant-id:0' id='{id}'/>" if id else "")
                + "</presence>"
            )
        )
    )


def seat(of: RoomState, nick: str) -> str:
    return of.said_by(of.occupant(nick), hops=0).seat


async def test_a_real_jid_is_the_same_person_under_any_name() -> None:
    tea = room()
    show(tea, "ada", real="ada@home")
    before = seat(tea, "ada")
    show(tea, "ada", kind="unavailable", codes="303", new="lady")
    show(tea, "lady", real="ada@home")

    assert before == seat(tea, "lady") == f"ada@home in {ROOM}"


async def test_a_reused_nickname_is_a_different_occupant() -> None:
    tea = room()
    show(tea, "ada")
    before = seat(tea, "ada")
    show(tea, "ada", kind="unavailable")
    show(tea, "ada")

    assert seat(tea, "ada") != before
    assert tea.said_by(tea.occupant("ada"), hops=0).is_passing


async def test_a_name_is_changed_and_the_seat_is_kept() -> None:
    tea = room()
    show(tea, "ada")
    before = seat(tea, "ada")
    show(tea, "ada", kind="unavailable", codes="303", new="lady")
    show(tea, "lady")

    assert seat(tea, "lady") == before


async def test_an_id_counts_only_where_the_room_vouches_for_it() -> None:
    tea = room()
    show(tea, "ada", id="made-up")
    unvouched = tea.said_by(tea.occupant("ada"), hops=0)
    tea.has_stable_ids = True
    vouched = tea.said_by(tea.occupant("ada"), hops=0)

    assert unvouched.is_passing
    assert vouched.seat == f"occupant:made-up in {ROOM}"
    assert not vouched.is_passing


@pytest.mark.parametrize(
    ("codes", "is_for_good"),
    [("110 307", True), ("110 301", True), ("110 332", False), ("110", False)],
)
async def test_leaving_a_room_distinguishes_removal_from_other_reasons(
    codes: str, is_for_good: bool
) -> None:
    tea = room()
    show(tea, "bot", codes="110")
    assert tea.is_in

    show(tea, "bot", kind="unavailable", codes=codes)

    assert not tea.is_in
    assert tea.exit.is_for_good == is_for_good


async def test_an_invalid_real_jid_is_ignored() -> None:
    tea = room()
    show(tea, "ada", real="no jid@@")

    assert tea.said_by(tea.occupant("ada"), hops=0).is_passing


async def test_chat_metadata_is_kept_but_receipt_requests_are_dropped_in_rooms() -> None:
    tea = room()
    show(tea, "ada", real="ada@home")
    beside = ChatMetadata(
        corrects="1", quotes="before", wants="displayed", room="forged@x", real="eve@x"
    )

    said = tea.said_by(tea.occupant("ada"), hops=0, said=beside)

    assert (said.corrects, said.quotes, said.wants) == ("1", "before", "")
    assert said.seat == f"ada@home in {ROOM}"


async def test_room_talk_is_bounded_and_one_line_each() -> None:
    tea = room()

    for _ in range(3 * MAX_LINES):
        tea.hear("ada\u202e", "a\nb" * MAX_LINE_CHARS)

    assert len(tea.talk) == MAX_LINES
    assert all(len(line) <= MAX_LINE_CHARS + len("ada: ") for line in tea.talk)
    assert all("\n" not in line and "\u202e" not in line for line in tea.talk)


def test_a_seat_is_no_jid_and_is_found_by_the_person_it_is_of() -> None:
    told = ChatMetadata(room=ROOM, nick="ada", real="ada@home").seat
    other = ChatMetadata(room=ROOM, nick="ada", real="ada@home.org").seat
    first, end = room_subject_range("ada@home")

    assert normalize_subject(told) == told
    assert subject_jid(told) == "ada@home"
    assert subject_jid(ChatMetadata(room=ROOM, nick="ada", occupant="x").seat) == ROOM
    assert first <= told < end
    assert not first <= other < end


def test_a_seat_owns_nothing_outside_of_its_room() -> None:
    said = ChatMetadata(room=ROOM, nick="ada", real="ada@home", wants="displayed", hops="1")
    question = AclMessage(
        performative=Performative.REQUEST,
        sender=f"{ROOM}/ada",
        receiver="bot@home",
        content="hello",
        encoding=Encoding.PLAIN,
        said=said,
    )

    answer = question.reply(Performative.INFORM, "hello")
    xml = ET.fromstring(codec.encode(answer))

    assert question.owner == ROOM
    assert question.asker == answer.asker == f"ada@home in {ROOM}"
    assert (xml.get("to"), xml.get("type"), xml.findtext("body")) == (
        ROOM,
        "groupchat",
        "ada: hello",
    )
    assert xml.find("{urn:spade-llm:rooms:1}hops").get("count") == "2"  # type: ignore[union-attr]
    assert answer.said.wants == ""


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            "<x xmlns='http://jabber.org/protocol/muc#user'><invite from='ada@home/phone'/>"
            "<password>secret</password></x>",
            RoomInvitation(room=ROOM, inviter="ada@home", password="secret", is_mediated=True),
        ),
        (
            "<x xmlns='jabber:x:conference' jid='other@conference.example.org'/>",
            RoomInvitation(room="other@conference.example.org", inviter=ROOM),
        ),
        ("<x xmlns='jabber:x:conference' jid='no room'/>", None),
        ("<x xmlns='jabber:x:conference' jid='a@b/c'/>", None),
        (
            "<x xmlns='http://jabber.org/protocol/muc#user'><invite from='@@'/></x>",
            None,
        ),
        ("<x xmlns='http://jabber.org/protocol/muc#user'><invite/></x>", None),
        ("<body>come</body>", None),
    ],
)
def test_an_invitation_is_read_or_is_none(inner: str, expected: RoomInvitation | None) -> None:
    xml = f"<message xmlns='jabber:client' from='{ROOM}'>{inner}</message>"

    assert read_invitation(ET.fromstring(xml)) == expected


@given(
    nick=st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P"])).map(
        lambda one: one.translate({ord(c): None for c in "<>&'\"/"})
    ),
    kind=st.sampled_from(["", "unavailable", "error", "subscribe"]),
    codes=st.sampled_from(["", "110", "303", "110 303", "201 110", "999"]),
)
async def test_no_presence_breaks_a_room(nick: str, kind: str, codes: str) -> None:
    tea = room()

    show(tea, nick, kind=kind, codes=codes, new="")

    assert tea.occupant(nick).nick == nick
