"""Replicas of an agent: membership by leases in PostgreSQL, ownership by rendezvous hashing.

Each replica receives every message to the agent's bare JID. The owner of its conversation answers
it: the replica with the highest hash of its name and the conversation's key (rendezvous hashing),
so that a replica that comes or goes moves only its own share. The others hold the message for a
while, and take it if the owner dies.

A replica is a member as long as it renews its row (lease, heartbeat), which it does only while its
XMPP session stands. Two replicas may disagree on the members for a moment: a request is answered by
the one that claimed it in the answer log (messaging/claimed_log.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from spade_llm.core.database import StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.messaging.claimed_log import ClaimedAnswerLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from spade_llm.core.database import DatabaseServer
    from spade_llm.messaging.claimed_log import OrphanedRequest

logger = logging.getLogger(__name__)

_Database = TypeVar("_Database")

LEASE_S = 2.0
"""A replica that has not renewed its row for so long counts as dead."""
BEAT_S = 0.5
"""Interval between two renewals (heartbeat)."""
SETTLE_S = 2 * BEAT_S
"""Time in which all others have seen a change of membership. A replica that joins begins to answer
after it; one that leaves goes on until then."""
HOLD_S = 30.0
"""A held message is dropped after this: its owner has answered it. It exceeds the time after which
a replica notices that its connection is dead."""
MAX_HELD = 10_000
"""Maximum number of held messages; the oldest is dropped."""
SCAN_EVERY_S = 10.0
"""Interval between two searches for requests without an owner, if no member came or went."""
JOIN_TIMEOUT_S = 15.0

REPLICA_TABLES = StoreTables(
    name="replicas",
    what="the table of replicas",
    schema="""
