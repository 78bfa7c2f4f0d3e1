"""ACL message (FIPA) and chat metadata: performatives, encodings, flat form on the wire."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter

from spade_llm.core.errors import MalformedContent, Unauthorised
from spade_llm.core.tracing import read_trace_parent

_CHAT_PREFIX = "said."
SEAT_SEPARATOR = " in "
"""Separator between occupant and room in a seat; a JID contains no spaces."""
OCCUPANT_PREFIX = "occupant:"
TRANSIENT_PREFIX = "~"
CHAT_TEXT = "chat"
"""Ontology of what a person's chat client sends: plain text that came without metadata."""
MESSAGE_TYPE = "message_type"
"""Key of SPADE's metadata by which spade_llm 0.3 selects the behaviour for a message; an answer
repeats the value of its request."""
CHAT_TYPE = "llm"
FOR_MODELS_METADATA = {MESSAGE_TYPE: CHAT_TYPE}
"""Metadata that marks a chat message for programs written for spade_llm."""
STABLE_ID_PREFIX = "k"
"""Begins the ids of `stable_id`, and none of `new_id`."""
PRINCIPAL = "principal"
"""Attribute of `<acl/>`: principal that the sender claims to act for."""
_METADATA_FIELDS = {
    "performative": "performative",
    "ontology": "ontology",
    "protocol": "protocol",
    "language": "language",
    "conversation_id": "conversation-id",
    "reply_with": "reply-with",
    "in_reply_to": "in-reply-to",
    "reply_by": "reply-by",
    "sequence": "sequence",
    "trace_parent": "traceparent",
    "acts_for": PRINCIPAL,
}
"""Our names → the keys of `spade.fipa_message`, which travel as SPADE metadata."""
_KEYS = tuple(_METADATA_FIELDS.values())
_BARE_JID = re.compile(r"[^@/\s]{1,1023}@[^@/\s#]{1,1023}")
"""RFC 7622. No `#`: it ends a JID in names of conversations
(assistant/history/conversation_cache.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMetadata:
    """Chat metadata of a message: room, nickname, correction, quote, shared file, receipts.

    Servers stamp `room`, `real` and `occupant`; the other fields are claims of the sender. Only
    plain messages carry it: it is never read from a peer's metadata.
    """

    corrects: str = ""
    """Id of the sender's own earlier message that this one replaces (XEP-0308)."""
    file: str = ""
    """URL of a file that was shared with the message (XEP-0066)."""
    room: str = ""
    """Bare JID of the room in which it was sent (XEP-0045)."""
    nick: str = ""
    """Nickname of the author in the room."""
    real: str = ""
    """Bare JID of the author, if the room discloses it to us."""
    occupant: str = ""
    """Occupant id of the author, which survives nickname changes (XEP-0421). If the room provides
    none, it is an id of ours that lasts for one stay and begins with TRANSIENT_PREFIX."""
    hops: str = ""
    """Number of program-generated answers that led to this message, as text."""
    quotes: str = ""
    """Text that the client quotes from the message that this one replies to (XEP-0461)."""
    wants: str = ""
    """Receipt that the client requests: `displayed` (XEP-0333), `received` (XEP-0184), or empty. If
    it requests both, `displayed`: one marker is enough."""

    @property
    def seat(self) -> str:
        """Identifier of the author within this room, which equals no JID. Empty: not in a room."""
        if not self.room:
            return ""
        occupant = OCCUPANT_PREFIX + (self.occupant or TRANSIENT_PREFIX + self.nick)
        return f"{self.real or occupant}{SEAT_SEPARATOR}{self.room}"

    @property
    def is_passing(self) -> bool:
        """True if the author cannot be recognized after leaving the room and returning."""
        return bool(self.room) and not self.real and self.occupant[:1] in ("", TRANSIENT_PREFIX)

    def of_answer(self) -> ChatMetadata:
        """Return the metadata of an answer: its room and the occupant that it addresses."""
        if not self.room:
            return NO_CHAT_METADATA
        hops = str(int(self.hops or "0") + 1)
        return replace(self, corrects="", file="", quotes="", wants="", hops=hops)

    def to_fields(self) -> dict[str, str]:
        """Flat form, as the answer log stores it."""
        pairs = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {_CHAT_PREFIX + name: value for name, value in pairs if value}

    @classmethod
    def from_fields(cls, values: Mapping[str, str]) -> ChatMetadata:
        """Inverse of `to_fields`; ignores other keys."""
        names = [one.name for one in fields(cls)]
        return cls(**{name: values.get(_CHAT_PREFIX + name, "") for name in names})


NO_CHAT_METADATA = ChatMetadata()


