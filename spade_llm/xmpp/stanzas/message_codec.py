"""Message codec: AclMessage to and from `<message/>`, marks, chat states, message splitting.

Between our agents the ACL parameters are the attributes of an `<acl/>` element. A plain SPADE
agent's message carries SPADE's metadata form (XEP-0004, titled `spade:x:metadata`), a person's only
a `<body/>`. An answer is encoded as its request was. All messages carry a `<thread/>` (XEP-0201).
All but those to people, or to JIDs that may be people, carry the hints no-store and no-copy
(XEP-0334).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from unicodedata import category
from xml.sax.saxutils import escape, quoteattr

from spade_llm.core.errors import MalformedContent
from spade_llm.messaging import (
    CHAT_TEXT,
    CHAT_TYPE,
    MESSAGE_TYPE,
    AclMessage,
    ChatMetadata,
    Encoding,
    Performative,
    bare,
    from_metadata,
    to_metadata,
)
from spade_llm.messaging.message import new_id
from spade_llm.messaging.transport import Bounce
from spade_llm.xmpp.connection.jids import is_jid
from spade_llm.xmpp.stanzas.namespaces import (
    CHAT_STATES,
    DATA_FORM,
    DELAY,
    HINTS,
    MARKERS,
    MAX_NAME_CHARS,
    RECEIPTS,
    REPLY,
    STANZA_ERRORS,
)
from spade_llm.xmpp.stanzas.references import with_mention, without_quotation

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_STANZA_BYTES = 255 * 1024
"""Prosody and ejabberd close the sender's whole stream above 256 KB."""
MAX_SHOWN = 80
MAX_MESSAGE_CHARS = 4000
"""Maximum length of a message to a person, in characters."""

ACL_NAMESPACE = "urn:spade-llm:acl:1"
CORRECTION = "urn:xmpp:message-correct:0"
ACTIVE = f"<active xmlns='{CHAT_STATES}'/>"
"""Ends what was said of typing: with a correction, clients take that back for nothing else."""

