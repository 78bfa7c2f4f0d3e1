"""Rooms: an agent in multi-user chats (XEP-0045); mentions become messages to it.

A line addressed to the agent becomes an ordinary message with the occupant as sender. Other lines
are kept as context only; history and our own reflected messages are ignored. Each joined room has a
task that maintains the membership. See docs/design/rooms.md for the reasons.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.core.errors import MalformedContent, RequestError, StorageFailed
from spade_llm.core.limits import LruDict, SlidingWindow
from spade_llm.messaging import AclMessage, Encoding, Performative, bare
from spade_llm.xmpp.features.encryption_hint import encryption_of
from spade_llm.xmpp.features.room_membership import (
    MAX_ROOMS,
    ROOM_TABLES,
    KnownRoom,
    RoomMembership,
    SavedRooms,
)
from spade_llm.xmpp.features.room_state import PER_MINUTE, Occupant, RoomAnswerDecision, RoomState
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas import muc
from spade_llm.xmpp.stanzas.references import is_mentioned, read_hops, text_for_nick

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Presence

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.muc import RoomInvitation

logger = logging.getLogger(__name__)

OWNERSHIP_EVERY_S = 5.0
"""Interval in which a replica looks for rooms to join and to leave. It leaves a room that another
one owns at the next look: until then both hear it, and the one that claims a line answers."""
ASK_S = 1.0
"""Timeout in seconds of the query whether a new occupant is a program."""
DECLINED_EVERY_S = 60.0
MAX_DECLINED = 64
"""Maximum number of occupants per minute that are told that private messages are declined."""
MAX_SENT = 256
"""Maximum number of remembered messages of ours, to recognise replies and bounces."""

NOT_IN = "not-acceptable"
UNREACHABLE = frozenset({"item-not-found", "remote-server-not-found", "remote-server-timeout"})
"""Error conditions of a room that disappeared with its server, until it is joined again."""


class RoomTexts(Protocol):
    """Notices to people other than answers, in the language of their message."""

    def too_much(self, said: str) -> str: ...

    def not_privately(self, said: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomsOptions:
    """Options of an agent in rooms."""

    rooms: tuple[KnownRoom, ...] = ()
    """Entered at every start."""
    nick: str = ""
    """Default nick; empty: the name that our contacts see."""
    takes_invitations: bool = True
    """True: invitations are accepted from JIDs that are let in: our own domain and `allowed`."""
    per_minute: int = PER_MINUTE
    """Answers in one room."""


class Rooms:
    """Multi-user chat of an agent; registers itself with the agent's handlers."""

    def __init__(self, agent: XmppAgent, options: RoomsOptions, say: RoomTexts) -> None:
        self._agent = agent
        self._options = options
        self._say = say
        self._nick = options.nick or agent.roster.nick or str(agent.jid.local)
        self.invited_to = SavedRooms(agent.database_place(ROOM_TABLES))
        self._accepting = asyncio.Lock()
        self._pending: set[str] = set()
        """Rooms of invitations that wait for the list of rooms."""
        self._invited: set[str] = set()
        self._rooms: dict[str, RoomState] = {}
        self._stays: dict[str, asyncio.Task[None]] = {}
        self._ownership: asyncio.Task[None] | None = None
        self._ownership_changed = asyncio.Event()
        self._sent: LruDict[str, AclMessage] = LruDict(MAX_SENT)
        self._declined: SlidingWindow[str] = SlidingWindow(DECLINED_EVERY_S, time.monotonic)
        # First, because the other filters would treat a room's stanza as one of a peer.
        agent.message_filters.insert(0, self._take)
        agent.admission.is_room = self._rooms.__contains__
        agent.on_client.append(self._listen)
        agent.on_session.append(self._session_started)
        agent.on_sent.append(self._note_sent)
        agent.features.add(muc.DIRECT)
        if agent.replicas is not None:
            agent.replicas.members.on_change.append(self._note_ownership)

    def __contains__(self, room: str) -> bool:
        """True if the agent is in this room now."""
        return room in self._rooms and self._rooms[room].is_in

    def heard_in(self, room: str) -> tuple[str, ...]:
        """Return the latest lines that were not addressed to the agent; they are untrusted data."""
        return self._rooms[room].talk if room in self._rooms else ()

    async def forget(self, peer: str) -> None:
        """Delete the recorded room talk in which this peer may have taken part."""
        for room in self._rooms.values():
            room.forget(peer)

    def _listen(self, client: ClientXMPP) -> None:
        client.register_handler(Callback("rooms", _AnyPresence(None), self._see))

    def _session_started(self) -> None:
        """Join all rooms again: after a new stream the agent is in none."""
        for room in self._rooms.values():
            room.lose()
        self._join_configured()
        if self._options.takes_invitations:
            self._agent.submit(self._join_remembered())

    def _join_configured(self) -> None:
        for known in self._options.rooms:
            self._want(known)

    def _note_ownership(self) -> None:
        """Join the rooms that were given to this replica."""
        self._join_configured()
        self._ownership_changed.set()
        if self._ownership is None:
            self._ownership = self._agent.submit(self._follow_ownership())

    async def _follow_ownership(self) -> None:
        """Join saved rooms that this replica owns, also those that others were invited to, and
        leave the rooms that it owns no more."""
        while True:
            self._ownership_changed.clear()
            if self._options.takes_invitations:
                await self._join_remembered()
            with suppress(TimeoutError):
                async with asyncio.timeout(OWNERSHIP_EVERY_S):
                    await self._ownership_changed.wait()
                    continue
            for address in [one for one in self._rooms if not self._agent.acts_for(one)]:
                if not self._agent.node.dispatcher.is_serving(address):
                    self._leave(address)

    def _leave(self, address: str) -> None:
        """Leave a room that another replica is in."""
        room = self._rooms.pop(address)
        self._stays.pop(address).cancel()
        self._agent.client.send_presence(pto=room.own_address, ptype="unavailable")
        room.lose()

    async def _join_remembered(self) -> None:
        try:
            remembered = await self.invited_to.all()
        except StorageFailed as error:
            logger.warning("saved rooms cannot be read and are not joined: %s", error)
            return
        self._invited.update(room.jid for room in remembered)
        for known in remembered:
            self._want(known)

    def _want(self, known: KnownRoom, *, is_new: bool = False) -> None:
        if known.jid in self._rooms or len(self._rooms) >= MAX_ROOMS:
            return
        if not self._agent.acts_for(known.jid):
            return
        nick = known.nick or self._nick
        room = RoomState(
            known.jid, nick, password=known.password, per_minute=self._options.per_minute
        )
        self._rooms[known.jid] = room
        self._stays[known.jid] = self._agent.submit(self._stay(room, is_new=is_new))

    async def _stay(self, room: RoomState, *, is_new: bool) -> None:
        stay = RoomMembership(self._agent, room, resend_bounced=self._resend_bounced)
        await stay.run(can_give_up=room.address in self._invited, is_new=is_new)
        logger.info("%s has left room %s for good", self._agent.jid, room.address)
        self._rooms.pop(room.address, None)
        self._stays.pop(room.address, None)
        self._invited.discard(room.address)
        try:
            await self.invited_to.remove(room.address)
        except StorageFailed as error:
            logger.warning(
                "room %s could not be removed from the saved rooms: %s", room.address, error
            )

    async def _resend_bounced(self, room: RoomState) -> None:
        returned = [self._sent.get(id) for id in room.bounced_ids]
        room.bounced_ids.clear()
        for message in filter(None, returned):
            await self._agent.node.dispatcher.delivery.not_sent(message)
        await self._agent.node.dispatcher.resend()

    def _see(self, presence: Presence) -> None:
        room = self._rooms.get(bare(str(presence["from"])))
        if room is None:
            return
        seen = muc.read_presence(presence.xml)
        room.see(seen)
        # A new room stays locked until its owner accepts the configuration (XEP-0045 §10.1.2).
        if muc.CREATED in seen.statuses:
            unlocking = muc.unlock(room.address, f"unlock-{room.nick}")
            self._agent.send_now(unlocking)

    def _take(self, xml: Element) -> bool:
        """Process a message from a room, or an invitation to a room; True if it was one."""
        room = self._rooms.get(bare(xml.get("from", "")))
        kind = xml.get("type", "normal")
        if kind == "error":
            return room is not None and self._handle_bounce(room, xml)
        # Until it has let us in, the address may be a person's.
        if room is not None and not room.has_joined_once:
            room = None
        if (invitation := muc.read_invitation(xml)) is not None:
            self._invite(invitation)
            return True
        if kind == "groupchat":
            if room is not None:
                self._hear(room, xml)
            return True
        if room is not None:
            self._decline(xml)
        return room is not None

    def _invite(self, invitation: RoomInvitation) -> None:
        """Accept an invitation from a sender that is let in. A mediated one is sent by the room,
        which names the inviter; so the room's domain must be trusted, too."""
        roster, inviter = self._agent.roster, invitation.inviter
        domain = bare(invitation.room).partition("@")[2]
        is_ours = domain.endswith(f".{self._agent.jid.domain}")
        is_vouched = not invitation.is_mediated or is_ours or roster.allows(domain)
        is_admitted = roster.allows(inviter) and self._agent.admission.is_admitted(inviter)
        is_welcome = is_vouched and is_admitted
        if not (is_welcome and self._options.takes_invitations):
            logger.info("an invitation of %s to %s is ignored", inviter, invitation.room)
            return
        known = KnownRoom(jid=invitation.room, password=invitation.password)
        if known.jid not in self._rooms and len(self._pending) < MAX_ROOMS:
            self._pending.add(known.jid)
            self._agent.submit(self._accept_invitation(known, inviter))

    async def _accept_invitation(self, known: KnownRoom, inviter: str) -> None:
        # One after the other: each counts the rooms of those before it.
        async with self._accepting:
            self._pending.discard(known.jid)
            if known.jid in self._rooms or not await self._has_capacity_for(inviter):
                return
            self._invited.add(known.jid)
            try:
                await self.invited_to.add(known, inviter=inviter)
            except StorageFailed as error:
                logger.warning(
                    "room %s could not be saved and is not joined after a restart: %s",
                    known.jid,
                    error,
                )
            self._want(known, is_new=True)

    async def _has_capacity_for(self, inviter: str) -> bool:
        if len(self._rooms) >= MAX_ROOMS:
            return False
        try:
            return await self.invited_to.has_capacity_for(inviter)
        except StorageFailed as error:
            logger.warning("the number of saved rooms of %s cannot be read: %s", inviter, error)
            return False

    def _hear(self, room: RoomState, xml: Element) -> None:
        nick = xml.get("from", "").partition("/")[2]
        if not nick or nick == room.nick or encryption_of(xml):
            return
        try:
            message = codec.read_chat(xml)
        except MalformedContent as error:
            logger.info("malformed message in room %s ignored: %s", room.address, error)
            return
        if message is None:
            return
        text = None if codec.is_delayed(xml) else self._addressed_text(room, xml, message)
        occupant, hops = room.occupant(nick), read_hops(xml)
        # All occupants of a configured room may talk to the agent, else only those that are let in.
        is_configured = room.address not in self._invited
        may_talk = is_configured or self._agent.admission.is_admitted(occupant.real)
        if text is None or not may_talk:
            room.hear(occupant.nick, message.content)
            if not (hops or occupant.is_program):
                room.budget.person_spoke()
            return
        question = replace(message, content=text, conversation_id="")
        self._agent.spawn(self._accept(room, question, occupant, hops))

    def _addressed_text(self, room: RoomState, xml: Element, message: AclMessage) -> str | None:
        """Return the text addressed to the agent, without the leading nick; None: not addressed."""
        text = text_for_nick(room.nick, message.content)
        if text is not None:
            return text
        own = frozenset({room.own_address, str(self._agent.jid)})
        is_meant = is_mentioned(xml, own) or message.in_reply_to in self._sent
        return message.content if is_meant else None

    async def _accept(
        self, room: RoomState, message: AclMessage, occupant: Occupant, hops: int
    ) -> None:
        # Occupant ids count only once the room is known to announce them.
        await room.settled()
        is_program = bool(hops) or await self._is_program(room, occupant)
        counted = max(hops, 1) if is_program else 0
        said = room.said_by(occupant, hops=counted, said=message.said)
        question = replace(message, said=said)
        verdict = room.budget.verdict(said.seat, hops=hops, is_program=is_program)
        if verdict is RoomAnswerDecision.ANSWER:
            self._agent.node.dispatcher.receive(question)
        elif verdict is RoomAnswerDecision.REFUSE:
            refusal = question.reply(Performative.REFUSE, self._say.too_much(message.content))
            self._agent.send_now(codec.encode(refusal))

    async def _is_program(self, room: RoomState, occupant: Occupant) -> bool:
        """Query the occupant's client once; an occupant that does not answer counts as a person."""
        if occupant.is_program is None:
            try:
                jid = f"{room.address}/{occupant.nick}"
                said = await self._agent.discover(jid, timeout_s=ASK_S)
                occupant.is_program = said.is_bot
            except RequestError:
                occupant.is_program = False
        return occupant.is_program

    def _decline(self, xml: Element) -> None:
        """Decline a private message of an occupant: allowed peers can write to our own address."""
        sender = xml.get("from", "")
        is_said = codec.encoding_of(xml) is Encoding.PLAIN and not codec.is_delayed(xml)
        body = xml.findtext("{jabber:client}body") or ""
        if "/" not in sender or not (body and is_said):
            return
        if self._declined.count(sender) or self._declined.count() >= MAX_DECLINED:
            return
        self._declined.add(sender)
        answer = AclMessage(
            performative=Performative.REFUSE,
            sender=self._agent.address,
            receiver=sender,
            content=self._say.not_privately(body),
            encoding=Encoding.PLAIN,
        )
        self._agent.send_now(codec.encode(answer))

    def _note_sent(self, message: AclMessage) -> None:
        if message.said.room:
            self._sent[message.reply_with] = message

    def _handle_bounce(self, room: RoomState, xml: Element) -> bool:
        """Handle an error from a room. Messages that bounced because the agent is no longer an
        occupant are sent again after it has rejoined. Anything else that the room rejects is lost.
        """
        condition, id = muc.condition_of(xml), xml.get("id", "")
        is_ours = id in self._sent
        if not (room.has_joined_once or is_ours):
            return False
        if condition == NOT_IN or (condition in UNREACHABLE and is_ours):
            room.bounced_ids.append(id)
            if room.is_in:  # Else we are about to enter anyway.
                room.lose()
        else:
            logger.warning("room %s rejected a message: %s", room.address, condition)
        return True


class _AnyPresence(MatcherBase):
    def match(self, xml: Presence) -> bool:
        return bool(xml.xml.tag == "{jabber:client}presence")