class Performative(StrEnum):
    """FIPA communicative acts (FIPA00037), as `spade.fipa_message` spells them."""

    REQUEST = "request"
    AGREE = "agree"
    INFORM = "inform"
    REFUSE = "refuse"
    FAILURE = "failure"
    NOT_UNDERSTOOD = "not-understood"
    CANCEL = "cancel"


class Protocol(StrEnum):
    REQUEST = "fipa-request"


class Encoding(StrEnum):
    """Wire format of a message; an answer uses the format of its request."""

    ACL = "acl"
    """Single `<acl/>` element, between our agents (docs/design/wire.md explains why)."""
    FORM = "form"
    """SPADE's metadata form: to and from plain SPADE agents."""
    PLAIN = "plain"
    """Plain `<body/>`: to and from people's chat clients."""


def stable_id(*parts: str) -> str:
    """Id that follows from these parts: a request that is repeated has the same one, also if
    another process repeats it."""
    return STABLE_ID_PREFIX + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def origin_of(sender: str, id: str, encoding: Encoding, *, principal: str = "") -> str:
    """`AclMessage.origin` of the request with this id."""
    # Only ids of our agents: clients of people choose theirs as they like. A gateway's request
    # is one of its principal, and logs of earlier versions have it under the full JID.
    is_stable = encoding is Encoding.ACL and id.startswith(STABLE_ID_PREFIX) and not principal
    return bare(sender) if is_stable else sender


def new_id() -> str:
    """Random id of a message or conversation."""
    return secrets.token_hex(16)


def bare(jid: str) -> str:
    """`user@host/resource` → `user@host`."""
    return jid.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclMessage:
    """FIPA ACL message, as it is sent over XMPP."""

    performative: Performative
    sender: str
    """Full JID, as stamped by the server; whatever a message claims itself is overwritten."""
    receiver: str
    content: str
    ontology: str = CHAT_TEXT
    """`name/version` of the body's schema; `chat` is plain text."""
    protocol: str = Protocol.REQUEST
    language: str = ""
    """`json` for typed bodies, empty for text."""
    conversation_id: str = ""
    """Conversation id, also the stanza's `<thread/>` (XEP-0201). Empty if a chat client sends none.
    """
    reply_with: str = field(default_factory=new_id)
    """Message id, also the stanza's id: unique per message, equal on a retry of the same request.
    """
    in_reply_to: str = ""
    reply_by: datetime | None = None
    """Absolute deadline, UTC."""
    sequence: int | None = None
    """Number of a stream's part, from 0; None on everything else and on the terminal answer."""
    trace_parent: str = ""
    """Parent span of a request, in the format of W3C Trace Context."""
    acts_for: str = ""
    """Bare JID that the sender claims to act for, unverified. An agent that trusts the sender
    copies it to `principal` (`with_checked_principal`). Sent in ACL encoding only."""
    principal: str = ""
    """Bare JID that a trusted gateway acts for. Never read from the wire."""
    encoding: Encoding = Encoding.ACL
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Additional SPADE metadata beyond ACL (`message_type`); sent in FORM encoding only."""
    said: ChatMetadata = NO_CHAT_METADATA
    """Chat metadata that a person's client sends with the text; in PLAIN encoding only."""

    @property
    def owner(self) -> str:
        """Bare JID that this message acts for: the stamped sender, never an argument; for a
        gateway's message, its principal."""
        return self.principal or bare(self.sender)

    @property
    def asker(self) -> str:
        """Author of the message: the owner, except in a room, where each occupant has a separate
        seat."""
        return self.said.seat or self.owner

    @property
    def origin(self) -> str:
        """Sender of a request by which repeats of it are recognized: its full JID; if the id is
        stable, its bare JID, because another process of the account may repeat it."""
        return origin_of(self.sender, self.reply_with, self.encoding, principal=self.principal)

    @property
    def is_terminal(self) -> bool:
        """True for the one message that ends a request."""
        return self.performative in TERMINAL and self.sequence is None

    def reply(
        self, performative: Performative, content: str, *, sequence: int | None = None
    ) -> AclMessage:
        """The answer to this message. Its id is derived, so a repeated answer is recognisable."""
        suffix = "answer" if sequence is None else str(sequence)
        suffix = "agree" if performative is Performative.AGREE else suffix
        return AclMessage(
            performative=performative,
            sender=self.receiver,
            receiver=self.sender,
            content=content,
            ontology=self.ontology,
            protocol=self.protocol,
            language=self.language,
            conversation_id=self.conversation_id,
            reply_with=f"{self.reply_with}.{suffix}",
            in_reply_to=self.reply_with,
            sequence=sequence,
            encoding=self.encoding,
            extra={key: value for key, value in self.extra.items() if key == MESSAGE_TYPE},
            said=self.said.of_answer(),
        )


