"""Rooms: an agent in multi-user chats (XEP-0045); mentions become messages to it.

What is said to us there becomes a message like any other, whose sender is the occupant; what is
not stays talk, and history and our own reflections are nobody's question. Each room that is wanted
has a task that stays in it. docs/design/rooms.md has the reasons.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.core.errors import MalformedContent, RequestError, StorageFailed
from spade_llm.core.limits import LruDict, SlidingWindow
from spade_llm.messaging import AclMessage, Encoding, Performative, bare
from spade_llm.xmpp.features.encryption_hint import encryption_of
from spade_llm.xmpp.features.room_membership import MAX_ROOMS, KnownRoom, RoomMembership, SavedRooms
from spade_llm.xmpp.features.room_state import PER_MINUTE, RoomAnswerDecision, RoomState
from spade_llm.xmpp.stanzas import message as codec
from spade_llm.xmpp.stanzas import muc
from spade_llm.xmpp.stanzas.mentions import is_mentioned, read_hops, text_for_nick

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Presence

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.features.room_state import Occupant
    from spade_llm.xmpp.stanzas.muc import RoomInvitation

logger = logging.getLogger(__name__)

ASK_S = 1.0
"""How long who speaks to us for the first time is asked whether it is a program."""
DECLINED_EVERY_S = 60.0
MAX_DECLINED = 64
"""Occupants who are told in a minute that we do not whisper."""
MAX_SENT = 256
"""Of our messages, those that are known again: when they are replied to, or come back."""

NOT_IN = "not-acceptable"
UNREACHABLE = frozenset({"item-not-found", "remote-server-not-found", "remote-server-timeout"})
"""What comes back from a room that went with its server, until somebody enters it."""


class RoomTexts(Protocol):
    """What people are told beside answers, in the language of what they said."""

    def too_much(self, said: str) -> str: ...

    def not_privately(self, said: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomsOptions:
    """Where an agent is, beside its own chats."""

    rooms: tuple[KnownRoom, ...] = ()
    """Entered at every start."""
    nick: str = ""
    """Where none is said; empty: the name that our contacts see."""
    takes_invitations: bool = True
    """From whom the agent lets in: its own domain and those of `allowed`."""
    per_minute: int = PER_MINUTE
    """Answers in one room."""


class Rooms:
    """`open` it with the agent's resources; the rest comes by the agent's seams."""

    def __init__(self, agent: XmppAgent, options: RoomsOptions, say: RoomTexts) -> None:
        self._agent = agent
        self._options = options
        self._say = say
        self._nick = options.nick or agent.contacts.nick or str(agent.jid.local)
        data = agent.options.data
        self.invited_to = SavedRooms(data / f"rooms-{agent.jid.local}.db" if data else None)
        self._invited: set[str] = set()
        self._rooms: dict[str, RoomState] = {}
        self._sent: LruDict[str, AclMessage] = LruDict(MAX_SENT)
        self._declined: SlidingWindow[str] = SlidingWindow(DECLINED_EVERY_S, time.monotonic)
        # In front of who would judge a room's stanza as a peer's.
        agent.on_stanza.insert(0, self._take)
        agent.door.is_room = self._rooms.__contains__
        agent.on_client.append(self._listen)
        agent.on_session.append(self._session_started)
        agent.on_sent.append(self._note_sent)
        agent.features.add(muc.DIRECT)

    def __contains__(self, room: str) -> bool:
        """Whether we are in it now."""
        return room in self._rooms and self._rooms[room].is_in

    def heard_in(self, room: str) -> tuple[str, ...]:
        """What was said there last, not to us: data, a line each."""
        return self._rooms[room].talk if room in self._rooms else ()

    async def forget(self, peer: str) -> None:
        """What was said there to others, too."""
        for room in self._rooms.values():
            room.forget(peer)

    def _listen(self, client: ClientXMPP) -> None:
        client.register_handler(Callback("rooms", _AnyPresence(None), self._see))

    def _session_started(self) -> None:
        """Another stream: nobody has seen us in any room."""
        for room in self._rooms.values():
            room.lose()
        for known in (*self._options.rooms, *self._remembered()):
            self._want(known)

    def _remembered(self) -> list[KnownRoom]:
        try:
            known = self.invited_to.all() if self._options.takes_invitations else []
        except StorageFailed as error:
            logger.warning("rooms that we were invited to are not entered: %s", error)
            return []
        self._invited.update(room.jid for room in known)
        return known

    def _want(self, known: KnownRoom, *, is_new: bool = False) -> None:
        if known.jid in self._rooms or len(self._rooms) >= MAX_ROOMS:
            return
        nick = known.nick or self._nick
        room = RoomState(
            known.jid, nick, password=known.password, per_minute=self._options.per_minute
        )
        self._rooms[known.jid] = room
        self._agent.submit(self._stay(room, is_new=is_new))

    async def _stay(self, room: RoomState, *, is_new: bool) -> None:
        stay = RoomMembership(self._agent, room, say_again=self._say_again)
        await stay.run(can_give_up=room.address in self._invited, is_new=is_new)
        logger.info("%s stays out of %s from now on", self._agent.jid, room.address)
        self._rooms.pop(room.address, None)
        self._invited.discard(room.address)
        try:
            self.invited_to.remove(room.address)
        except StorageFailed as error:
            logger.warning("%s is not forgotten: %s", room.address, error)

    async def _say_again(self, room: RoomState) -> None:
        returned = [self._sent.get(id) for id in room.unsaid]
        room.unsaid.clear()
        for message in filter(None, returned):
            await self._agent.node.dispatcher.delivery.not_sent(message)
        await self._agent.node.dispatcher.resend()

    def _see(self, presence: Presence) -> None:
        room = self._rooms.get(bare(str(presence["from"])))
        if room is None:
            return
        seen = muc.read_presence(presence.xml)
        room.see(seen)
        if muc.CREATED in seen.statuses:
            unlocking = muc.unlock(room.address, f"unlock-{room.nick}")
            self._agent.send_now(unlocking)

    def _take(self, xml: Element) -> bool:
        """Whether it is a room's, or about one."""
        room = self._rooms.get(bare(xml.get("from", "")))
        kind = xml.get("type", "normal")
        if kind == "error":
            return room is not None and self._returned(room, xml)
        if room is not None and not room.has_let_us_in:
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
        """Whose domain a mediated one comes from says in whose name it is, and is no stranger's."""
        voucher = bare(invitation.room).partition("@")[2]
        is_vouched = not invitation.is_mediated or self._trusts(voucher)
        is_welcome = is_vouched and self._lets_in(invitation.inviter)
        if not (is_welcome and self._options.takes_invitations):
            logger.info("an invitation of %s to %s is ignored", invitation.inviter, invitation.room)
            return
        known = KnownRoom(jid=invitation.room, password=invitation.password)
        if known.jid not in self._rooms and self._has_place_for(invitation.inviter):
            self._remember(known, invitation.inviter)
            self._want(known, is_new=True)

    def _has_place_for(self, inviter: str) -> bool:
        try:
            return len(self._rooms) < MAX_ROOMS and self.invited_to.has_place_for(inviter)
        except StorageFailed as error:
            logger.warning("how often %s has invited us is not known: %s", inviter, error)
            return False

    def _trusts(self, domain: str) -> bool:
        """A component of our own server, or one that we let in."""
        is_own = domain.endswith(f".{self._agent.jid.domain}")
        return is_own or self._agent.contacts.allows(domain)

    def _lets_in(self, jid: str) -> bool:
        return self._agent.contacts.allows(jid) and self._agent.door.lets_in(jid)

    def _remember(self, known: KnownRoom, inviter: str) -> None:
        self._invited.add(known.jid)
        try:
            self.invited_to.add(known, inviter=inviter)
        except StorageFailed as error:
            logger.warning("%s is forgotten at the next start: %s", known.jid, error)

    def _hear(self, room: RoomState, xml: Element) -> None:
        nick = xml.get("from", "").partition("/")[2]
        if not nick or nick == room.nick or encryption_of(xml):
            return
        try:
            message = codec.read_chat(xml)
        except MalformedContent as error:
            logger.info("in %s: %s", room.address, error)
            return
        if message is None:
            return
        text = None if codec.is_delayed(xml) else self._said_to_us(room, xml, message)
        occupant = room.occupant(nick)
        if text is None or not self._is_open_to(room, occupant):
            self._overhear(room, occupant, message, hops=read_hops(xml))
            return
        question = replace(message, content=text, conversation_id="")
        self._agent.run_errand(self._accept(room, question, occupant, read_hops(xml)))

    def _overhear(
        self, room: RoomState, occupant: Occupant, message: AclMessage, *, hops: int
    ) -> None:
        room.hear(occupant.nick, message.content)
        if not (hops or occupant.is_program):
            room.budget.person_spoke()

    def _said_to_us(self, room: RoomState, xml: Element, message: AclMessage) -> str | None:
        """Without our name in front; None: it is not."""
        text = text_for_nick(room.nick, message.content)
        if text is not None:
            return text
        own = frozenset({room.own_address, str(self._agent.jid)})
        is_meant = is_mentioned(xml, own) or message.in_reply_to in self._sent
        return message.content if is_meant else None

    def _is_open_to(self, room: RoomState, occupant: Occupant) -> bool:
        """Whoever is in a room of our configuration may talk to us there; where somebody asked us
        in, those who may anyway."""
        is_ours = room.address not in self._invited
        return is_ours or self._agent.door.lets_in(occupant.real)

    async def _accept(
        self, room: RoomState, message: AclMessage, occupant: Occupant, hops: int
    ) -> None:
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
        """As its client says, once; who does not say so is taken for a person."""
        if occupant.is_program is None:
            try:
                jid = f"{room.address}/{occupant.nick}"
                said = await self._agent.discover(jid, timeout_s=ASK_S)
                occupant.is_program = said.is_bot
            except RequestError:
                occupant.is_program = False
        return occupant.is_program

    def _decline(self, xml: Element) -> None:
        """A private message of an occupant: whoever may talk to us has our address."""
        sender = xml.get("from", "")
        is_said = codec.encoding_of(xml) is Encoding.PLAIN and not codec.is_delayed(xml)
        body = xml.findtext("{jabber:client}body") or ""
        if "/" not in sender or not (body and is_said) or self._was_declined(sender):
            return
        answer = AclMessage(
            performative=Performative.REFUSE,
            sender=self._agent.address,
            receiver=sender,
            content=self._say.not_privately(body),
            encoding=Encoding.PLAIN,
        )
        self._agent.send_now(codec.encode(answer))

    def _was_declined(self, sender: str) -> bool:
        """Or too many were, in this minute."""
        if self._declined.count(sender) or self._declined.count() >= MAX_DECLINED:
            return True
        self._declined.add(sender)
        return False

    def _note_sent(self, message: AclMessage) -> None:
        if message.said.room:
            self._sent[message.reply_with] = message

    def _returned(self, room: RoomState, xml: Element) -> bool:
        """A room that we are in no longer takes nothing: what it gave back is said after we are in
        again. Anything else that it does not take is lost, and answered by nobody."""
        condition, id = muc.condition_of(xml), xml.get("id", "")
        is_ours = id in self._sent
        if not (room.has_let_us_in or is_ours):
            return False
        if condition == NOT_IN or (condition in UNREACHABLE and is_ours):
            room.unsaid.append(id)
            if room.is_in:  # Else we are about to enter anyway.
                room.lose()
        else:
            logger.warning("%s does not take what we say: %s", room.address, condition)
        return True


class _AnyPresence(MatcherBase):
    def match(self, xml: Presence) -> bool:
        return bool(xml.xml.tag == "{jabber:client}presence")
