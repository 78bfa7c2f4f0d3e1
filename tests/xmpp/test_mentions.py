"""Who is spoken to in a room."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.messaging import ChatMetadata
from spade_llm.xmpp.stanzas.references import is_mentioned, read_hops, text_for_nick, with_mention

ROOM = "tea@conference.example.org"
OWN = frozenset({f"{ROOM}/bot", "bot@example.org"})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("bot: what is it?", "what is it?"),
        ("Bot, what is it?", "what is it?"),
        ("@bot what is it?", "what is it?"),
        ("  bot what is it?", "what is it?"),
        ("bot: /help", "/help"),
        ("bot", "bot"),
        ("what is it, @bot?", "what is it, @bot?"),
        ("> quoted\nand what do you say, @BOT", "> quoted\nand what do you say, @BOT"),
    ],
)
def test_a_name_at_the_beginning_or_behind_an_at_speaks_to_it(body: str, text: str) -> None:
    assert text_for_nick("bot", body) == text


@pytest.mark.parametrize(
    "body",
    [
        "the bot is asleep",
        "bots: all of you",
        "bot2: you",
        "bot-two: you",
        "bot's answer was wrong",
        "write to ada@bot.example.org",
        "mail@bot is mine",
        "> bot: what is it?\nno idea",
        "> what is it, @bot?\nno idea",
        "@botany is fun",
    ],
)
def test_anything_else_does_not(body: str) -> None:
    assert text_for_nick("bot", body) is None


def test_a_file_s_address_stands_alone() -> None:
    url = "https://files.example.org/answer.md"

    text, xml = with_mention(url, ChatMetadata(room=ROOM, nick="ada", file=url))

    assert text == url
    assert "hops" in xml


def test_long_names_are_shortened_in_text_and_complete_in_the_mention() -> None:
    nick = "L" * 1000

    text, xml = with_mention("hello", ChatMetadata(room=ROOM, nick=nick))

    assert text == "L" * 64 + ": hello"
    assert "end='64'" in xml
    assert nick in xml


@given(nick=st.text(min_size=1).filter(str.strip), body=st.text())
def test_no_name_and_no_text_break_it(nick: str, body: str) -> None:
    said = text_for_nick(nick, body)

    assert said is None or said in body


@given(body=st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_text_after_the_name_is_complete(body: str) -> None:
    assert text_for_nick("bot", f"bot: {body}") == body


def message(inner: str) -> ET.Element:
    return ET.fromstring(f"<message xmlns='jabber:client'>{inner}</message>")


@pytest.mark.parametrize(
    ("inner", "is_meant"),
    [
        (f"<reference xmlns='urn:xmpp:reference:0' type='mention' uri='xmpp:{ROOM}/bot'/>", True),
        ("<reference xmlns='urn:xmpp:reference:0' type='mention' uri='xmpp:bot@example.org'/>", 1),
        (f"<reference xmlns='urn:xmpp:reference:0' type='data' uri='xmpp:{ROOM}/bot'/>", False),
        (f"<reference xmlns='urn:xmpp:reference:0' type='mention' uri='xmpp:{ROOM}/bo'/>", False),
        (f"<reply xmlns='urn:xmpp:reply:0' to='{ROOM}/bot' id='7'/>", True),
        (f"<reply xmlns='urn:xmpp:reply:0' to='{ROOM}/ada' id='7'/>", False),
        ("", False),
    ],
)
def test_mentions_and_replies_address_the_named_occupant(inner: str, is_meant: bool) -> None:
    assert is_mentioned(message(inner), OWN) == is_meant


@pytest.mark.parametrize(("count", "hops"), [("3", 3), ("x", 0), ("-1", 0), ("9999999", 0)])
def test_hops_that_are_no_number_are_none(count: str, hops: int) -> None:
    assert read_hops(message(f"<hops xmlns='urn:spade-llm:rooms:1' count='{count}'/>")) == hops


def test_an_answer_names_its_addressee_and_a_block_keeps_its_line() -> None:
    said = ChatMetadata(room=ROOM, nick="ada b", hops="2")

    text, xml = with_mention("yes", said)
    block, _ = with_mention("```\ncode\n```", said)

    assert text == "ada b: yes"
    assert f'uri="xmpp:{ROOM}/ada%20b"' in xml
    assert "end='5'" in xml
    assert 'count="2"' in xml
    assert block == "ada b:\n```\ncode\n```"


def test_a_nick_that_turns_the_direction_of_writing_is_shown_without_that() -> None:
    text, _ = with_mention("yes", ChatMetadata(room=ROOM, nick="ada\u202e\u200b"))

    assert text == "ada: yes"
