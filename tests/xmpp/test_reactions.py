"""Reading what people's clients send as a reaction."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.xmpp.stanzas.references import MAX_REACTIONS, read_reactions


def stanza(inner: str, *, kind: str = "chat") -> Element:
    return fromstring(f"<message xmlns='jabber:client' type='{kind}'>{inner}</message>")


def reactions(*emojis: str, to: str = "a1") -> str:
    inner = "".join(f"<reaction>{one}</reaction>" for one in emojis)
    return f"<reactions xmlns='urn:xmpp:reactions:0' id='{to}'>{inner}</reactions>"


def test_a_reaction_names_its_message() -> None:
    found = read_reactions(stanza(reactions("👍", "🎉")))

    assert found is not None
    assert (found.message_id, set(found.emojis), found.is_alone) == ("a1", {"👍", "🎉"}, True)


def test_an_empty_reaction_list_removes_earlier_ones() -> None:
    found = read_reactions(stanza(reactions()))

    assert found is not None
    assert found.emojis == frozenset()


def test_a_body_for_older_clients_says_nothing_of_its_own() -> None:
    marked = "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reactions:0'/>"

    older = read_reactions(stanza(f"<body>&gt; yes\n👍</body>{marked}{reactions('👍')}"))
    said = read_reactions(stanza(f"<body>and more</body>{reactions('👍')}"))

    assert older is not None
    assert older.is_alone
    assert said is not None
    assert not said.is_alone


@pytest.mark.parametrize(
    "xml",
    [
        stanza("<body>👍</body>"),
        stanza(reactions("👍"), kind="groupchat"),
        stanza(reactions("👍"), kind="error"),
        stanza(reactions("👍", to="")),
        stanza(reactions("👍", to="x" * 2000)),
    ],
)
def test_anything_else_is_no_reaction(xml: Element) -> None:
    assert read_reactions(xml) is None


@given(st.lists(st.text(st.characters(codec="utf-8", min_codepoint=32)), max_size=60))
def test_reactions_are_limited_in_number_and_length(texts: list[str]) -> None:
    xml = stanza(reactions(*("" for _ in texts)))
    for one, text in zip(xml.iter("{urn:xmpp:reactions:0}reaction"), texts, strict=True):
        one.text = text

    found = read_reactions(xml)

    assert found is not None
    assert len(found.emojis) <= MAX_REACTIONS
    assert all(len(one) <= 16 for one in found.emojis)
