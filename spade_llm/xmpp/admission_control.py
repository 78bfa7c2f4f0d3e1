"""Admission control: trust levels, and rate limits (token bucket) per stamped sender of a stanza.

What comes too fast is refused with a stanza error (`resource-constraint`), programs' requests with
`refuse` once per second, strangers in one sentence per minute; beyond that there is silence. A
chat client that has waited for its answers is paced instead: its next message waits for its turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import Busy, MalformedContent, SpadeLLMError, StorageFailed, Unauthorised
from spade_llm.core.limits import LruDict, Rate, TokenBucket, TokenBuckets
from spade_llm.messaging import (
    CHAT_TEXT,
    PRINCIPAL,
    AclMessage,
    Encoding,
    ErrorBody,
    Performative,
    bare,
)
from spade_llm.messaging.message import parse_principal
from spade_llm.xmpp.features.encryption_hint import encryption_of
from spade_llm.xmpp.invitations import INVITATION_TABLES, Invitations, is_code
from spade_llm.xmpp.stanzas import message_codec as codec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

STRANGER = (
    "I only talk with people who were invited. If you have an invitation, send me: join CODE\n"
    "Solo hablo con quienes tienen una invitación. Si tienes una, envíame: join CÓDIGO"
)
TOO_FAST = (
    "That was more than I can read. What you have just sent stays unanswered: please send it again"
    " in a minute.\n"
    "Es más de lo que puedo leer. Lo último que enviaste queda sin respuesta: envíalo otra vez"
    " dentro de un minuto, por favor."
)
WELCOME = (
    "Welcome, you can talk with me now. Write help to see what I can do.\n"
    "Te doy la bienvenida: ya puedes hablar conmigo. Escribe ayuda para ver qué sé hacer."
)
NOT_VALID = (
    "I know no such invitation: it is mistyped, used up or expired. Check it, or ask for another.\n"
    "No conozco esa invitación: está mal escrita, usada o caducada. Compruébala, o pide otra."
)

MAX_SENDERS = 10_000
"""Maximum number of senders with a rate-limit state; the least recently active is evicted."""
MAX_DOMAINS = 1000
MAX_REQUESTED_PEERS = 1024
"""Maximum number of remembered peers that were sent a request; their answers are admitted."""
MAX_KNOWN_REQUESTS = 20_000
"""Maximum number of remembered requests of programs, to recognise repetitions."""
MAX_HELD = 20
"""Maximum number of messages of one sender that wait while its invitation code is checked."""
MAX_JOINING = 100
"""Maximum number of invitation codes that are checked at once; further ones are ignored."""
MAX_PAUSE_S = 10.0
"""Maximum delay of a paced chat message in seconds; a message that would wait longer is refused."""
TURN_START_RATE = Rate(per_s=10.0, burst=4)
"""Turns of one chat client that begin: of many messages at once the later ones wait, so that the
work for them delays no other sender. Programs may ask a hundred things at a time."""
REFUSED_EVERY_S = 60.0
BUSY_EVERY_S = 1.0
REFUSAL_RATE = Rate(per_s=50.0, burst=200)
"""Rate limit of refusals, shared by all senders."""
JOIN_RATE = Rate(per_s=0.1, burst=5)
"""Rate limit of answered invitation codes, per sender."""
JOIN_COMMAND = "join"
ANY_JID = "*"
TALK_ONTOLOGY = "spade-llm.chat/1"
"""A program's question to a model."""

_BODY = "{jabber:client}body"
_THREAD = "{jabber:client}thread"
_IQ = "{jabber:client}iq"
_MESSAGE = "{jabber:client}message"
_UNREAD = frozenset({"error", "groupchat"})
"""Message types that admission ignores: errors fail a pending request; `Rooms` reads `groupchat`.
"""
_BUSY = "too many messages at once; ask again later, and more slowly"
_UNAUTHORISED = "this agent accepts only admitted senders; ask its operator to be admitted"


