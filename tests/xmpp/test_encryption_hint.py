"""Who writes encrypted is told so, once, and what stands beside the secret is nobody's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree

import pytest

from spade_llm.xmpp.features.encryption_hint import EVERY_S, MAX_CONVERSATIONS, EncryptionHint

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from xml.etree.ElementTree import Element

    from spade_llm.messaging import AclMessage
    from spade_llm.xmpp.agent import XmppAgent

OMEMO = (
    "<encrypted xmlns='eu.siacs.conversations.axolotl'><header sid='1'/><payload>AAAA</payload>"
    "</encrypted>"
)
KEYS = "<encrypted xmlns='eu.siacs.conversations.axolotl'><header sid='1'/></encrypted>"
OPENPGP = "<openpgp xmlns='urn:xmpp:openpgp:0'>AAAA</openpgp>"
OLD_PGP = "<x xmlns='jabber:x:encrypted'>AAAA</x>"
SIGNED = "<x xmlns='jabber:x:signed'>AAAA</x>"
FALLBACK = "<body>I sent you an OMEMO encrypted message.</body>"


class Sending:
    """The part of an agent that the hint uses; what is sent stays here."""

    def __init__(self) -> None:
        self.message_filters: list[Callable[[Element], bool]] = []
        self.sent: list[AclMessage] = []
        self.now = 0.0
        EncryptionHint(cast("XmppAgent", self), clock=lambda: self.now)  # All that is used is here.

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        with pytest.raises(StopIteration):
            work.send(None)

    async def send_acl(self, message: AclMessage) -> None:
        self.sent.append(message)

    def gets(self, inner: str, *, sender: str = "ada@x/phone", more: str = "type='chat'") -> bool:
        text = f"<message xmlns='jabber:client' from='{sender}' id='m1' {more}>{inner}</message>"
        xml = ElementTree.fromstring(text)
        return any([take(xml) for take in self.message_filters])


@pytest.mark.parametrize(
    ("inner", "name"),
    [(OMEMO + FALLBACK, "OMEMO"), (OMEMO, "OMEMO"), (OPENPGP, "OpenPGP"), (OLD_PGP, "OpenPGP")],
)
def test_an_encrypted_message_is_taken_and_its_writer_told(inner: str, name: str) -> None:
    agent = Sending()

    assert agent.gets(inner)

    (hint,) = agent.sent
    assert (hint.receiver, hint.in_reply_to) == ("ada@x/phone", "m1")
    assert f"switch encryption ({name}) off" in hint.content


def test_in_the_language_of_the_client() -> None:
    agent = Sending()

    agent.gets(OMEMO, more="type='chat' xml:lang='es-ES'")

    assert agent.sent[0].content.startswith("No puedo leer mensajes cifrados.")


@pytest.mark.parametrize("inner", ["<body>hello</body>", SIGNED + "<body>hello</body>"])
def test_readable_messages_get_no_hint(inner: str) -> None:
    agent = Sending()

    assert not agent.gets(inner)
    assert agent.sent == []


def test_keys_alone_say_nothing() -> None:
    agent = Sending()

    assert agent.gets(KEYS)
    assert agent.sent == []


def test_it_is_told_once_an_hour_in_each_conversation() -> None:
    agent = Sending()
    thread = "<thread>t1</thread>"
    for _ in range(3):
        assert agent.gets(OMEMO)
        assert agent.gets(OMEMO, sender="ada@x/laptop")
        assert agent.gets(OMEMO + thread)
    assert [one.conversation_id for one in agent.sent] == ["", "t1"]

    agent.now = EVERY_S
    agent.gets(OMEMO)

    assert len(agent.sent) == 3


def test_the_list_of_notified_senders_is_bounded() -> None:
    agent = Sending()
    for number in range(MAX_CONVERSATIONS + 1):
        agent.gets(OMEMO, sender=f"p{number}@x/1")
    agent.sent.clear()

    agent.gets(OMEMO, sender=f"p{MAX_CONVERSATIONS}@x/1")
    agent.gets(OMEMO, sender="p0@x/1")

    assert [one.receiver for one in agent.sent] == ["p0@x/1"]


@pytest.mark.parametrize("kind", ["error", "groupchat", "headline"])
def test_rooms_and_errors_are_not_answered(kind: str) -> None:
    agent = Sending()

    assert not agent.gets(OMEMO + FALLBACK, more=f"type='{kind}'")
    assert agent.sent == []
