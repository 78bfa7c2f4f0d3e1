"""Typed JSON bodies: what goes in comes out, and what comes from a peer cannot hurt."""

from __future__ import annotations

import json
import re
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import InvalidArguments, MalformedContent, StorageFailed
from spade_llm.messaging import (
    CHAT_TEXT,
    MAX_BODY_BYTES,
    AclMessage,
    Body,
    Empty,
    ErrorBody,
    Performative,
    read_request,
)
from spade_llm.messaging.body import error_answer, peek_field, read_error

XML_FORBIDS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Call(Body):
    op: ClassVar[str] = "call"
    arguments: dict[str, object]


class Note(Body):
    op: ClassVar[str] = "note"

    text: str = ""
    count: int = 0
    kind: Literal["fact", "pattern"] = "fact"
    tags: dict[str, str | None] = {}
    score: float | None = None


notes = st.builds(
    Note,
    text=st.text(),
    count=st.integers(),
    kind=st.sampled_from(["fact", "pattern"]),
    tags=st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=8), max_size=3),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@given(notes)
def test_a_body_survives_the_wire_as_text_that_xml_can_carry(note: Note) -> None:
    wire = note.encode()

    assert Note.decode(wire) == note
    assert read_request(wire).op == "note"
    assert not XML_FORBIDS.search(wire)


def test_a_field_is_found_in_a_body_but_not_in_a_text_that_quotes_one() -> None:
    quoting = Call(arguments={"text": '"person":"eve"', "context": {"person": "ada"}}).encode()

    assert peek_field(quoting, "person") == "ada"
    assert peek_field('{"person" : "ada"}', "person") == "ada"
    assert peek_field(quoting, "turn") == ""


def test_characters_that_xml_forbids_are_escaped() -> None:
    wire = Note(text="\x00\x1f\ufffe\uffff", tags={"\uffff": None}).encode()

    assert r"\u0000\u001f\ufffe\uffff" in wire
    assert not XML_FORBIDS.search(wire)


def test_half_of_a_surrogate_pair_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidArguments, match="not valid Unicode"):
        Note(text="\ud83d").encode()


def test_a_body_that_is_nested_too_deeply_is_refused_as_that() -> None:
    deep: object = 1
    for _ in range(500):
        deep = [deep]

    with pytest.raises(InvalidArguments, match="nested too deeply"):
        Call(arguments={"x": deep}).encode()


@pytest.mark.parametrize("letter", ["x", "é", "😀", "\x00"])
def test_a_body_of_exactly_the_cap_passes_and_one_byte_more_does_not(letter: str) -> None:
    size = len(json.dumps(letter, ensure_ascii=False).encode()) - 2
    frame = len(ErrorBody(code="").encode())
    count, rest = divmod(MAX_BODY_BYTES - frame, size)

    full = ErrorBody(code=letter * count + "x" * rest).encode()

    assert len(full.encode()) == MAX_BODY_BYTES
    assert ErrorBody.decode(full).code == letter * count + "x" * rest
    with pytest.raises(InvalidArguments, match="in pages or as a file"):
        ErrorBody(code=letter * count + "x" * (rest + 1)).encode()
    with pytest.raises(MalformedContent, match="bytes"):
        ErrorBody.decode(full + " ")
    with pytest.raises(MalformedContent, match="bytes"):
        read_request(full + " ")


def test_unknown_fields_are_ignored() -> None:
    assert Note.decode('{"op":"note","text":"a","colour":{"deep":[1]}}') == Note(text="a")


@pytest.mark.parametrize(
    ("wire", "named"),
    [
        ('{"count":"many"}', "count: "),
        ('{"kind":"rumour"}', "kind: "),
        ('{"tags":{"a":1}}', "tags.a: "),
        ('{"score":1e999}', "score: "),
        ('{"text":null}', "text: "),
    ],
)
def test_a_wrong_field_is_named(wire: str, named: str) -> None:
    with pytest.raises(InvalidArguments, match=f"^{named}"):
        Note.decode(wire)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidArguments, match="^code: Field required"):
        ErrorBody.decode("{}")


def test_a_wrong_value_is_not_repeated_to_the_peer() -> None:
    with pytest.raises(InvalidArguments) as raised:
        Note.decode('{"count":"hunter2"}')

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "wire", ["", "null", "[]", "7", "{", '{"text":"\\ud83d"}', '{"text":"\ud83d"}', "[" * 100_000]
)
def test_a_body_that_is_not_a_json_object_is_malformed(wire: str) -> None:
    with pytest.raises(MalformedContent):
        Note.decode(wire)
    with pytest.raises(MalformedContent):
        read_request(wire)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_garbage_never_raises_anything_else(wire: str) -> None:
    for read in (Note.decode, read_request, read_error):
        try:
            read(wire)
        except (MalformedContent, InvalidArguments):
            continue


def test_an_empty_body_is_an_object() -> None:
    assert Empty().encode() == "{}"
    assert Note().encode().startswith('{"op":"note"')


@pytest.mark.parametrize("wire", ['{"op":1}', '{"op":null}'])
def test_an_operation_that_is_no_text_is_malformed(wire: str) -> None:
    with pytest.raises(MalformedContent):
        read_request(wire)


def test_a_foreign_error_text_is_kept_as_detail_but_bounded() -> None:
    assert read_error("it broke") == ErrorBody(code="", detail="it broke")
    assert len(read_error("x" * 9999).detail) == 500
    assert len(read_error(ErrorBody(code="busy", detail="x" * 9999).encode()).detail) == 500


def test_a_copy_with_other_fields_is_written_as_what_it_is() -> None:
    body = Note(text="before")
    assert body.size_bytes

    changed = body.model_copy(update={"text": "after"})

    assert "after" in changed.encode()


def test_a_person_is_told_in_plain_words_that_the_disk_failed() -> None:
    request = AclMessage(
        performative=Performative.REQUEST,
        sender="ada@x",
        receiver="assistant@x",
        content="What is my name?",
        ontology=CHAT_TEXT,
    )

    content = error_answer(request, StorageFailed("the answer log cannot be used")).content

    assert content.startswith("I cannot save data right now")