class TrustLevel(Enum):
    """Class of a sender."""

    KNOWN = auto()
    GUEST = auto()
    """May talk, within limits of their own."""
    STRANGER = auto()
    """May not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """Allowed senders and rate limits; a rate that is None is no limit."""

    allow: tuple[str, ...] = (ANY_JID,)
    """JIDs and domains that may talk; `*`: all, with JIDs of other domains as guests."""
    guests: tuple[str, ...] = ()
    """JIDs and domains that may talk as guests."""
    talk: Rate | None = None
    """Rate limit of messages to a model, per JID: texts of people, and chat requests of programs.
    """
    guest_talk: Rate | None = None
    """The same, of a guest."""
    domain_talk: Rate | None = None
    """Rate limit of messages to a model, per foreign domain; JIDs in `allow` are exempt."""
    requests: Rate | None = None
    """Programs' other requests, of one JID."""
    signals: Rate | None = None
    """Rate limit of stanzas that reach no model and no service, per JID: IQ requests, presences,
    marks, chat states and reactions."""

    @property
    def is_open(self) -> bool:
        return ANY_JID in self.allow

    @property
    def has_no_limits(self) -> bool:
        rates = (self.talk, self.guest_talk, self.domain_talk, self.requests, self.signals)
        return self.is_open and not any(rates)

    def trust_level(self, jid: str, own_domain: str) -> TrustLevel:
        """Return the trust level of a bare JID, without regard to invitations."""
        domain = domain_of(jid)
        if {jid, domain} & {*self.allow} or (self.is_open and domain == own_domain):
            return TrustLevel.KNOWN
        is_guest = self.is_open or {jid, domain} & {*self.guests}
        return TrustLevel.GUEST if is_guest else TrustLevel.STRANGER


