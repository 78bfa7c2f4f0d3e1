"""The ACL message and its flat form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import MalformedContent
from spade_llm.messaging import AclMessage, Encoding, Performative, bare, from_metadata, to_metadata

text = st.text(max_size=40)
filled = st.text(min_size=1, max_size=40)
messages = st.builds(
    AclMessage,
    performative=st.sampled_from(Performative),
    sender=text,
    receiver=text,
    content=text,
    ontology=filled,
    protocol=filled,
    language=text,
    conversation_id=text,
    reply_with=filled,
    in_reply_to=text,
    reply_by=st.none() | st.datetimes(timezones=st.just(UTC)),
    encoding=st.sampled_from(Encoding),
    sequence=st.none() | st.integers(min_value=0, max_value=10**9 - 1),
)
keys = st.sampled_from(["performative", "reply-by", "sequence", "reply-with", "ontology"]) | text
garbage = st.dictionaries(keys, text | st.sampled_from(["9999-12-31T23:59:59-12:00", "²", "-1"]))


@given(messages)
def test_a_message_survives_its_flat_form(message: AclMessage) -> None:
    back = from_metadata(
        to_metadata(message),
        sender=message.sender,
        receiver=message.receiver,
        content=message.content,
        encoding=message.encoding,
    )

    assert back == message


@given(garbage)
def test_garbage_is_a_message_or_malformed_and_nothing_else(metadata: dict[str, str]) -> None:
    try:
        message = from_metadata(metadata, sender="a@x", receiver="b@x", content="")
    except MalformedContent:
        return

    assert message.reply_with
    assert message.reply_by is None or message.reply_by.tzinfo is UTC


@pytest.mark.parametrize(
    ("key", "value"),
    [("performative", "shout"), ("reply-by", "soon"), ("sequence", "one")],
)
def test_unreadable_fields_are_named(key: str, value: str) -> None:
    with pytest.raises(MalformedContent, match=f"{key} '{value}'"):
        from_metadata({key: value}, sender="", receiver="", content="")


def test_a_deadline_in_any_zone_is_kept_as_the_same_moment_in_utc() -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=5)))

    read = from_metadata({"reply-by": moment.isoformat()}, sender="", receiver="", content="")

    assert read.reply_by == moment
    assert read.reply_by.tzinfo is UTC


def test_an_answer_says_for_which_behaviour_it_is_as_its_request_did() -> None:
    metadata = {"message_type": "llm", "query_id": "7"}
    asked = from_metadata(
        metadata, sender="a@x", receiver="b@x", content="hello", encoding=Encoding.FORM
    )

    answer = asked.reply(Performative.INFORM, "hello")

    assert asked.extra == metadata
    assert to_metadata(answer)["message_type"] == "llm"
    assert "query_id" not in to_metadata(answer)


def test_plain_text_without_metadata_is_a_chat_request() -> None:
    read = from_metadata({}, sender="ana@home/phone", receiver="bot@home", content="hello")

    assert (read.performative, read.ontology) == (Performative.REQUEST, "chat")
    assert read.owner == "ana@home"


@given(messages)
def test_a_reply_goes_back_to_the_asker_and_names_the_question(message: AclMessage) -> None:
    answer = message.reply(Performative.INFORM, "yes")

    assert (answer.sender, answer.receiver) == (message.receiver, message.sender)
    assert answer.in_reply_to == message.reply_with
    assert answer.conversation_id == message.conversation_id
    assert answer.is_terminal
    assert not message.reply(Performative.INFORM, "y", sequence=0).is_terminal
    assert not message.reply(Performative.AGREE, "").is_terminal


def test_answers_to_one_request_have_ids_of_their_own_that_repeat_with_it() -> None:
    request = AclMessage(performative=Performative.REQUEST, sender="a", receiver="b", content="")

    def ids() -> list[str]:
        return [
            request.reply(Performative.AGREE, "").reply_with,
            request.reply(Performative.INFORM, "", sequence=0).reply_with,
            request.reply(Performative.INFORM, "", sequence=1).reply_with,
            request.reply(Performative.INFORM, "").reply_with,
        ]

    assert ids() == ids()
    assert len(set(ids())) == 4


def test_the_bare_jid_has_no_resource() -> None:
    assert [bare("a@b/c/d"), bare("a@b"), bare("")] == ["a@b", "a@b", ""]
