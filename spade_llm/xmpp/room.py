"""One room as an agent knows it: who is in it, whether we are, what was said. Sends nothing."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spade_llm.acl.said import IN, NOTHING_SAID, PASSING
from spade_llm.xmpp.mention import visible
from spade_llm.xmpp.room_budget import RoomBudget
from spade_llm.xmpp.room_stanza import BANNED, NEW_NICK, SELF, SHUT_DOWN

if TYPE_CHECKING:
    from spade_llm.acl import Said
    from spade_llm.xmpp.room_stanza import RoomPresence

MAX_OCCUPANTS = 5000
"""That are known by name; of others nothing is kept."""
MAX_LINES = 20
MAX_LINE_CHARS = 400
"""Of what people say to each other: the last of it, as context."""
MAX_UNSAID = 16
MAX_NICKS = 4
"""Names that are tried: the wanted one, and so many with one more `_`."""
SETTLE_S = 5.0


@dataclass(slots=True, kw_only=True)
class Occupant:
    nick: str
    real: str = ""
    stated_id: str = ""
    """As the room says; it counts only where the room vouches for it."""
    sitting: str = field(default_factory=lambda: PASSING + secrets.token_hex(6))
    """Ours, from when they came to when they go."""
    is_program: bool | None = None
    """None: nobody has asked yet."""


@dataclass(slots=True, kw_only=True)
class Outing:
    """How we came to be out of a room."""

    is_for_good: bool = False
    """Somebody wants us out."""
    reason: str = ""


class Room:
    def __init__(self, address: str, nick: str, *, password: str = "", per_minute: int) -> None:
        self.address = address
        self.wanted_nick = self.nick = nick
        self.password = password
        self.is_in = False
        self.has_let_us_in = False
        """Until it has, it is an address that somebody gave us, and may be a person's."""
        self.vouches_for_ids = False
        """It says that it gives ids (XEP-0421), and so takes away those that somebody made up."""
        self.outing = Outing()
        self.is_out = asyncio.Event()
        """Set when we are in no longer, or should look whether we are."""
        self.is_settled = asyncio.Event()
        """What there is to know of the room is known."""
        self.budget = RoomBudget(per_minute=per_minute, clock=asyncio.get_running_loop().time)
        self.entrance: asyncio.Future[str] | None = None
        """Of the attempt that runs: the condition that ends it; empty where we are in."""
        self.unsaid: deque[str] = deque(maxlen=MAX_UNSAID)
        """Ids of what the room gave back because we were not in it."""
        self._occupants: dict[str, Occupant] = {}
        self._talk: deque[str] = deque(maxlen=MAX_LINES)

    @property
    def own_address(self) -> str:
        return f"{self.address}/{self.nick}"

    def begin(self, nick: str) -> asyncio.Future[str]:
        """An attempt to enter; whoever was in it comes again."""
        self.nick = nick
        self.is_out.clear()
        self.is_settled.clear()
        self.outing = Outing()
        self._occupants.clear()
        self._talk.clear()
        self.entrance = asyncio.get_running_loop().create_future()
        return self.entrance

    def lose(self) -> None:
        """We are out, without anybody having wanted it."""
        self.is_in = False
        self.outing = Outing()
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
        """Something that nobody said to us."""
        line = " ".join(text.split())[:MAX_LINE_CHARS]
        self._talk.append(f"{visible(nick)}: {line}")

    @property
    def talk(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(self._talk)

    def forget(self, peer: str) -> None:
        """All talk goes, if this bare JID, or who has this seat, may have taken part."""
        is_seat = peer.endswith(IN + self.address)
        if is_seat or any(peer == one.real for one in self._occupants.values()):
            self._talk.clear()

    def occupant(self, nick: str) -> Occupant:
        """Whom the room has not shown is nobody whom we could know again."""
        return self._occupants.get(nick) or Occupant(nick=nick)

    def said_by(self, occupant: Occupant, *, hops: int, said: Said = NOTHING_SAID) -> Said:
        """`said`: what their client says beside the text. No marks: they would be everybody's."""
        return replace(
            said,
            wants="",
            room=self.address,
            nick=occupant.nick,
            real=occupant.real,
            occupant=(self.vouches_for_ids and occupant.stated_id) or occupant.sitting,
            hops=str(hops) if hops else "",
        )

    async def settled(self) -> None:
        """Soon, or as things are."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self.is_settled.wait()

    def _welcome(self, seen: RoomPresence) -> None:
        if SELF in seen.statuses:
            self.nick, self.is_in, self.has_let_us_in = seen.nick, True, True
            self._conclude("")
            return
        known = self._occupants.get(seen.nick)
        if known is None and len(self._occupants) >= MAX_OCCUPANTS:
            return
        if known is None or (known.real, known.stated_id) != (seen.real, seen.occupant):
            known = Occupant(nick=seen.nick, real=seen.real, stated_id=seen.occupant)
            self._occupants[seen.nick] = known
        known.is_program = known.is_program or seen.is_agent or None

    def _farewell(self, seen: RoomPresence) -> None:
        is_own = SELF in seen.statuses or seen.nick == self.nick
        if NEW_NICK in seen.statuses and seen.new_nick:
            self._rename(seen.nick, seen.new_nick, is_own=is_own)
        elif is_own:
            self._put_out(seen)
        else:
            self._occupants.pop(seen.nick, None)

    def _rename(self, nick: str, new: str, *, is_own: bool) -> None:
        """The same person goes on sitting there, whatever they are called."""
        if is_own:
            self.nick = new
        elif (occupant := self._occupants.pop(nick, None)) is not None:
            occupant.nick = new
            self._occupants[new] = occupant

    def _put_out(self, seen: RoomPresence) -> None:
        was_wanted = bool(seen.statuses & {BANNED, "307", "321", "322"}) or seen.is_destroyed
        is_passing = SHUT_DOWN in seen.statuses
        self.is_in = False
        codes = ", ".join(sorted(seen.statuses - {SELF}))
        reason = "it was destroyed" if seen.is_destroyed else f"put out (status {codes or 'none'})"
        self.outing = Outing(is_for_good=was_wanted and not is_passing, reason=reason)
        self._conclude(reason)
        self.is_out.set()

    def _conclude(self, condition: str) -> None:
        if self.entrance is not None and not self.entrance.done():
            self.entrance.set_result(condition)