class AdmissionControl:
    """Decides for each stanza whether its sender is admitted and within the rate limits."""

    def __init__(
        self,
        admission: AdmissionPolicy,
        invitations: Invitations,
        *,
        own_domain: str,
        send: Callable[[str], None],
        own: str = "",
        gateways: Collection[str] = (),
        is_answered: Callable[[str], bool] = lambda _: False,
        spawn: Callable[[Coroutine[object, object, None]], object] = asyncio.ensure_future,
        resume: Callable[[Element], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`send` takes a stanza that may be lost. `own`: our bare JID. `gateways`: bare JIDs that
        are let in; their requests are counted against the principals that they act for.
        `is_answered`: returns whether all messages of a bare JID are answered, so that it can be
        paced. `spawn` runs a background task; `resume` takes a message that had to wait."""
        self._admission = admission
        self._is_open = admission.is_open
        self._has_no_limits = admission.has_no_limits
        self._gateways = frozenset(gateways)
        self._own = own
        self._never_counted = frozenset({"", own, own_domain, *gateways})
        """JIDs exempt from the rate limit of signals: our server, our JID and gateways; see also
        `_requested_peers`."""
        self.is_room: Callable[[str], bool] = lambda _: False
        """True if the agent is in a room with this bare JID, from which the messages and presences
        of all occupants come. Set by `Rooms`, which has a rate limit of its own."""
        self._invitations = invitations
        self._own_domain = own_domain
        self._send = send
        self._is_answered = is_answered
        self._clock = clock
        self._spawn = spawn
        self._resume = resume
        self._joining: dict[str, list[Element]] = {}
        """Messages of senders whose invitation code is being checked; they keep their order."""
        self._pause = ("", 0.0)
        """Full JID of the last admitted message's sender, and its delay in seconds."""
        self._signals: TokenBuckets[str] = TokenBuckets(MAX_SENDERS)
        """Token buckets for signals, by bare JID."""
        self._senders: LruDict[tuple[str, TrustLevel], _Sender] = LruDict(MAX_SENDERS)
        self._domains: TokenBuckets[str] = TokenBuckets(MAX_DOMAINS)
        self._requested_peers: LruDict[str, bool] = LruDict(MAX_REQUESTED_PEERS)
        """Peers that were sent a request. True: the peer was a stranger then and counts as KNOWN;
        False: its own trust level applies, so a guest stays a guest and can be shut out."""
        self._seen_requests: LruDict[int, None] = LruDict(MAX_KNOWN_REQUESTS)
        """Fingerprints (`_request_fingerprint`) of admitted requests, to recognise repetitions."""
        self._refusals = TokenBucket(REFUSAL_RATE, clock())

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file of invitations cannot be used."""
        if not self._is_open:
            await self._invitations.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._invitations.__aexit__()

    def note_request(self, message: AclMessage) -> None:
        """Note the receiver of an outgoing request, so that its answer is let in."""
        if message.performative is not Performative.REQUEST:
            return
        peer = bare(message.receiver)
        is_stranger = self._trust_level(peer) is TrustLevel.STRANGER
        was_stranger = self._requested_peers.get(peer, False)
        self._requested_peers[peer] = is_stranger or was_stranger

    def is_guest(self, jid: str) -> bool:
        """True unless the bare JID is KNOWN, so that guest limits apply to it."""
        return self._trust_level(jid) is not TrustLevel.KNOWN

    def is_admitted(self, jid: str) -> bool:
        """True if this bare JID may talk; an empty JID may if the policy is open."""
        if self._is_open:
            return True
        return bool(jid) and self._trust_level(jid) is not TrustLevel.STRANGER

    def admit_request(self, jid: str) -> bool:
        """True if this JID may make a request other than a message; takes a token of its rate
        limit."""
        peer, now_s = bare(jid), self._clock()
        trust = self._trust_level(peer)
        requests = self._sender(peer, trust, now_s).requests
        return trust is not TrustLevel.STRANGER and (requests is None or requests.take(now_s))

    def is_rate_limited(self, xml: Element) -> bool:
        """Rate-limit a stanza of the stream that is not a response to one of our IQs. True: it is
        too fast and is dropped, after an error response where that is due."""
        self._pause = ("", 0.0)
        if self._has_no_limits:
            return False
        jid, now_s = bare(xml.get("from", "")), self._clock()
        is_iq = xml.tag == _IQ
        if self.is_room(jid) and not is_iq:
            return False
        if xml.tag == _MESSAGE:
            return jid != self._own and self._is_message_limited(xml, now_s)
        is_refused = not self._admit_signal(jid, now_s)
        if is_refused and is_iq:
            self._answer_overload(codec.encode_overload(xml), now_s)
        return is_refused

    def _is_message_limited(self, xml: Element, now_s: float) -> bool:
        kind, (jid, trust) = xml.get("type"), self._counted_sender(xml)
        if kind == "error":
            # It fails a request of ours at once, and no error may answer it (RFC 6120 §8.3.1).
            return False
        if kind == "groupchat":
            return not self._admit_signal(jid, now_s)
        sender = self._sender(jid, trust, now_s)
        if self._admit_message(jid, sender, xml, now_s):
            return False
        if codec.encoding_of(xml) is not Encoding.PLAIN:
            self._refuse(xml, sender, Busy(_BUSY), TOO_FAST)
        elif _is_talk(xml):
            # A chat client shows the error beside its message; a message without text gets none.
            self._answer_overload(codec.encode_overload(xml, text=TOO_FAST), now_s)
        return True

    def count_held(self, xml: Element) -> None:
        """Count a message that another replica answers for the rate limit of its domain: each
        replica receives all messages, so that they share the limit without exchanging anything."""
        if self._has_no_limits or not _is_talk(xml):
            return
        now_s, (jid, _) = self._clock(), self._counted_sender(xml)
        if (bucket := self._domain(jid, now_s)) is None:
            return
        request = _request_fingerprint(xml) if xml.find(codec.ACL_TAG) is not None else None
        if request is not None and request in self._seen_requests:
            return
        # As its owner does: what is too fast is refused, and costs nothing.
        if bucket.take(now_s) and request is not None:
            self._seen_requests[request] = None

    def pause_s(self, message: AclMessage) -> float:
        """Delay in seconds of the message that was just admitted."""
        (sender, pause_s), self._pause = self._pause, ("", 0.0)
        return pause_s if message.sender == sender else 0.0

    def block_stranger(self, xml: Element) -> bool:
        """True if this `<message/>` is dropped because its sender is not let in, or because it
        carries an invitation code; a response is sent where that is due. Applies to messages from
        the archive, too, which no rate limit delays."""
        if self._is_open or xml.get("type") in _UNREAD:
            return False
        jid, trust = self._counted_sender(xml)
        if (held := self._joining.get(jid)) is not None:
            if len(held) < MAX_HELD:
                held.append(xml)
            return True
        sender = self._sender(jid, trust, self._clock())
        code = _invitation_code(xml, is_any_form=trust is TrustLevel.STRANGER)
        if code is not None:
            self._join(xml, code, jid, sender)
            return True
        if trust is not TrustLevel.STRANGER:
            return False
        # Marks and chat states need no answer, and `Rooms` has read invitations to a room. An
        # encrypted message is blocked, as the encryption hint would answer it.
        if xml.find(_BODY) is None and codec.encoding_of(xml) is Encoding.PLAIN:
            return bool(encryption_of(xml))
        self._refuse(xml, sender, Unauthorised(_UNAUTHORISED), STRANGER)
        return True

    def _counted_sender(self, xml: Element) -> tuple[str, TrustLevel]:
        """Return the bare JID and trust level that a stanza counts for; a gateway's principal is at
        least a guest."""
        jid, acl = bare(xml.get("from", "")), xml.find(codec.ACL_TAG)
        # Only a gateway may act for another: a principal that anybody else names is ignored.
        if acl is None or jid not in self._gateways:
            return jid, self._trust_level(jid)
        principal = parse_principal(acl.get(PRINCIPAL, "")) or jid
        trust = self._trust_level(principal)
        return principal, TrustLevel.GUEST if trust is TrustLevel.STRANGER else trust

    def _trust_level(self, jid: str) -> TrustLevel:
        if jid in self._gateways:
            return TrustLevel.KNOWN
        trust = self._admission.trust_level(jid, self._own_domain)
        if trust is not TrustLevel.STRANGER:
            return trust
        if self._requested_peers.get(jid):
            return TrustLevel.KNOWN
        return TrustLevel.GUEST if self._is_invited(jid) else trust

    def _is_invited(self, jid: str) -> bool:
        try:
            return self._invitations.is_guest(jid)
        except StorageFailed as error:
            # A file that cannot be read admits nobody.
            logger.warning("%s is not admitted: %s", jid, error)
            return False

    def _sender(self, jid: str, trust: TrustLevel, now_s: float) -> _Sender:
        # With the trust level: who is let in meanwhile gets the rates of the new one.
        key = (jid, trust)
        found = self._senders.get(key)
        if found is None:
            is_known = trust is TrustLevel.KNOWN
            talk = self._admission.talk if is_known else self._admission.guest_talk
            found = _Sender(talk, self._admission.requests, now_s)
        self._senders[key] = found
        return found

    def _admit_message(self, jid: str, sender: _Sender, xml: Element, now_s: float) -> bool:
        is_talk, is_acl = _is_talk(xml), xml.find(codec.ACL_TAG) is not None
        if not is_talk and not is_acl:
            return self._admit_signal(jid, now_s)
        # A program that gets no answer repeats its request; that costs no turn.
        request = _request_fingerprint(xml) if is_talk and is_acl else None
        if not is_talk or request in self._seen_requests:
            # What we asked for may come as fast as it can.
            return (
                sender.requests is None
                or jid in self._requested_peers
                or sender.requests.take(now_s)
            )
        buckets = [one for one in (sender.talk, self._domain(jid, now_s)) if one is not None]
        is_chat = codec.encoding_of(xml) is Encoding.PLAIN
        pause_s = _longest_wait_s(buckets, now_s)
        # One message on its way at most, so that nothing piles up; programs ask again themselves.
        if pause_s and not (is_chat and pause_s <= MAX_PAUSE_S and self._is_answered(jid)):
            return False
        if is_chat and buckets:
            buckets.append(sender.starts)
        self._pause = (xml.get("from", ""), _longest_wait_s(buckets, now_s))
        for one in buckets:
            one.borrow(now_s)
        if request is not None:
            self._seen_requests[request] = None
        return True

    def _admit_signal(self, jid: str, now_s: float) -> bool:
        """Take a token for a signal; a peer that was sent a request is not limited."""
        rate = self._admission.signals
        if rate is None or jid in self._never_counted or jid in self._requested_peers:
            return True
        return self._signals.of(jid, rate, now_s).take(now_s)

    def _domain(self, jid: str, now_s: float) -> TokenBucket | None:
        """Return the rate limit of a sender's foreign domain; None if no limit applies."""
        rate, domain = self._admission.domain_talk, domain_of(jid)
        if rate is None or domain == self._own_domain or jid in self._admission.allow:
            return None
        return self._domains.of(domain, rate, now_s)

    def _answer_overload(self, error: str, now_s: float) -> None:
        if error and self._refusals.take(now_s):
            self._send(error)

    def _refuse(self, xml: Element, sender: _Sender, error: SpadeLLMError, text: str) -> None:
        """Send a refusal if the interval for this sender and the total rate limit allow it."""
        now_s = self._clock()
        is_program = codec.encoding_of(xml) is Encoding.ACL
        every_s = BUSY_EVERY_S if is_program else REFUSED_EVERY_S
        if now_s - sender.refused_s < every_s or not self._refusals.take(now_s):
            return
        sender.refused_s = now_s
        logger.info("%s is refused: %s", bare(xml.get("from", "")), error.code)
        body = ErrorBody(code=error.code, detail=str(error)).encode()
        self._answer(xml, Performative.REFUSE, body if is_program else text)

    def _answer(self, xml: Element, performative: Performative, content: str) -> None:
        """Respond to requests only: two agents that refuse each other's responses would loop."""
        try:
            message = codec.decode(xml)
            if isinstance(message, AclMessage) and message.performative is Performative.REQUEST:
                self._send(codec.encode(message.reply(performative, content)))
        except MalformedContent as unreadable:
            logger.debug("no refusal can be sent: %s", unreadable)

    def _join(self, xml: Element, code: str, jid: str, sender: _Sender) -> None:
        # Before the file is read: a flood of codes costs no access to the database.
        if not sender.joins.take(self._clock()) or len(self._joining) >= MAX_JOINING:
            return
        if self._admission.trust_level(jid, self._own_domain) is not TrustLevel.STRANGER:
            self._answer_join(xml, jid, is_admitted=True)
            return
        self._joining[jid] = []
        self._spawn(self._redeem(xml, code, jid))

    async def _redeem(self, xml: Element, code: str, jid: str) -> None:
        try:
            is_admitted = await self._invitations.redeem(code, jid)
        except StorageFailed as error:
            logger.warning("%s cannot join: %s", jid, error)
        else:
            self._answer_join(xml, jid, is_admitted=is_admitted)
        finally:
            held = self._joining.pop(jid)
        for one in held:
            self._resume(one)

    def _answer_join(self, xml: Element, jid: str, *, is_admitted: bool) -> None:
        logger.info("%s %s", jid, "joins" if is_admitted else "has no valid invitation")
        self._answer(xml, Performative.INFORM, WELCOME if is_admitted else NOT_VALID)


def domain_of(jid: str) -> str:
    return bare(jid).rpartition("@")[2]


def admission_control_of(agent: XmppAgent) -> AdmissionControl:
    """Admission control of an agent, from its options; registers its message filter."""
    options = agent.options
    dispatcher = agent.node.dispatcher
    admission = AdmissionControl(
        options.admission,
        Invitations(agent.database_place(INVITATION_TABLES)),
        own_domain=str(agent.jid.domain),
        send=agent.send_now,
        own=str(agent.jid),
        gateways=dispatcher.gateways,
        is_answered=lambda jid: dispatcher.speaks(CHAT_TEXT) and not dispatcher.is_serving(jid),
        spawn=agent.spawn,
        resume=agent.process_message,
    )
    agent.message_filters.append(admission.block_stranger)
    dispatcher.pause_of = admission.pause_s
    return admission


class _Sender:
    """Rate-limit state of a bare JID."""

    __slots__ = ("joins", "refused_s", "requests", "starts", "talk")

    def __init__(self, talk: Rate | None, requests: Rate | None, now_s: float) -> None:
        self.talk = TokenBucket(talk, now_s) if talk else None
        self.requests = TokenBucket(requests, now_s) if requests else None
        self.starts = TokenBucket(TURN_START_RATE, now_s)
        self.joins = TokenBucket(JOIN_RATE, now_s)
        # The first refusal is due at once, even where the clock begins at zero.
        self.refused_s = -REFUSED_EVERY_S


def _longest_wait_s(buckets: Iterable[TokenBucket], now_s: float) -> float:
    return max((one.wait_s(now_s) for one in buckets), default=0.0)


def _is_talk(xml: Element) -> bool:
    """True for a message that costs a turn or an encryption hint; of an `<acl/>` only ontology and
    performative are read."""
    acl = xml.find(codec.ACL_TAG)
    if acl is not None:
        return acl.get("ontology") == TALK_ONTOLOGY and acl.get("performative") == "request"
    return xml.find(_BODY) is not None or bool(encryption_of(xml))


def _request_fingerprint(xml: Element) -> int:
    """Hash of everything that distinguishes a request for its receiver: sender, id, text,
    conversation and ACL parameters such as the deadline. An id alone could be reused for any number
    of requests."""
    acl = xml.find(codec.ACL_TAG)
    fields = () if acl is None else tuple(sorted(acl.attrib.items()))
    return hash(
        (xml.get("from"), xml.get("id"), xml.findtext(_THREAD), xml.findtext(_BODY), fields)
    )


def _invitation_code(xml: Element, *, is_any_form: bool) -> str | None:
    """Return the code of a `join CODE` message from a person; None if it is not one. `is_any_form`:
    also one that is mistyped, so that it gets an answer."""
    # Only the beginning is split: a code is short, a body may be large.
    words = (xml.findtext(_BODY) or "")[:100].split(maxsplit=1)
    if len(words) != 2 or codec.encoding_of(xml) is not Encoding.PLAIN:
        return None
    # Without the slash, too: clients take "/join" for a room's name that follows.
    word, code = words[0].lower(), words[1]
    is_asked = word in (f"/{JOIN_COMMAND}", f"//{JOIN_COMMAND}") or (
        word == JOIN_COMMAND and (is_any_form or is_code(code))
    )
    return code if is_asked else None
