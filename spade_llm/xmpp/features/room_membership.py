"""Room membership: join, self-ping (XEP-0410), rejoin with back-off and jitter; saved rooms."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.core.database import DatabasePlace, StoreTables
from spade_llm.core.errors import RequestError
from spade_llm.xmpp.features.room_state import MAX_NICKS, RoomState
from spade_llm.xmpp.stanzas import muc

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.connection.xmpp_client import XmppClient

logger = logging.getLogger(__name__)

MAX_ROOMS = 50
"""Maximum number of rooms per agent, including configured rooms."""
MAX_OF_INVITER = 10
"""Maximum number of saved rooms per inviter, so that others have places, too."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rooms (
    jid TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    inviter TEXT NOT NULL
);
"""
ROOM_TABLES = StoreTables(name="rooms", what="the list of rooms", schema=_SCHEMA)
_ADD = """INSERT INTO rooms(jid, password, inviter) VALUES (?, ?, ?)
    ON CONFLICT (jid) DO UPDATE SET password = excluded.password, inviter = excluded.inviter"""
_ALL = "SELECT jid, password FROM rooms ORDER BY rowid LIMIT ?"
_COUNT = "SELECT count(*) FROM rooms WHERE inviter = ?"
_REMOVE = "DELETE FROM rooms WHERE jid = ?"
JOIN_TIMEOUT_S = 10.0
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 300.0
KICKED_PAUSE_S = 60.0
"""Pause in seconds before a configured room is joined again after a kick."""
PING_EVERY_S = 60.0
PING_TIMEOUT_S = 20.0

NICK_TAKEN = "conflict"
ROOM_CLOSED_CONDITIONS = frozenset(
    {"forbidden", "registration-required", "not-authorized", "not-allowed", "gone"}
)
"""Answers of a room that does not want us."""
NO_ROOM = frozenset({"service-unavailable", "subscription-required"})
"""Error conditions that a server answers on behalf of a person's account (RFC 6121 §8.5)."""
STILL_IN = frozenset({"service-unavailable", "feature-not-implemented"})
UNSURE = frozenset({"remote-server-not-found", "remote-server-timeout"})
"""Conditions of XEP-0410 §3.3; all others say that we are out. To us `item-not-found` does, too:
there it is a name that was changed; of Prosody it may be a room that is there no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRoom:
    """Room to join."""

    jid: str
    """Bare."""
    nick: str = ""
    """Empty: the agent's usual one."""
    password: str = ""


class SavedRooms:
    """Rooms that the agent was invited to (SQLite)."""

    def __init__(self, place: DatabasePlace) -> None:
        """A file can be read by its owner only: rooms have passwords."""
        self._db = ROOM_TABLES.at(place)

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    async def all(self) -> list[KnownRoom]:
        """Return the saved rooms, oldest first. Raises StorageFailed, as all methods here."""
        rows = await self._db.execute(_ALL, MAX_ROOMS)
        return [KnownRoom(jid=str(jid), password=str(password)) for jid, password in rows]

    async def add(self, room: KnownRoom, *, inviter: str) -> None:
        await self._db.execute(_ADD, room.jid, room.password, inviter)

    async def has_capacity_for(self, inviter: str) -> bool:
        ((count,),) = await self._db.execute(_COUNT, inviter)
        return int(str(count)) < MAX_OF_INVITER

    async def remove(self, jid: str) -> None:
        await self._db.execute(_REMOVE, jid)


