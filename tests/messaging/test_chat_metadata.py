"""What a person's client says beside the text: kept with the message, and not told to others."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.messaging import (
    AclMessage,
    ChatMetadata,
    Encoding,
    Performative,
    from_metadata,
    to_metadata,
)

NAMES = [one.name for one in fields(ChatMetadata)]
SAID = st.builds(ChatMetadata, **{name: st.text(max_size=8) for name in NAMES})


def a_message(said: ChatMetadata, *, encoding: Encoding = Encoding.PLAIN) -> AclMessage:
    return AclMessage(
        performative=Performative.REQUEST,
        sender="ada@x/phone",
        receiver="a@x/1",
        content="hi",
        encoding=encoding,
        said=said,
    )


@given(SAID)
def test_it_is_kept_as_flat_text_and_read_back(said: ChatMetadata) -> None:
    assert ChatMetadata.from_fields(said.to_fields()) == said


def test_empty_fields_are_not_written() -> None:
    assert ChatMetadata().to_fields() == {}


@given(SAID)
def test_a_plain_message_keeps_it_in_the_log(said: ChatMetadata) -> None:
    message = a_message(said)

    kept = from_metadata(
        to_metadata(message),
        sender=message.sender,
        receiver=message.receiver,
        content=message.content,
        encoding=Encoding.PLAIN,
    )

    assert kept == message


def test_no_program_says_it_for_a_person() -> None:
    claimed = ChatMetadata(room="room@x", real="boss@x", corrects="m1").to_fields()
    for encoding in (Encoding.ACL, Encoding.FORM):
        read = from_metadata(
            claimed, sender="mallory@x/1", receiver="a@x", content="", encoding=encoding
        )

        assert read.said == ChatMetadata()
        assert (
            not claimed.keys()
            & to_metadata(replace(a_message(ChatMetadata(room="r@x")), encoding=encoding)).keys()
        )


def test_an_answer_has_nothing_of_it_but_its_room() -> None:
    said = ChatMetadata(corrects="m1", file="https://x/f", quotes="q", wants="displayed")

    private = a_message(said).reply(Performative.INFORM, "yes")
    public = a_message(replace(said, room="room@x", nick="Ada")).reply(Performative.INFORM, "yes")

    assert private.said == ChatMetadata()
    assert (public.said.room, public.said.nick) == ("room@x", "Ada")
    assert {public.said.corrects, public.said.file, public.said.quotes, public.said.wants} == {""}
