"""The stanza codec: what is written can be read back, and what must not be answered is not read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import MalformedContent
from spade_llm.messaging import CHAT_TEXT, AclMessage, Bounce, ChatMetadata, Encoding, Performative
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.message_codec import MAX_MESSAGE_CHARS, encode_partial

XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=60
)


def over_the_wire(message: AclMessage, *, sender: str = "a@x/1") -> object:
    """What the other side reads, after a server has stamped the sender."""
    return codec.decode(stamped(codec.encode(message), sender=sender))


def stamped(stanza: str, *, sender: str) -> ElementTree.Element:
    stream = f"<stream xmlns='jabber:client'>{stanza}</stream>"
    xml = ElementTree.fromstring(stream)[0]
    xml.set("from", sender)
    return xml


def a_request(**fields: object) -> AclMessage:
    message = AclMessage(
        performative=Performative.REQUEST,
        sender="a@x/1",
        receiver="b@x",
        content='{"op":"x"}',
        ontology="spade-llm.memory/1",
        language="json",
        reply_with="id-1",
    )
    return replace(message, **fields)  # type: ignore[arg-type]


@given(
    content=XML_TEXT,
    conversation=XML_TEXT.map(str.strip),
    encoding=st.sampled_from([Encoding.ACL, Encoding.FORM]),
    sequence=st.none() | st.integers(0, 10_000),
    in_reply_to=st.sampled_from(["", "q-7"]),
)
def test_encoded_messages_are_read_back(
    content: str,
    conversation: str,
    encoding: Encoding,
    sequence: int | None,
    in_reply_to: str,
) -> None:
    message = a_request(
        content=content,
        conversation_id=conversation,
        encoding=encoding,
        sequence=sequence,
        in_reply_to=in_reply_to,
        reply_by=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )

    assert over_the_wire(message) == message


@given(st.text(max_size=80))
def test_any_text_of_a_person_becomes_a_well_formed_stanza(text: str) -> None:
    message = a_request(content=text, ontology=CHAT_TEXT, encoding=Encoding.PLAIN, language="")

    read = codec.decode(stamped(codec.encode(message), sender="you@x/phone"))

    assert read is None or isinstance(read, AclMessage)


def test_a_person_s_message_carries_no_metadata_and_neither_does_the_answer() -> None:
    xml = stamped("<message type='chat' id='m1'><body>hi</body></message>", sender="you@x/phone")

    asked = codec.decode(xml)

    assert isinstance(asked, AclMessage)
    assert (asked.ontology, asked.encoding, asked.conversation_id) == (
        CHAT_TEXT,
        Encoding.PLAIN,
        "",
    )
    answer = codec.encode(asked.reply(Performative.INFORM, "hello"))
    assert "<x " not in answer
    assert "<acl" not in answer
    assert "no-store" not in answer


def test_the_thread_of_a_client_comes_back_in_the_answer() -> None:
    xml = stamped(
        "<message type='chat' id='m1'><body>hi</body><thread>t 1</thread></message>",
        sender="you@x/phone",
    )

    asked = codec.decode(xml)

    assert isinstance(asked, AclMessage)
    assert "<thread>t 1</thread>" in codec.encode(asked.reply(Performative.INFORM, "hello"))


def test_an_answer_ends_what_was_said_of_typing_and_what_grows_goes_on_with_it() -> None:
    """With a correction, clients take `composing` back for nothing else."""
    asked = a_request(encoding=Encoding.PLAIN, ontology=CHAT_TEXT, language="")
    answer = asked.reply(Performative.INFORM, "hello")
    edit = replace(answer, said=ChatMetadata(corrects="m0"))
    in_room = replace(asked, said=ChatMetadata(room="tea@rooms", nick="ada"))

    assert states(codec.encode(answer)) == states(codec.encode(edit)) == ["active"]
    assert states(encode_partial(answer)) == states(encode_partial(edit)) == ["composing"]
    assert states(codec.encode(in_room.reply(Performative.INFORM, "hello"))) == []
    assert states(codec.encode(asked)) == []
    assert states(codec.encode(a_request().reply(Performative.INFORM, "{}"))) == []


def states(stanza: str) -> list[str]:
    """The chat states (XEP-0085) that it tells."""
    tags = (one.tag for one in stamped(stanza, sender="a@x/1"))
    return [tag.rpartition("}")[2] for tag in tags if "/chatstates}" in tag]


def test_agent_traffic_is_neither_stored_nor_copied() -> None:
    for encoding in (Encoding.ACL, Encoding.FORM):
        stanza = codec.encode(a_request(encoding=encoding))

        assert "<no-store xmlns='urn:xmpp:hints'/>" in stanza
        assert "<no-copy xmlns='urn:xmpp:hints'/>" in stanza


def test_the_answer_to_a_plain_spade_agent_is_written_in_its_form() -> None:
    asked = over_the_wire(a_request(encoding=Encoding.FORM))

    assert isinstance(asked, AclMessage)
    answer = codec.encode(asked.reply(Performative.INFORM, "{}"))
    assert "spade:x:metadata" in answer
    assert "<acl" not in answer


def test_a_sender_inside_the_metadata_is_not_believed() -> None:
    stanza = codec.encode(a_request()).replace("<acl ", "<acl sender='boss@x' owner='boss@x' ")

    read = codec.decode(stamped(stanza, sender="mallory@x/1"))

    assert isinstance(read, AclMessage)
    assert read.owner == "mallory@x"


@pytest.mark.parametrize("kind", ["groupchat", "headline"])
def test_rooms_and_headlines_are_not_requests(kind: str) -> None:
    stanza = codec.encode(a_request()).replace("type='chat'", f"type='{kind}'")

    assert codec.decode(stamped(stanza, sender="room@x/nick")) is None


def test_a_delayed_request_is_dropped_and_a_person_s_delayed_message_is_not() -> None:
    delay = "<delay xmlns='urn:xmpp:delay' stamp='2026-11-20T12:00:00Z'/></message>"
    request = codec.encode(a_request()).replace("</message>", delay)
    chat = f"<message type='chat' id='m1'><body>hi</body>{delay}"

    assert codec.decode(stamped(request, sender="a@x/1")) is None
    assert isinstance(codec.decode(stamped(chat, sender="you@x/phone")), AclMessage)


def test_typing_and_receipts_say_nothing() -> None:
    typing = codec.encode_state("you@x", "composing", "t1")

    assert codec.decode(stamped(typing, sender="you@x/phone")) is None


def test_a_returned_message_names_the_request_and_the_condition() -> None:
    stanza = (
        "<message type='error' id='id-1'><body>echo of my own words</body><error type='cancel'>"
        "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
        "<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>gone</text></error></message>"
    )

    bounce = codec.decode(stamped(stanza, sender="b@x"))

    assert bounce == Bounce(message_id="id-1", peer="b@x", condition="service-unavailable")


def test_unreadable_metadata_is_malformed_and_names_the_key() -> None:
    stanza = codec.encode(a_request()).replace("performative='request'", "performative='dance'")
    stanza = stanza.replace('performative="request"', 'performative="dance"')

    with pytest.raises(MalformedContent, match="performative"):
        codec.decode(stamped(stanza, sender="a@x/1"))


def test_a_stanza_that_would_close_our_stream_is_not_written() -> None:
    with pytest.raises(MalformedContent, match="bytes"):
        codec.encode(a_request(content="é" * codec.MAX_STANZA_BYTES))


def test_a_long_answer_to_a_person_leaves_in_pieces_and_whole() -> None:
    text = "\n".join(f"line {number}" for number in range(20_000))
    message = a_request(content=text, ontology=CHAT_TEXT, encoding=Encoding.PLAIN)

    pieces = list(codec.split_message(message))

    assert "\n".join(piece.content for piece in pieces) == text
    assert max(len(piece.content) for piece in pieces) <= MAX_MESSAGE_CHARS
    assert len({piece.reply_with for piece in pieces}) == len(pieces)
    assert pieces[-1].reply_with == message.reply_with


def test_a_reply_is_read_without_the_words_that_it_quotes() -> None:
    stanza = (
        "<message type='chat' to='a@x' id='2'>"
        "<body>&gt; which way?\nleft</body><reply xmlns='urn:xmpp:reply:0' id='q1' to='a@x'/>"
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='13'/>"
        "</fallback></message>"
    )

    message = codec.decode(stamped(stanza, sender="ada@x/1"))

    assert isinstance(message, AclMessage)
    assert (message.content, message.in_reply_to) == ("left", "q1")


@pytest.mark.parametrize(
    ("start", "end", "said"), [(4, 2, "abcdef"), (2, 4, "abef"), (9, 99, "abcdef")]
)
def test_no_reply_says_anything_twice(start: int, end: int, said: str) -> None:
    stanza = (
        "<message type='chat' to='a@x' id='2'><body>abcdef</body>"
        "<reply xmlns='urn:xmpp:reply:0' id='q1'/><fallback xmlns='urn:xmpp:fallback:0'"
        f" for='urn:xmpp:reply:0'><body start='{start}' end='{end}'/></fallback></message>"
    )

    message = codec.decode(stamped(stanza, sender="ada@x/1"))

    assert isinstance(message, AclMessage)
    assert message.content == said


@pytest.mark.parametrize(
    "inner",
    [
        "<body>  \n</body>",
        "<body>\u200b\u200e\u202e</body>",
        "<body>I took back a message.</body><retract xmlns='urn:xmpp:message-retract:1' id='1'/>",
        "<body>I took back a message.</body><apply-to xmlns='urn:xmpp:fasten:0' id='1'>"
        "<retract xmlns='urn:xmpp:message-retract:0'/></apply-to>",
    ],
)
def test_invisible_and_retracted_text_is_not_a_message(inner: str) -> None:
    stanza = f"<message type='chat' to='a@x' id='2'>{inner}</message>"

    assert codec.decode(stamped(stanza, sender="ada@x/1")) is None


def test_a_mark_names_a_message_or_is_none() -> None:
    wish = "<body>hi</body><markable xmlns='urn:xmpp:chat-markers:0'/></message>"

    named = codec.decode(stamped(f"<message type='chat' id='m1'>{wish}", sender="ada@x/1"))
    nameless = codec.decode(stamped(f"<message type='chat'>{wish}", sender="ada@x/1"))

    assert isinstance(named, AclMessage)
    assert isinstance(nameless, AclMessage)
    assert "id='m1'" in codec.encode_mark(named).replace('"', "'")
    assert codec.encode_mark(nameless) == ""


def test_unsolicited_messages_may_be_stored_for_offline_users() -> None:
    said = chat_message("eve@x", "hello", metadata={"message_type": "llm"})

    stored = codec.encode(said)
    answered = codec.encode(replace(said, performative=Performative.INFORM))

    assert "no-store" not in stored
    assert "no-store" in answered