class RoomMembership:
    """Keeps the agent in one room: joins, checks by self-ping, and rejoins with back-off."""

    def __init__(
        self,
        agent: XmppAgent,
        room: RoomState,
        *,
        resend_bounced: Callable[[RoomState], Awaitable[None]],
    ) -> None:
        """`resend_bounced`: called after each join."""
        self._agent = agent
        self._room = room
        self._resend_bounced = resend_bounced
        self._pause_s = FIRST_PAUSE_S

    async def run(self, *, can_give_up: bool, is_new: bool) -> None:
        """Maintain the membership until the task is cancelled. `can_give_up`: ends when the room
        rejects the agent. `is_new`: ends if the address is not a room."""
        if is_new and await self._is_no_room():
            return
        while True:
            condition = await self._enter()
            if condition == "":
                condition = await self._wait_until_left()
            is_unwanted = condition in ROOM_CLOSED_CONDITIONS or self._room.exit.is_for_good
            if is_unwanted and can_give_up:
                return
            if condition:
                await self._pause(condition)

    async def _is_no_room(self) -> bool:
        """True if the address is not a room: an invitation may name a person's address."""
        try:
            said = await self._agent.discover(self._room.address)
        except RequestError as error:
            return error.wire_code in NO_ROOM
        return muc.MUC not in said.features

    async def _enter(self) -> str:
        """Join, with another nick if it is taken; return the error condition, empty for success."""
        condition = NICK_TAKEN
        for tried in range(MAX_NICKS):
            condition = await self._attempt(self._room.preferred_nick + "_" * tried)
            if condition != NICK_TAKEN:
                break
        if condition == "":
            await self._finish_join()
        return condition

    async def _attempt(self, nick: str) -> str:
        join_result = self._room.begin(nick)
        try:
            async with asyncio.timeout(JOIN_TIMEOUT_S):
                if self._agent.connection is not None:
                    await self._agent.connection.connected.wait()
                presence = self._agent.client.make_presence(pto=self._room.own_address)
                presence.xml.append(muc.join_element(self._room.password))
                presence.send()
                return await join_result
        except TimeoutError:
            return "no answer"

    async def _finish_join(self) -> None:
        """Query the room's features, then finish the join. Only a room that announces occupant ids
        (XEP-0421) removes forged ones."""
        room = self._room
        asking = asyncio.create_task(self._ask())
        # A room that is lost meanwhile never answers.
        leaving = asyncio.create_task(room.is_out.wait())
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
        leaving.cancel()
        if room.is_out.is_set():
            return
        room.is_settled.set()
        logger.info("%s is in %s as %s", self._agent.jid, room.address, room.nick)
        await self._resend_bounced(room)

    async def _ask(self) -> None:
        room = self._room
        try:
            said = await self._agent.discover(room.address)
            room.has_stable_ids = muc.OCCUPANT_ID in said.features
        except RequestError as error:
            logger.warning("the features of room %s are unknown: %s", room.address, error)

    async def _wait_until_left(self) -> str:
        """Wait until the agent is out of the room; return the reason, empty to rejoin at once."""
        room = self._room
        while room.is_in:
            try:
                async with asyncio.timeout(PING_EVERY_S):
                    await room.is_out.wait()
            except TimeoutError:
                if not await is_occupant(self._agent.client, self._room.own_address):
                    logger.warning("room %s no longer lists us as an occupant", room.address)
                    room.lose()
        self._pause_s = KICKED_PAUSE_S if room.exit.is_for_good else FIRST_PAUSE_S
        return room.exit.reason

    async def _pause(self, reason: str) -> None:
        """Wait before the next attempt (back-off, jitter); a new stream ends the pause."""
        room = self._room
        logger.warning("%s is not in %s: %s", self._agent.jid, room.address, reason)
        room.is_out.clear()
        waiting = asyncio.create_task(room.is_out.wait())
        try:
            # Jitter: the agents of a room that was away do not all join at the same moment.
            pause_s = random.uniform(self._pause_s / 2, self._pause_s)
            await asyncio.wait({waiting}, timeout=pause_s)
        finally:
            waiting.cancel()
        self._pause_s = min(self._pause_s * 2, MAX_PAUSE_S)


async def is_occupant(client: XmppClient, occupant: str) -> bool:
    """Check by self-ping (XEP-0410) whether we are this occupant; True if undetermined."""
    condition = await client.ping(occupant, PING_TIMEOUT_S)
    return not condition or condition in STILL_IN | UNSURE
