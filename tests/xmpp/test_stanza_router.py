"""Message handlers are registered by child element, so that other messages do not enter them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from spade_llm.xmpp.stanza_router import on_extension

REACTIONS = "{urn:xmpp:reactions:0}reactions"
REACTION = "<reactions xmlns='urn:xmpp:reactions:0' id='m1'/>"


def message(inner: str) -> ET.Element:
    return ET.fromstring(f"<message xmlns='jabber:client'>{inner}</message>")


def test_a_handler_is_called_only_for_messages_with_its_child_element() -> None:
    seen: list[ET.Element] = []
    handle = on_extension((REACTIONS,), seen.append)
    reaction = message(f"<body/>{REACTION}")

    handle(reaction)
    handle(message("<body>hello</body>"))
    handle(message(f"<forwarded xmlns='urn:xmpp:forward:0'>{REACTION}</forwarded>"))

    assert seen == [reaction]


def test_a_handler_decides_on_messages_with_its_element_and_claims_no_others() -> None:
    claim = on_extension((REACTIONS,), lambda _: True)

    assert claim(message(REACTION)) is True
    assert claim(message("<body>hello</body>")) is False