CREATE TABLE IF NOT EXISTS replicas (
    name TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    is_leaving INTEGER NOT NULL,
    conversations INTEGER NOT NULL,
    takeovers INTEGER NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;
""",
)
_NOW = "extract(epoch from clock_timestamp())"
# Empty if another process has the name. A row that is over is left for a while: it costs nothing.
_BEAT = f"""WITH beat AS (
    INSERT INTO replicas(name, token, is_leaving, conversations, takeovers, until)
    VALUES (:name, :token, :leaving, :conversations, :takeovers, {_NOW} + :lease)
    ON CONFLICT (name) DO UPDATE SET token = excluded.token, is_leaving = excluded.is_leaving,
        conversations = excluded.conversations, takeovers = excluded.takeovers,
        until = excluded.until
    WHERE replicas.token = excluded.token OR replicas.until <= {_NOW}
    RETURNING name, token, is_leaving, conversations, takeovers)
    SELECT * FROM beat
    UNION ALL SELECT name, token, is_leaving, conversations, takeovers FROM replicas
        WHERE name <> :name AND until > {_NOW} AND EXISTS (SELECT 1 FROM beat)"""
_WITHDRAW = "DELETE FROM replicas WHERE token = ?"
_TIDY = f"DELETE FROM replicas WHERE until < {_NOW} - 3600"


@dataclass(frozen=True, slots=True, order=True)
class Replica:
    """Member of a replica set."""

    name: str
    """Resource of its full JID."""
    token: str
    """Fencing token: a new one for each process."""
    is_leaving: bool = False
    """True if it finishes its requests, and takes no new ones."""
    conversations: int = field(default=0, compare=False)
    """Number of conversations that it holds in RAM (`ReplicaLoad`), as of its last heartbeat."""
    takeovers: int = field(default=0, compare=False)
    """Number of requests that it took over from other replicas since its start."""


def require_shared_database(database: _Database | None, *, agent: object) -> _Database:
    """Database that the replicas of an agent share. `agent`: its name in the error.

    Raises:
        ConfigurationError: there is none.
    """
    if database is None:
        raise ConfigurationError(
            f"{agent}: replicas share their state in PostgreSQL: set [storage] database_url,"
            " --database or SPADE_LLM_DATABASE"
        )
    return database


def rendezvous_owner(key: str, names: Iterable[str]) -> str:
    """Name with the highest hash of name and key (rendezvous hashing). Raises ValueError: there are
    no names."""
    return max(names, key=lambda name: hashlib.blake2b(f"{name}\0{key}".encode()).digest())


class Takeover(Protocol):
    """Work that a replica takes over, done by its agent. Methods do not raise."""

    def take_up(self, orphan: OrphanedRequest) -> bool:
        """Serve a request that its owner left unanswered. False: it may not be run again."""
        ...

    def take_held(self, item: Any) -> bool:
        """Process a held message as if it had just come. False: that is not needed any more."""
        ...

    async def resend(self) -> None:
        """Send the answers that were taken over unsent."""
        ...

    def is_serving(self, key: str) -> bool:
        """True if a request of this conversation owner runs or waits here."""
        ...


@dataclass(slots=True)
class _Held:
    key: str
    request: tuple[str, str]
    """Full sender and id."""
    item: object
    at: float = field(default_factory=time.time)


class ReplicaSet:
    """Membership of this process in its agent's set of replicas, and the messages that it holds."""

    def __init__(self, server: DatabaseServer, *, is_connected: Callable[[], bool]) -> None:
        """`is_connected`: true while the XMPP session stands."""
        self.token = secrets.token_hex(8)
        self.name = ""
        self.log = ClaimedAnswerLog(server, token=self.token, on_busy=self._note_busy)
        self.work: Takeover | None = None
        """Set before `join`."""
        self.on_change: list[Callable[[], None]] = []
        """Called after each change of ownership; must not raise."""
        self.takeovers = 0
        """Number of requests that this process took over from other replicas."""
        self.count_conversations: Callable[[], int] = lambda: 0
        """Number of conversations in RAM, for reports."""
        self._db = REPLICA_TABLES.at(server)
        self._is_connected = is_connected
        self._known: frozenset[Replica] = frozenset()
        """All that live, as of the last adopted change."""
        self._seen: frozenset[Replica] = frozenset()
        self._members: tuple[str, ...] = ()
        """Names that ownership is distributed over; empty: this process owns nothing."""
        self._lease_until_s = 0.0
        self._quiet_until_s = 0.0
        """End of the time in which it only renews its row (joining), or has none (new session)."""
        self._sessions = self._joined_session = 0
        self._is_leaving = self._has_row = False
        self._scan_at_s = 0.0
        self._busy: set[str] = set()
        """Conversation owners with a request that another replica still serves: their messages
        wait, which keeps the order of answers."""
        self._held: OrderedDict[int, _Held] = OrderedDict()
        self._number = 0
        self._beating: asyncio.Task[None] | None = None
        self._has_joined = asyncio.Event()
        self._is_name_taken = False

    @property
    def members(self) -> tuple[Replica, ...]:
        """Living replicas, as of the last heartbeat."""
        return tuple(sorted(self._seen))

    @property
    def held(self) -> int:
        """Number of messages held for other replicas."""
        return len(self._held)

    def owns(self, key: str) -> bool:
        """True if this replica answers in conversations of this owner (bare JID of a person or a
        room), or does the background job of this name."""
        is_member = bool(self._members) and time.monotonic() < self._lease_until_s
        return is_member and rendezvous_owner(key, self._members) == self.name

    def is_answered_here(self, key: str) -> bool:
        """True if a message of this conversation owner is answered here: we own it, or a request of
        it still runs here after it was given to another replica."""
        if key in self._busy:
            return False
        if self.owns(key):
            return True
        is_living = time.monotonic() < self._lease_until_s and not self._is_leaving
        return is_living and self.work is not None and self.work.is_serving(key)

    def hold(self, key: str, request: tuple[str, str], item: object) -> None:
        """Keep a message of another replica's, by its full sender and id, for HOLD_S."""
        if self._is_leaving:
            return
        self._number += 1
        self._held[self._number] = _Held(key, request, item)
        if len(self._held) > MAX_HELD:
            self._held.popitem(last=False)

    async def open(self, name: str) -> None:
        """Create the table. `name`: resource of our full JID. Raises ConfigurationError."""
        self.name = name
        await self._db.open()

    async def join(self) -> None:
        """Become a member, once our presence is sent; returns when messages are answered.

        Raises:
            ConfigurationError: another process has our resource, or the database does not answer.
        """
        self._joined_session = self._sessions
        self._beating = asyncio.create_task(self._beat_for_ever())
        try:
            async with asyncio.timeout(JOIN_TIMEOUT_S):
                await self._has_joined.wait()
        except TimeoutError:
            reason = (
                f"another process is the replica {self.name!r}: give each its own data directory"
                if self._is_name_taken
                else "the table of replicas in the database cannot be written"
            )
            raise ConfigurationError(f"this replica cannot join: {reason}") from None

    async def leave(self) -> None:
        """Give new messages to the others; returns when they know. Requests that run here stay
        claimed until `close`."""
        if self._beating is None:
            return
        self._is_leaving = True
        if self._is_connected() and self._has_row:
            try:
                await self._renew()
            except StorageFailed as error:
                logger.warning("leaving without notice, others wait for the lease: %s", error)
            # What comes until they know is answered here: no other replica would.
            await asyncio.sleep(SETTLE_S)
        self._members = ()
        self._held.clear()

    async def close(self) -> None:
        """Give up all claims that are left, and the membership."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait({self._beating})
            try:
                await self._withdraw()
            except StorageFailed as error:
                logger.warning("the others wait until the lease is over: %s", error)
        await self._db.close()

    def session_started(self) -> None:
        """Note a new XMPP session: what came between the last one and this only the others got."""
        self._sessions += 1

    def _note_busy(self, key: str) -> None:
        self._busy.add(key)

    async def _beat_for_ever(self) -> None:
        while True:
            try:
                await self._beat()
            except StorageFailed as error:
                logger.warning("the lease cannot be renewed: %s", error)
            await asyncio.sleep(BEAT_S)

    async def _beat(self) -> None:
        now_s = time.monotonic()
        self._drop_old()
        if not self._is_connected() or self._joined_session != self._sessions:
            # Also after a short interruption: the others must see that we were away, since they
            # alone have what came meanwhile.
            if self._has_row:
                self._quiet_until_s = now_s + LEASE_S + BEAT_S  # If the row cannot be deleted.
                await self._withdraw()
                self._quiet_until_s = now_s + SETTLE_S
            if self._is_connected():
                self._joined_session = self._sessions
            return
        if not self._has_row and now_s < self._quiet_until_s:
            return
        had_row, was_member = self._has_row, self._has_row and now_s < self._lease_until_s
        living = await self._renew()
        if living is None:
            return
        if not was_member:
            self._members = ()
            is_alone = len(living) == 1
            settle_s = 0.0 if is_alone else SETTLE_S
            # After an outage of the database the leases of all are over, and they renew them now.
            self._quiet_until_s = time.monotonic() + (LEASE_S if had_row else settle_s)
        if time.monotonic() >= self._quiet_until_s and not self._is_leaving:
            await self._follow(living)

    async def _renew(self) -> frozenset[Replica] | None:
        """Renew our row; returns all living replicas. None: another process has our name."""
        began_s = time.monotonic()
        values = {
            "name": self.name,
            "token": self.token,
            "leaving": int(self._is_leaving),
            "conversations": self.count_conversations(),
            "takeovers": self.takeovers,
            "lease": LEASE_S,
        }
        rows = await self._db.execute(_BEAT, values)
        self._is_name_taken = not rows
        if self._is_name_taken:
            self._has_row = False
            return None
        self._has_row, self._lease_until_s = True, began_s + LEASE_S
        self._seen = frozenset(
            Replica(str(name), str(token), bool(leaving), int(str(count)), int(str(takeovers)))
            for name, token, leaving, count, takeovers in rows
        )
        return self._seen

    async def _withdraw(self) -> None:
        """Delete our row."""
        self._members, self._has_row, self._lease_until_s = (), False, 0.0
        await self._db.execute(_WITHDRAW, self.token)

    async def _follow(self, living: frozenset[Replica]) -> None:
        """Adopt a change of membership, and look after requests without a living owner."""
        now_s = time.monotonic()
        if not self._members or living != self._known or now_s >= self._scan_at_s:
            await self._adopt(living)
            self._scan_at_s = now_s + SCAN_EVERY_S
        elif self._busy:
            await self._release(self._busy & await self.log.busy_elsewhere())

    async def _adopt(self, living: frozenset[Replica]) -> None:
        assert self.work is not None
        members = tuple(sorted(one.name for one in living if not one.is_leaving))

        # Processes that were restarted before this one saw that they were gone: what came in
        # between they have not received, and the others distribute it among themselves.
        tokens = {one.name: one.token for one in self._known}
        restarted = {one.name for one in living if tokens.get(one.name, one.token) != one.token}
        heirs = [name for name in members if name not in restarted]

        def will_own(key: str) -> bool:
            return rendezvous_owner(key, members) == self.name

        def will_take(key: str) -> bool:
            owner = rendezvous_owner(key, members)
            if owner in restarted and heirs:
                owner = rendezvous_owner(key, heirs)
            return owner == self.name

        if living != self._known:
            names = ", ".join(
                f"{one.name}{' (leaving)' * one.is_leaving}" for one in sorted(living)
            )
            logger.info("replicas: %s", names)
            await self._db.execute(_TIDY)
        await self.log.close_answered()
        orphans = [one for one in await self.log.orphans() if will_own(one.message.owner)]
        await self.log.take_unsent(will_own)
        busy = {key for key in await self.log.busy_elsewhere() if will_own(key)}
        served = await self._served(will_take)
        # Without a wait until the end: what comes next must stand behind what is taken here.
        changed, self._known, self._members = members != self._members, living, members
        self._busy = busy
        held = self._pop_held(lambda one: will_take(one.key) and one.key not in busy, served)
        self._take_over(orphans, held)
        if changed:
            for tell in self.on_change:
                tell()
        self._has_joined.set()
        await self.work.resend()

    def _take_over(self, orphans: list[OrphanedRequest], held: list[_Held]) -> None:
        """Serve what others left, in the order of arrival."""
        assert self.work is not None
        known = {one.request for one in held}
        left: list[tuple[float, OrphanedRequest | _Held]] = [(one.at, one) for one in held]
        left += [
            (one.at, one)
            for one in orphans
            if (one.message.sender, one.message.reply_with) not in known
        ]
        for _, one in sorted(left, key=lambda pair: pair[0]):
            if isinstance(one, _Held):
                self.takeovers += self.work.take_held(one.item)
            else:
                self.takeovers += self.work.take_up(one)

    async def _release(self, still_busy: set[str]) -> None:
        """Answer what waited for a request at another replica."""
        assert self.work is not None
        freed = self._busy - still_busy
        if not freed:
            return
        served = await self._served(freed.__contains__)
        self._busy -= freed
        for one in self._pop_held(lambda one: one.key in freed and self.owns(one.key), served):
            self.work.take_held(one.item)

    async def _served(self, is_meant: Callable[[str], bool]) -> set[tuple[str, str]]:
        """Held messages that are answered, or have a living owner."""
        return await self.log.served(
            {one.request for one in self._held.values() if is_meant(one.key)}
        )

    def _pop_held(
        self, is_meant: Callable[[_Held], bool], served: set[tuple[str, str]]
    ) -> list[_Held]:
        """Remove the meant messages, and return those that are not served, oldest first."""
        meant = {number: one for number, one in self._held.items() if is_meant(one)}
        for number in meant:
            del self._held[number]
        return [one for one in meant.values() if one.request not in served]

    def _drop_old(self) -> None:
        before = time.time() - HOLD_S
        while self._held and next(iter(self._held.values())).at < before:
            self._held.popitem(last=False)