ACL_TAG = f"{{{ACL_NAMESPACE}}}acl"
_CLIENT = "{jabber:client}"
_BODY = f"{_CLIENT}body"
_THREAD = f"{_CLIENT}thread"
_FORM = f"{{{DATA_FORM}}}"
# XEP-0203, and XEP-0091 before it.
_DELAYS = frozenset({f"{{{DELAY}}}delay", "{jabber:x:delay}x"})
_TITLE = "spade:x:metadata"
_REPLY = f"{{{REPLY}}}reply"
_OOB_URL = "{jabber:x:oob}x/{jabber:x:oob}url"
_MARKS = {"displayed": MARKERS, "received": RECEIPTS}
_RETRACTIONS = (
    "{urn:xmpp:message-retract:1}retract",
    "{urn:xmpp:fasten:0}apply-to/{urn:xmpp:message-retract:0}retract",
)
"""XEP-0424: what stands beside it is a sentence about it."""
_MARKABLE = f"{{{MARKERS}}}markable"
_RECEIPT = f"{{{RECEIPTS}}}request"
_HINTS = f"<no-store xmlns='{HINTS}'/><no-copy xmlns='{HINTS}'/>"
_UNSEEN = frozenset({"Cc", "Cf"})
_NEEDS_NO_ESCAPE = re.compile(r"[\w .:/@+*#,;=-]*", re.ASCII).fullmatch
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 §2.2 forbids in any form, escaped or not."""
_END = "</message>"
_STILL_GROWING = (
    f"<composing xmlns='{CHAT_STATES}'/>"
    f"<no-store xmlns='{HINTS}'/><no-permanent-store xmlns='{HINTS}'/>"
)
_FENCE = "```"
_BORDERS = ("\n\n", "\n", " ")
_MAX_INFO = 40
"""Maximum length of a reopened fence line with its language: a piece has room for text."""
_FEWEST = 4
"""A piece is not cut in its first quarter, if it can be cut later less well."""


def encode(message: AclMessage) -> str:
    """Encode a message as a stanza, without `from`: the server stamps it.

    Raises:
        MalformedContent: it is larger than a server accepts, or the receiver is not a JID: servers
            return such a stanza from an invalid JID, at which slixmpp 1.12 ends the connection.
    """
    if not is_jid(message.receiver):
        raise MalformedContent(f"{message.receiver[:MAX_SHOWN]!r} is no JID: write name@domain")
    content, mention = message.content, ""
    if message.said.room:
        content, mention = with_mention(content, message.said)
    thread = f"<thread>{_text(message.conversation_id)}</thread>" if message.conversation_id else ""
    stanza = (
        f"<message {_address(message)} id={_attribute(message.reply_with)}>"
        f"<body>{_text(content)}</body>{thread}{_WRITERS[message.encoding](message)}"
        f"{mention}</message>"
    )
    # A character takes four bytes at most: a short stanza is not encoded to be measured.
    if len(stanza) * 4 > MAX_STANZA_BYTES and len(stanza.encode()) > MAX_STANZA_BYTES:
        raise MalformedContent(f"the message has over {MAX_STANZA_BYTES} bytes")
    return stanza


def encode_state(receiver: str, state: str, thread: str) -> str:
    """A chat state (XEP-0085), for instance `composing`; never stored."""
    inner = f"<thread>{_text(thread)}</thread>" if thread else ""
    return (
        f"<message type='chat' to={_attribute(receiver)}>{inner}"
        f"<{state} xmlns='{CHAT_STATES}'/>{_HINTS}</message>"
    )


def encode_mark(message: AclMessage) -> str:
    """Encode the mark that the sender of a message requested: displayed (XEP-0333) or received
    (XEP-0184); empty if none is requested."""
    if not (namespace := _MARKS.get(message.said.wants)):
        return ""
    mark = f"<{message.said.wants} xmlns='{namespace}' id={_attribute(message.reply_with)}/>"
    return (
        f"<message type='chat' to={_attribute(message.sender)} id='{new_id()}'>"
        # Without a body, servers store it for an offline sender only if they are told (XEP-0334).
        f"{mark}<store xmlns='{HINTS}'/></message>"
    )


def encode_overload(xml: Element, *, text: str = "") -> str:
    """A stanza error that says that this stanza came too fast, and may be sent again later
    (RFC 6120 §8.3.3.18); it repeats nothing of the stanza but its id. Empty where no stanza error
    may answer: to an error, or to a name that is too long to send back."""
    id, sender = xml.get("id", ""), xml.get("from", "")
    if xml.get("type") in ("error", "result") or len(id) > MAX_NAME_CHARS or not is_jid(sender):
        return ""
    said = f"<text xmlns='{STANZA_ERRORS}'>{_text(text)}</text>" if text else ""
    name = xml.tag.rpartition("}")[2]
    return (
        f"<{name} type='error' to={_attribute(sender)} id={_attribute(id)}><error type='wait'>"
        f"<resource-constraint xmlns='{STANZA_ERRORS}'/>{said}</error></{name}>"
    )


def split_message(message: AclMessage) -> Iterator[AclMessage]:
    """A person's long answer as several messages; the last of them has its id."""
    *first, last = split_text(message.content)
    for number, text in enumerate(first):
        yield replace(message, content=text, reply_with=f"{message.reply_with}.{number}")
    yield replace(message, content=last)


def split_text(text: str, *, max_chars: int = MAX_MESSAGE_CHARS) -> Iterator[str]:
    """Split a long text, between paragraphs if possible; only white space at the cuts is lost. A
    block of code that is cut is closed, and opened again in the next piece."""
    opened, rest, has_begun = "", text, False
    while len(opened) + len(rest) > max_chars:
        # Each piece may have to be closed: a line break and a fence.
        room = max_chars - len(opened) - len(_FENCE) - 1
        cut = _cut_point(rest, room)
        piece, rest = opened + rest[:cut].rstrip(), rest[cut:]
        # A line that goes on keeps its indentation.
        rest = rest.lstrip("\n") if rest.startswith("\n") else rest.removeprefix(" ")
        opened = _open_code_block(piece)
        if piece.strip():
            has_begun = True
            yield f"{piece}\n{_FENCE}" if opened else piece
    if rest.strip() or not has_begun:
        yield opened + rest


