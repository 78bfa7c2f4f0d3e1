"""XML namespaces, a length limit and the language attribute, shared by the codecs of stanzas."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CHAT_STATES = "http://jabber.org/protocol/chatstates"
DATA_FORM = "jabber:x:data"
DELAY = "urn:xmpp:delay"
DISCO_INFO = "http://jabber.org/protocol/disco#info"
DISCO_ITEMS = "http://jabber.org/protocol/disco#items"
FALLBACK = "urn:xmpp:fallback:0"
HINTS = "urn:xmpp:hints"
MARKERS = "urn:xmpp:chat-markers:0"
RECEIPTS = "urn:xmpp:receipts"
REPLY = "urn:xmpp:reply:0"
STANZA_ERRORS = "urn:ietf:params:xml:ns:xmpp-stanzas"
TIME = "urn:xmpp:time"
VERSION = "jabber:iq:version"

MAX_NAME_CHARS = 1024
"""Maximum length in characters of a stanza's id, its thread and each ACL parameter: they are stored
and sent back."""

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def client_language(stanza: Element) -> str:
    """`en` or `es`, by its `xml:lang`."""
    return "es" if stanza.get(_LANG, "").lower().startswith("es") else "en"