TERMINAL = frozenset(
    {
        Performative.INFORM,
        Performative.REFUSE,
        Performative.FAILURE,
        Performative.NOT_UNDERSTOOD,
    }
)


_values = attrgetter(*_METADATA_FIELDS)


def to_metadata(message: AclMessage) -> dict[str, str]:
    """The message's ACL parameters as flat text, without sender, receiver and content."""
    pairs = zip(_KEYS, _values(message), strict=True)
    said = {key: str(value) for key, value in pairs if value is not None and value != ""}
    if message.reply_by is not None:
        # `str` of a datetime has a blank where ISO 8601 wants a T.
        said["reply-by"] = message.reply_by.isoformat()
    match message.encoding:
        case Encoding.FORM:
            return {**message.extra, **_without_principal(said)}
        case Encoding.PLAIN:
            return {**message.said.to_fields(), **_without_principal(said)}
        case Encoding.ACL:
            return said


def _without_principal(said: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if key != PRINCIPAL}


def from_metadata(
    metadata: Mapping[str, str],
    *,
    sender: str,
    receiver: str,
    content: str,
    encoding: Encoding = Encoding.ACL,
) -> AclMessage:
    """Inverse of `to_metadata`; missing and empty keys take their defaults.

    Raises:
        MalformedContent: a key is present but unreadable; the message names it.
    """
    extra: dict[str, str] = {}
    if encoding is Encoding.FORM:
        extra = {key: value for key, value in metadata.items() if key not in _KEYS}
    return AclMessage(
        performative=_performative(metadata.get("performative") or "request"),
        sender=sender,
        receiver=receiver,
        content=content,
        ontology=metadata.get("ontology") or CHAT_TEXT,
        protocol=metadata.get("protocol") or Protocol.REQUEST,
        language=metadata.get("language", ""),
        conversation_id=metadata.get("conversation-id", ""),
        reply_with=metadata.get("reply-with") or new_id(),
        in_reply_to=metadata.get("in-reply-to", ""),
        reply_by=_parse_time(metadata.get("reply-by")),
        sequence=_sequence(metadata.get("sequence")),
        trace_parent=read_trace_parent(metadata.get("traceparent", "")),
        # Gateways are agents of ours: a form of a SPADE program cannot claim a principal.
        acts_for=metadata.get(PRINCIPAL, "") if encoding is Encoding.ACL else "",
        encoding=encoding,
        extra=extra,
        # A peer's own form must not claim a room or an occupant, which servers stamp.
        said=ChatMetadata.from_fields(metadata) if encoding is Encoding.PLAIN else NO_CHAT_METADATA,
    )


def _performative(text: str) -> Performative:
    try:
        return Performative(text.lower())
    except ValueError:
        raise MalformedContent(
            f"performative {text[:40]!r} is not one of the FIPA acts we speak"
        ) from None


def _parse_time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        # Without a zone it counts as UTC: the sender's local zone cannot be told from here.
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise MalformedContent(f"reply-by {text[:40]!r} is not an ISO 8601 date") from None


def _sequence(text: str | None) -> int | None:
    if not text:
        return None
    # `isdigit` alone accepts superscripts, on which `int` fails; nine digits bound its work.
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise MalformedContent(f"sequence {text[:40]!r} is not a number from 0")
    return int(text)


def with_checked_principal(message: AclMessage, gateways: Collection[str]) -> AclMessage:
    """Authorize the claim to act for another JID; return the message with its principal, if any.

    A gateway states in each request the JID that it acts for (`acts_for`). An agent accepts this
    claim only from its configured gateways, `gateways` (bare JIDs). After the check, `owner` is
    that JID.

    Raises:
        Unauthorised: another sender makes the claim, or it is not valid.
    """
    if not message.acts_for:
        return message
    if bare(message.sender) not in gateways:
        raise Unauthorised(
            "principal: only a gateway may speak for others, and"
            f" {bare(message.sender)} is none of this agent's (`gateways` in its agent.toml)"
        )
    if message.ontology == CHAT_TEXT:
        raise Unauthorised("principal: a chat message cannot be sent for another JID")
    principal = parse_principal(message.acts_for)
    if not principal or principal == bare(message.receiver):
        raise Unauthorised(f"principal: {message.acts_for[:80]!r} is not the bare JID of a user")
    return replace(message, principal=principal)


def parse_principal(text: str) -> str:
    """Normalize a bare JID as servers do; empty if the text is not a bare JID."""
    # One spelling for each person: owners are compared literally.
    return text.lower() if _BARE_JID.fullmatch(text) else ""
