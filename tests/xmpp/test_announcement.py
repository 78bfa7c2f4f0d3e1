"""What an agent says of itself, as everybody's clients read it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import slixmpp
from hypothesis import given
from hypothesis import strategies as st
from slixmpp.plugins.xep_0030 import DiscoInfo

from spade_llm.xmpp.stanzas.announcement import (
    Announcement,
    feature_of,
    read_announcement,
    read_ver,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = st.text("abcxyz019-_.:", min_size=1, max_size=20)


def an_announcement(
    features: frozenset[str] = frozenset({"urn:a"}), facts: Mapping[str, str] | None = None
) -> Announcement:
    return Announcement(name="tools", features=features, facts=facts or {})


async def test_other_software_computes_the_same_hash() -> None:
    reader = slixmpp.ClientXMPP("ada@x", "p")
    reader.register_plugin("xep_0115")
    said = an_announcement(frozenset({"urn:b", "urn:a"}), {"kind": "tools", "tools": "12ab"})

    info = DiscoInfo(xml=said.query())

    assert reader["xep_0115"].generate_verstring(info, "sha-1") == said.ver
    reader.abort()


@given(st.frozensets(WORDS, max_size=5), st.dictionaries(WORDS, WORDS, max_size=3))
def test_announcements_are_read_back(features: frozenset[str], facts: dict[str, str]) -> None:
    said = an_announcement(features, facts)

    heard = read_announcement(ET.fromstring(ET.tostring(said.query())))

    assert heard == said
    assert heard.ver == said.ver


def test_another_fact_is_another_ver() -> None:
    one, other = (an_announcement(facts={"tools": tools}) for tools in ("1", "2"))

    assert one.ver != other.ver


def test_the_ver_is_read_from_a_presence() -> None:
    presence = ET.Element("{jabber:client}presence")
    assert read_ver(presence) == ""

    presence.append(an_announcement().caps())

    assert read_ver(presence) == an_announcement().ver


@given(st.text(max_size=50))
def test_any_query_can_be_read(text: str) -> None:
    query = ET.Element("query")
    ET.SubElement(query, "{http://jabber.org/protocol/disco#info}feature", {"var": text})
    ET.SubElement(query, "{jabber:x:data}x").text = text

    assert read_announcement(query).facts == {}


def test_every_ontology_is_a_feature() -> None:
    assert feature_of("spade-llm.tools/1") == "urn:spade-llm:tools:1"