def _cut_point(text: str, room: int) -> int:
    for border in _BORDERS:
        cut = text.rfind(border, room // _FEWEST, room + len(border))
        if cut > 0:
            return cut
    return room


def _open_code_block(piece: str) -> str:
    """Return the line that opens the unclosed block of code at the end; empty if there is none."""
    opened = ""
    for line in piece.split("\n"):
        if not opened and line.startswith(_FENCE):
            opened = f"{line[:_MAX_INFO]}\n"
        elif opened and line.rstrip() == _FENCE:
            opened = ""
    return opened


def decode(xml: Element) -> AclMessage | Bounce | None:
    """Decode a `<message/>` to an agent; None for chat states, markers, room messages and expired
    requests.

    Raises:
        MalformedContent: it carries ACL metadata that cannot be read, or names that are too long.
    """
    kind = xml.get("type", "normal")
    if kind == "error":
        return _bounce(xml)
    if kind not in ("chat", "normal"):
        return None
    acl = xml.find(ACL_TAG)
    metadata = dict(acl.attrib) if acl is not None else _read_form(xml)
    if not metadata:
        return read_chat(xml)
    if is_delayed(xml):
        # Only chat without a deadline, which no sender repeats, is still valid.
        is_chat = (metadata.get("ontology") or CHAT_TEXT) == CHAT_TEXT
        if metadata.get("reply-by") or not is_chat:
            return None
    return _request(xml, metadata, Encoding.FORM if acl is None else Encoding.ACL)


def is_delayed(xml: Element) -> bool:
    """True for delayed delivery (XEP-0203): the message is old."""
    # Prosody (mod_smacks 0.12) marks what it sends again in a resumed stream as delayed by our own
    # JID: that is seconds old, and its sender still waits.
    marks = [child for child in xml if child.tag in _DELAYS]
    return any(mark.get("from") != bare(xml.get("to", "")) for mark in marks)


def read_metadata(xml: Element) -> dict[str, str]:
    """The ACL parameters; empty for a person's message."""
    acl = xml.find(ACL_TAG)
    return dict(acl.attrib) if acl is not None else _read_form(xml)


def encoding_of(xml: Element) -> Encoding:
    if xml.find(ACL_TAG) is not None:
        return Encoding.ACL
    return Encoding.FORM if _read_form(xml) else Encoding.PLAIN


def read_chat(xml: Element) -> AclMessage | None:
    """Decode a `<message/>` without metadata; room messages are completed by `Rooms`."""
    body, replied_to, quoted = xml.findtext(f"{_CLIENT}body") or "", "", ""
    if body and (reply := xml.find(_REPLY)) is not None:
        replied_to = reply.get("id", "")
        body, quoted = without_quotation(xml, body)
    has_words = any(not char.isspace() and category(char) not in _UNSEEN for char in body)
    if not has_words or any(xml.find(tag) is not None for tag in _RETRACTIONS):
        return None
    thread = xml.findtext(f"{_CLIENT}thread") or ""
    _check_names({"id": xml.get("id", ""), "thread": thread, "reply": replied_to})
    return AclMessage(
        performative=Performative.REQUEST,
        sender=xml.get("from", ""),
        receiver=xml.get("to", ""),
        content=body,
        ontology=CHAT_TEXT,
        encoding=Encoding.PLAIN,
        conversation_id=thread,
        reply_with=xml.get("id") or new_id(),
        in_reply_to=replied_to,
        said=replace(_said_about(xml), quotes=quoted),
    )


def is_from_self(xml: Element, own: str) -> bool:
    """True for our own message coming back: carbons, reflections, or a mirror."""
    return bare(xml.get("from", "")) in ("", bare(own))


def xml_safe_text(text: str) -> str:
    """Replace characters that XML cannot carry."""
    return _NOT_XML.sub("\ufffd", text)


def encode_partial(answer: AclMessage) -> str:
    """Encode a partial answer to a person. Raises MalformedContent."""
    return encode(answer).removesuffix(_END).removesuffix(ACTIVE) + _STILL_GROWING + _END


def _address(message: AclMessage) -> str:
    """Return type and receiver; a room message is addressed to the room (XEP-0045 §7.4)."""
    if room := message.said.room:
        return f"type='groupchat' to={_attribute(room)}"
    return f"type='chat' to={_attribute(message.receiver)}"


def _read_form(xml: Element) -> dict[str, str]:
    for form in xml.iterfind(f"{_FORM}x"):
        if form.findtext(f"{_FORM}title") == _TITLE:
            fields = ((f.get("var", ""), f.findtext(f"{_FORM}value")) for f in form)
            return {name: value or "" for name, value in fields if name}
    return {}


def _request(xml: Element, metadata: dict[str, str], encoding: Encoding) -> AclMessage:
    thread, id = metadata.pop("_thread_node", "") or xml.findtext(_THREAD) or "", xml.get("id", "")
    _check_names({"id": id, "thread": thread, **metadata})
    metadata.setdefault("conversation-id", thread)
    metadata.setdefault("reply-with", id or new_id())
    # A message from spade_llm 0.3 to a behaviour other than a model's is not chat, and its
    # responses are not requests: an assistant would answer them for ever.
    kind = metadata.get(MESSAGE_TYPE, CHAT_TYPE)
    if kind != CHAT_TYPE:
        metadata.setdefault("ontology", f"message-type:{kind}")
    if kind.endswith(("_response", "_error")):
        metadata.setdefault("performative", Performative.INFORM)
    return from_metadata(
        metadata,
        sender=xml.get("from", ""),
        receiver=xml.get("to", ""),
        content=xml.findtext(_BODY) or "",
        encoding=encoding,
    )


def _said_about(xml: Element) -> ChatMetadata:
    correction = xml.find(f"{{{CORRECTION}}}replace")
    wants = ""
    # The sender of a stored message no longer waits, and a mark names a message by its id.
    if xml.get("id") and not is_delayed(xml):
        is_markable = xml.find(_MARKABLE) is not None
        wants = "displayed" if is_markable else "received" if xml.find(_RECEIPT) is not None else ""
    said = ChatMetadata(
        corrects=correction.get("id", "") if correction is not None else "",
        file=(xml.findtext(_OOB_URL) or "").strip(),
        wants=wants,
    )
    _check_names({"corrected id": said.corrects, "address of the file": said.file})
    return said


def _check_names(names: Mapping[str, str]) -> None:
    for name, value in names.items():
        if len(value) > MAX_NAME_CHARS:
            reason = f"the {name[:40]} is longer than {MAX_NAME_CHARS} characters"
            raise MalformedContent(reason)


def _bounce(xml: Element) -> Bounce:
    error = xml.find(f"{_CLIENT}error")
    names = [child.tag.rpartition("}")[2] for child in error] if error is not None else []
    conditions = [name for name in names if name != "text"]
    return Bounce(
        message_id=xml.get("id", ""),
        peer=xml.get("from", ""),
        condition=conditions[0] if conditions else "undefined-condition",
    )


def _acl(message: AclMessage) -> str:
    """Encode the ACL parameters, without those that the stanza carries itself (id, thread)."""
    fields = to_metadata(message)
    del fields["reply-with"]
    fields.pop("conversation-id", None)
    attributes = "".join(f" {key}={_attribute(value)}" for key, value in fields.items())
    return f"<acl xmlns='{ACL_NAMESPACE}'{attributes}/>{_HINTS}"


def _form(message: AclMessage) -> str:
    fields = to_metadata(message)
    if message.conversation_id:
        # SPADE 4.1.4 has the thread in its form only, and drops `<thread/>`.
        fields["_thread_node"] = message.conversation_id
    rows = "".join(
        f"<field var={_attribute(key)} type='text-single'><value>{_text(value)}</value></field>"
        for key, value in fields.items()
    )
    form = f"<x xmlns='{DATA_FORM}' type='form'><title>{_TITLE}</title>{rows}</x>"
    # An unsolicited message may be for an offline person: the server may store it.
    is_said = message.ontology == CHAT_TEXT and message.performative is Performative.REQUEST
    return form if is_said else form + _HINTS


def _plain(message: AclMessage) -> str:
    said, written = message.said, ""
    if said.corrects:
        written += f"<replace xmlns={_attribute(CORRECTION)} id={_attribute(said.corrects)}/>"
    if said.file:
        written += f"<x xmlns='jabber:x:oob'><url>{_text(said.file)}</url></x>"
    is_answer = bool(message.in_reply_to) and message.performative is not Performative.REQUEST
    return written + ACTIVE if is_answer and not said.room else written


def _text(text: str) -> str:
    return escape(xml_safe_text(text))


def _attribute(text: str) -> str:
    if _NEEDS_NO_ESCAPE(text):
        return f"'{text}'"
    return quoteattr(xml_safe_text(text))


_WRITERS = {Encoding.ACL: _acl, Encoding.FORM: _form, Encoding.PLAIN: _plain}
