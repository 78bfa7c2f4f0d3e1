"""Room state: occupants, recent lines, and the rate limit of answers in one room.

A chain of answers ends by their count (hops), by how many went to programs since a person last
said something, and at the latest by what one minute allows.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from spade_llm.core.limits import SlidingWindow
from spade_llm.messaging.message import NO_CHAT_METADATA, SEAT_SEPARATOR, TRANSIENT_PREFIX
from spade_llm.xmpp.stanzas.muc import BANNED, NEW_NICK, SELF, SHUT_DOWN, RoomPresence
from spade_llm.xmpp.stanzas.references import visible_nick

if TYPE_CHECKING:
    from spade_llm.messaging import ChatMetadata

MAX_HOPS = 4
"""Maximum number of program answers in a chain; a message with so many hops is not answered."""
MAX_TO_PROGRAMS = 4
"""Answers to programs since a person said something in the room."""
PER_MINUTE = 20
"""Answers in one room."""
PER_ASKER = 8
"""Maximum number of answers per minute to an occupant."""
MINUTE_S = 60.0

MAX_OCCUPANTS = 5000
"""Maximum number of remembered occupants of a room; further occupants are not recorded."""
MAX_LINES = 20
MAX_LINE_CHARS = 400
"""Maximum length of a line of room talk that is kept as context, in characters."""
MAX_PENDING_LINES = 16
MAX_NICKS = 4
"""Names that are tried: the wanted one, and so many with one more `_`."""
SETTLE_S = 5.0


class RoomAnswerDecision(Enum):
    """Whether a message in a room is answered."""

    ANSWER = auto()
    REFUSE = auto()
    """Say so in a sentence: once a minute for each occupant."""
    SILENCE = auto()


class RoomRateLimit:
    """Limits the answers in one room: per minute (sliding window), per chain of programs."""

    def __init__(self, *, per_minute: int = PER_MINUTE, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._answered: SlidingWindow[str] = SlidingWindow(MINUTE_S, clock)
        self._refused: SlidingWindow[str] = SlidingWindow(MINUTE_S, clock)
        self._to_programs = 0

    def person_spoke(self) -> None:
        """Reset the count of answers to programs."""
        self._to_programs = 0

    def verdict(self, asker: str, *, hops: int, is_program: bool) -> RoomAnswerDecision:
        """Decide on an answer, and count it if it is allowed."""
        if is_program:
            return self._for_program(asker, hops)
        self.person_spoke()
        if not self._is_free_for(asker):
            return self._refusal(asker)
        self._answered.add(asker)
        return RoomAnswerDecision.ANSWER

    def _for_program(self, asker: str, hops: int) -> RoomAnswerDecision:
        """Decide on a program; it gets no refusal, which it could answer."""
        is_over = hops >= MAX_HOPS or self._to_programs >= MAX_TO_PROGRAMS
        if is_over or not self._is_free_for(asker):
            return RoomAnswerDecision.SILENCE
        self._to_programs += 1
        self._answered.add(asker)
        return RoomAnswerDecision.ANSWER

    def _is_free_for(self, asker: str) -> bool:
        is_free = self._answered.count() < self._per_minute
        return is_free and self._answered.count(asker) < PER_ASKER

    def _refusal(self, asker: str) -> RoomAnswerDecision:
        if self._refused.count(asker) or self._refused.count() >= self._per_minute:
            return RoomAnswerDecision.SILENCE
        self._refused.add(asker)
        return RoomAnswerDecision.REFUSE


@dataclass(slots=True, kw_only=True)
class Occupant:
    """Occupant of a room."""

    nick: str
    real: str = ""
    stated_id: str = ""
    """Occupant id stated by the room (XEP-0421); valid only if the room vouches for ids."""
    transient_id: str = field(default_factory=lambda: TRANSIENT_PREFIX + secrets.token_hex(6))
    """Ours, from when they came to when they go."""
    is_program: bool | None = None
    """True for a program; None: not determined yet."""


@dataclass(slots=True, kw_only=True)
class RoomExit:
    """Reason why the agent left a room."""

    is_for_good: bool = False
    """True: kick, ban or destruction of the room. False: lost connection or server shutdown."""
    reason: str = ""


class RoomState:
    """State of one room: membership, occupants, recent talk."""

    def __init__(self, address: str, nick: str, *, password: str = "", per_minute: int) -> None:
        self.address = address
        self.preferred_nick = self.nick = nick
        self.password = password
        self.is_in = False
        self.has_joined_once = False
        """True after a first join. Until then the address is unverified, and may be a person's."""
        self.has_stable_ids = False
        """True if the room announces occupant ids (XEP-0421), and so removes forged ones."""
        self.exit = RoomExit()
        self.is_out = asyncio.Event()
        """Set when we are in no longer, or should look whether we are."""
        self.is_settled = asyncio.Event()
        """Set once the room's features are determined."""
        self.budget = RoomRateLimit(per_minute=per_minute, clock=asyncio.get_running_loop().time)
        self.join_result: asyncio.Future[str] | None = None
        """Result of the current join attempt: an error condition; empty for success."""
        self.bounced_ids: deque[str] = deque(maxlen=MAX_PENDING_LINES)
        """Ids of what the room gave back because we were not in it."""
        self._occupants: dict[str, Occupant] = {}
        self._talk: deque[str] = deque(maxlen=MAX_LINES)

    @property
    def own_address(self) -> str:
        return f"{self.address}/{self.nick}"

    def begin(self, nick: str) -> asyncio.Future[str]:
        """Start a join attempt; the list of occupants is rebuilt."""
        self.nick = nick
        self.is_out.clear()
        self.is_settled.clear()
        self.exit = RoomExit()
        self._occupants.clear()
        # The room sends its history again at each join.
        self._talk.clear()
        self.join_result = asyncio.get_running_loop().create_future()
        return self.join_result

    def lose(self) -> None:
        """Mark the room as left after a lost connection."""
        self.is_in = False
        self.exit = RoomExit()
        self._conclude("connection lost")
        self.is_out.set()

    def see(self, seen: RoomPresence) -> None:
        match seen.kind:
            case "available":
                self._welcome(seen)
            case "unavailable":
                self._farewell(seen)
            case "error":
                self._conclude(seen.condition or "undefined-condition")

    def hear(self, nick: str, text: str) -> None:
        """Record a line of room talk that is not addressed to the agent."""
        line = " ".join(text.split())[:MAX_LINE_CHARS]
        self._talk.append(f"{visible_nick(nick)}: {line}")

    @property
    def talk(self) -> tuple[str, ...]:
        """Recent lines, oldest first."""
        return tuple(self._talk)

    def forget(self, peer: str) -> None:
        """Delete all recorded talk if this bare JID, or this seat, may have taken part."""
        is_seat = peer.endswith(SEAT_SEPARATOR + self.address)
        if is_seat or any(peer == one.real for one in self._occupants.values()):
            self._talk.clear()

    def occupant(self, nick: str) -> Occupant:
        """Return the occupant with this nick; a transient one if the room has not announced it."""
        return self._occupants.get(nick) or Occupant(nick=nick)

    def said_by(
        self, occupant: Occupant, *, hops: int, said: ChatMetadata = NO_CHAT_METADATA
    ) -> ChatMetadata:
        """Return the chat metadata of an occupant's message. `said`: metadata from their client.
        Marks are removed: all occupants would see them."""
        return replace(
            said,
            wants="",
            room=self.address,
            nick=occupant.nick,
            real=occupant.real,
            occupant=(self.has_stable_ids and occupant.stated_id) or occupant.transient_id,
            hops=str(hops) if hops else "",
        )

    async def settled(self) -> None:
        """Wait until the features of the room are known, at most SETTLE_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self.is_settled.wait()

    def _welcome(self, seen: RoomPresence) -> None:
        if SELF in seen.statuses:
            self.nick, self.is_in, self.has_joined_once = seen.nick, True, True
            self._conclude("")
            return
        known = self._occupants.get(seen.nick)
        if known is None and len(self._occupants) >= MAX_OCCUPANTS:
            return
        # Another JID or id under the same nick is another person.
        if known is None or (known.real, known.stated_id) != (seen.real, seen.occupant):
            known = Occupant(nick=seen.nick, real=seen.real, stated_id=seen.occupant)
            self._occupants[seen.nick] = known
        known.is_program = known.is_program or seen.is_agent or None

    def _farewell(self, seen: RoomPresence) -> None:
        is_own = SELF in seen.statuses or seen.nick == self.nick
        if NEW_NICK in seen.statuses and seen.new_nick:
            # The occupant stays the same, so its transient id and what is known of it stay too.
            if is_own:
                self.nick = seen.new_nick
            elif (occupant := self._occupants.pop(seen.nick, None)) is not None:
                occupant.nick = seen.new_nick
                self._occupants[seen.new_nick] = occupant
        elif is_own:
            self._put_out(seen)
        else:
            self._occupants.pop(seen.nick, None)

    def _put_out(self, seen: RoomPresence) -> None:
        # Kicked (307), no member any more (321), members only from now on (322).
        was_wanted = bool(seen.statuses & {BANNED, "307", "321", "322"}) or seen.is_destroyed
        # The service shuts down (332): the room will be there again.
        is_passing = SHUT_DOWN in seen.statuses
        self.is_in = False
        codes = ", ".join(sorted(seen.statuses - {SELF}))
        reason = "it was destroyed" if seen.is_destroyed else f"put out (status {codes or 'none'})"
        self.exit = RoomExit(is_for_good=was_wanted and not is_passing, reason=reason)
        self._conclude(reason)
        self.is_out.set()

    def _conclude(self, condition: str) -> None:
        if self.join_result is not None and not self.join_result.done():
            self.join_result.set_result(condition)
