"""Stanzas that nobody meant: elements and attributes that we read, where nobody expects them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from random import Random

ELEMENTS = (
    *("body", "thread", "subject", "x", "field", "value", "title", "option", "acl", "reply"),
    *("fallback", "replace", "event", "items", "item", "query", "command", "invite", "delay"),
    *("error", "encrypted", "reactions", "reaction", "forwarded", "message", "result", "sent"),
    *("received", "url", "markable", "displayed", "request", "composing", "paused", "status"),
    *("nick", "occupant-id", "data", "metadata", "info", "actions", "reference", "hops", "c"),
    *("decline", "destroy", "ping", "vCard", "time", "fin", "set", "stanza-id", "origin-id"),
)
NAMESPACES = (
    *("jabber:client", "jabber:x:data", "jabber:x:delay", "jabber:x:oob", "jabber:x:conference"),
    *("urn:spade-llm:acl:1", "urn:spade-llm:rooms:1", "urn:xmpp:delay", "urn:xmpp:reply:0"),
    *("urn:xmpp:fallback:0", "urn:xmpp:message-correct:0", "urn:xmpp:chat-markers:0"),
    *("urn:xmpp:receipts", "urn:xmpp:reactions:0", "urn:xmpp:carbons:2", "urn:xmpp:forward:0"),
    *("urn:xmpp:hints", "urn:xmpp:mam:2", "urn:xmpp:occupant-id:0", "urn:xmpp:reference:0"),
    *("http://jabber.org/protocol/muc#user", "http://jabber.org/protocol/muc"),
    *("http://jabber.org/protocol/pubsub#event", "http://jabber.org/protocol/commands"),
    *("http://jabber.org/protocol/chatstates", "http://jabber.org/protocol/caps"),
    *("http://jabber.org/protocol/disco#info", "http://jabber.org/protocol/disco#items"),
    *("eu.siacs.conversations.axolotl", "jabber:x:encrypted", "vcard-temp", "jabber:iq:version"),
    *("urn:xmpp:time", "urn:xmpp:ping", "urn:ietf:params:xml:ns:xmpp-stanzas", "urn:other"),
)
ATTRIBUTES = (
    *("id", "type", "node", "action", "sessionid", "var", "jid", "performative", "ontology"),
    *("protocol", "language", "conversation-id", "reply-with", "in-reply-to", "reply-by"),
    *("sequence", "traceparent", "for", "start", "end", "begin", "uri", "stamp", "code", "by"),
    *("role", "affiliation", "ver", "hash", "from", "to", "xmlns:y", "queryid", "complete"),
)
TEXTS = (
    *("", "hello", "yes", "/forget all", "/join", "spade:x:metadata", "request", "inform"),
    *("cancel", "{}", "[" * 300, '{"op":"say","text":"x"}', "-1", "99999999999", "0", "NaN"),
    *("\u202eevil\u202c", "\u2066x", "\u200b" * 50, "a" * 2000, "é" * 1025, "\ud7ff\ue000"),
    *("2026-01-01T00:00:00Z", "0000-00-00", "+99:99", "http://[::1", "aesgcm://x", "file:///etc"),
    *("a@b/c", "@", "/", "@@", "x@" + "y" * 1100, "room@conference.localhost/nick", "\ufffd"),
    *("execute", "next", "submit", "form", "result", "error", "groupchat", "get", "set", "chat"),
)
KINDS = {
    "message": ("chat", "normal", "groupchat", "headline", "error", "odd", ""),
    "presence": ("", "unavailable", "subscribe", "subscribed", "unsubscribe", "probe", "error"),
    "iq": ("get", "set", "result", "error"),
}


def random_stanza(random: Random, *, sender: str, receiver: str) -> str:
    name = random.choices(("message", "presence", "iq"), (6, 1, 2))[0]
    kind = random.choice(KINDS[name])
    inner = "".join(_element(random, depth=0) for _ in range(random.randint(0, 4)))
    kinds = f" type={quoteattr(kind)}" if kind else ""
    id = quoteattr(random.choice(("", "m1", "a" * 1500, f"f{random.random()}")))
    return (
        f"<{name} xmlns='jabber:client' from={quoteattr(sender)} to={quoteattr(receiver)}"
        f"{kinds} id={id}>{inner}</{name}>"
    )


def _element(random: Random, *, depth: int) -> str:
    name, namespace = random.choice(ELEMENTS), random.choice(NAMESPACES)
    if random.random() < 0.3:
        name, namespace = random.choice(("body", "thread")), "jabber:client"
    names = random.sample([one for one in ATTRIBUTES if ":" not in one], random.randint(0, 4))
    attributes = "".join(f" {one}={quoteattr(random.choice(TEXTS))}" for one in names)
    children = random.randint(0, 3) if depth < 4 else 0
    inner = "".join(_element(random, depth=depth + 1) for _ in range(children))
    text = escape(random.choice(TEXTS)) if random.random() < 0.6 else ""
    return f"<{name} xmlns={quoteattr(namespace)}{attributes}>{text}{inner}</{name}>"
