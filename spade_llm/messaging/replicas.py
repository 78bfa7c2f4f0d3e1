"""Replicas of an agent: membership by leases in PostgreSQL, ownership by rendezvous hashing.

Each replica receives every message to the agent's bare JID. The owner of its conversation answers
it: the replica with the highest hash of its name and the conversation's key (rendezvous hashing),
so that a replica that comes or goes moves only its own share. The others hold the message for a
while, and take it if the owner dies.

A replica is a member as long as it renews its row (lease, heartbeat), which it does only while its
XMPP session stands. Four rules follow from what can go wrong:

- Presence, then row: a message that came after a row was seen has reached that replica. An earlier
  one belongs to a replica that was there. A new session is a new member, with a token of its own:
  the others share out what the one before has claimed, and what came between.
- What a lost stream may have taken along is put back into the log before the row is deleted.
- No replica judges another by its lease unless it could renew its own in time meanwhile: otherwise
  the database was away, and the others are about to renew theirs.
- Two replicas may disagree on the members for a moment: a request is answered by the one that
  claimed it in the answer log (messaging/claimed_log.py). Claims of a dead replica are taken over
  all at once, so that it cannot go on in the middle of a conversation.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from spade_llm.core.database import DatabaseServer, StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.messaging.claimed_log import ClaimedAnswerLog, OrphanedRequest

logger = logging.getLogger(__name__)

_Database = TypeVar("_Database")

LEASE_S = 2.0
"""A replica that has not renewed its row for so long counts as dead."""
BEAT_S = 0.5
"""Interval between two renewals (heartbeat)."""
SETTLE_S = 2 * BEAT_S
"""Time in which all others have seen a change of membership. A replica that joins begins to answer
after it; one that leaves goes on until then. If two renewals are further apart, the database or
this process was away."""
HOLD_S = 30.0
"""A held message is dropped after this: its owner has answered it. It exceeds the time after which
a replica notices that its connection is dead."""
MAX_HELD = 10_000
"""Maximum number of held messages (some 3 KB each, at most 256), and of keys whose owner is
remembered; the oldest is dropped."""
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
    turns TEXT,
    until REAL NOT NULL
) WITHOUT ROWID;
""",
    # Tables, and replicas, of earlier versions lack it.
    added_columns=("replicas turns TEXT",),
)
_NOW = "extract(epoch from clock_timestamp())"
_STARTED = "pg_postmaster_start_time()::text"
_COLUMNS = "name, token, is_leaving, conversations, takeovers, turns"
_MEMBERS = f"SELECT {_COLUMNS}, until > {_NOW}, {_STARTED} FROM replicas"
# Empty if another process has the name.
_BEAT = f"""WITH beat AS (
    INSERT INTO replicas({_COLUMNS}, until)
    VALUES (:name, :token, :leaving, :conversations, :takeovers, :turns, {_NOW} + :lease)
    ON CONFLICT (name) DO UPDATE SET token = excluded.token, is_leaving = excluded.is_leaving,
        conversations = excluded.conversations, takeovers = excluded.takeovers,
        turns = excluded.turns, until = excluded.until
    WHERE replicas.token = ANY(:tokens::text[]) OR replicas.until <= {_NOW}
    RETURNING {_COLUMNS}, TRUE, {_STARTED})
    SELECT * FROM beat
    UNION ALL {_MEMBERS} WHERE name <> :name AND EXISTS (SELECT 1 FROM beat)"""
_WITHDRAW = "DELETE FROM replicas WHERE token = ANY(?::text[])"
# A row whose lease is over is kept for a while: a replica that begins sees that one is missing.
_TIDY = f"DELETE FROM replicas WHERE until < {_NOW} - 60"


@dataclass(frozen=True, slots=True, order=True)
class Replica:
    """Member of a replica set."""

    name: str
    """Resource of its full JID."""
    token: str
    """Fencing token: a new one for each XMPP session."""
    is_leaving: bool = False
    """True if it finishes its requests, and takes no new ones."""
    conversations: int = field(default=0, compare=False)
    """Number of conversations that it holds in RAM (`ReplicaLoad`), as of its last heartbeat."""
    takeovers: int = field(default=0, compare=False)
    """Number of requests that it took over from other replicas since its start."""
    turns: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Number of turns that run there, by quota group (at most as many groups as turns run)."""


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


@lru_cache(maxsize=MAX_HELD)
def rendezvous_owner(key: str, names: tuple[str, ...]) -> str:
    """Name with the highest hash of name and key. Raises ValueError: there are no names."""
    return max(names, key=lambda name: hashlib.blake2b(f"{name}\0{key}".encode()).digest())


class Takeover(Protocol):
    """Work that a replica takes over, done by its agent. Methods do not raise."""

    def take_up(self, orphan: OrphanedRequest) -> bool:
        """Serve a request that its owner left unanswered. False: it may not be run again."""

    def take_held(self, item: Any, at: float) -> bool:
        """Process a held message as if it had just come. `at`: its arrival, Unix time. False: that
        is not needed any more."""

    async def until_present(self) -> bool:
        """Return once the server gives messages to our session. False: not in time."""

    async def until_hidden(self) -> None:
        """Return once the server gives our session no more messages to the bare JID."""

    async def until_restored(self) -> None:
        """Return once the answers that a lost stream may have taken along are in the log."""

    async def resend(self) -> None:
        """Send the answers that were taken over unsent, or that could not be sent."""

    def is_serving(self, key: str) -> bool:
        """True if a request of this conversation owner runs or waits here."""


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
        self.name = ""
        self.log = ClaimedAnswerLog(server, on_busy=self._note_busy)
        self.work: Takeover | None = None
        """Set before `join`."""
        self.on_change: list[Callable[[], None]] = []
        """Called after each change of ownership; must not raise."""
        self.is_settled = False
        """True if what earlier sessions left unsent is sent, or belongs to others."""
        self.takeovers = 0
        """Number of requests that this process took over from other replicas."""
        self.count_conversations: Callable[[], int] = lambda: 0
        """Number of conversations in RAM, for reports."""
        self.count_turns: Callable[[], Mapping[str, int]] = dict
        """Number of running turns by quota group, for the other replicas."""
        self._db = REPLICA_TABLES.at(server)
        self._is_connected = is_connected
        self._known: frozenset[Replica] = frozenset()
        """All that live, as of the last adopted change."""
        self._seen: frozenset[Replica] = frozenset()
        self._members: tuple[str, ...] = ()
        """Names that ownership is distributed over; empty: this process owns nothing."""
        self._seen_since: dict[str, float] = {}
        """Time when each session of the others was first seen, by token, Unix time: it has
        received what came since."""
        self._is_missing_one = False
        """True if a row was seen whose lease is over."""
        self._database_started = self._checked_start = ""
        """When the database server was started, as it says, and when it had been at the last
        comparison of the log with what this process did; empty: unknown."""
        self._lease_until_s = 0.0
        self._quiet_until_s = 0.0
        """End of the time in which it only renews its row (joining)."""
        self._renewed_s = float("-inf")
        self._steady_since_s = float("-inf")
        """Beginning of the time in which it renewed its row regularly."""
        self._sessions, self._joined_session = 0, -1
        self._is_leaving = self._has_left = self._has_row = False
        self._takes_all = False
        """True if it has taken what it held for replicas that leave, too."""
        self._scan_at_s = 0.0
        self._will_take: Callable[[str, float], bool] = lambda _key, _at: False
        """True for the conversation owner and the arrival of a message that this replica has to
        take, as of the last adopted change."""
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

    def turns_elsewhere(self, group: str) -> int:
        """Number of turns of a quota group that run in the other replicas, as of the last
        heartbeat."""
        return sum(one.turns.get(group, 0) for one in self._seen if one.name != self.name)

    @property
    def _is_member(self) -> bool:
        return bool(self._members) and time.monotonic() < self._lease_until_s

    @property
    def _is_last(self) -> bool:
        """True if this replica leaves, no other one stays, and messages still come."""
        if not self._is_leaving or self._has_left:
            return False
        return all(one.is_leaving or one.name == self.name for one in self._seen)

    def owns(self, key: str) -> bool:
        """True if this replica answers in conversations of this owner (bare JID of a person or a
        room), or does the background job of this name."""
        return self._is_member and rendezvous_owner(key, self._members) == self.name

    def is_answered_here(self, key: str) -> bool:
        """True if a message of this conversation owner is answered here: we own it, or a request of
        it still runs here after it was given to another replica."""
        if self._takes_all and self._is_last:
            return True  # Each of the last ones takes all: the answer log has one of them do it.
        if key in self._busy:
            return False
        if self.owns(key):
            return True
        is_staying = self._is_member and not self._is_leaving
        return is_staying and self.work is not None and self.work.is_serving(key)

    def hold(self, key: str, request: tuple[str, str], item: object) -> None:
        """Keep a message of another replica's, by its full sender and id, for HOLD_S."""
        if self._has_left:
            return
        logger.debug("request %s: held for one of %s", request[1], self._members)
        self._number += 1
        self._held[self._number] = _Held(key, request, item)
        if len(self._held) > MAX_HELD:
            self._held.popitem(last=False)

    async def open(self, name: str) -> None:
        """Create the table. `name`: resource of our full JID. Raises ConfigurationError."""
        self.name = name
        await self._db.open()
        # Before our presence: these receive all that we will receive.
        self._note_seen(await self._db.execute(_MEMBERS))

    async def join(self) -> None:
        """Become a member, once our presence is sent; returns when messages are answered.

        Raises:
            ConfigurationError: another process has our resource, or the database does not answer.
        """
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
        """Give new messages to the others, or leave them to the server; returns when they know.
        Requests that run here stay claimed until `close`."""
        if self._beating is None:
            return
        self._is_leaving = True
        if self._is_connected() and self._has_row:
            assert self.work is not None
            await self._tell_leaving()
            # What comes until they know is answered here: no other replica would.
            await asyncio.sleep(SETTLE_S)
            await self._tell_leaving()  # Another one may leave since.
            if not self._is_last:
                self._members = ()
            # The server stores what comes while none is there; this one answers what came before.
            await self.work.until_hidden()
        self._members, self._has_left = (), True
        self._held.clear()

    async def _tell_leaving(self) -> None:
        """Renew our row, which says that this replica leaves, and take all if it is the last."""
        try:
            await self._renew()
            await self._take_all_if_last()
        except StorageFailed as error:
            logger.warning("leaving without notice, others wait for the lease: %s", error)

    async def _take_all_if_last(self) -> None:
        """Take what came for replicas that have left, or leave, too, if none stays to do it. One
        that leaves adopts no changes of membership."""
        if self._takes_all or not self._is_last:
            return
        served = await self._served(lambda one: True)
        # Without a wait from here on: what comes next must stand behind what is taken here.
        self._takes_all = True
        self._take_over([], self._pop_held(lambda one: True, served))

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
        self._members, self.is_settled = (), False
        self.log.begin_session()

    def _note_busy(self, key: str) -> None:
        self._busy.add(key)

    async def _beat_for_ever(self) -> None:
        while True:
            next_s = time.monotonic() + BEAT_S
            try:
                await self._beat()
            except StorageFailed as error:
                logger.warning("the lease cannot be renewed: %s", error)
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))

    async def _beat(self) -> None:
        self._drop_old()
        session, is_new_session = self._sessions, self._joined_session != self._sessions
        if not await self._is_present(is_new_session=is_new_session):
            return
        lease_until_s, was_steady_s = self._lease_until_s, self._steady_since_s
        living = await self._renew()
        # A session that has ended meanwhile is none that the others may rely on.
        if living is None or session != self._sessions:
            return
        self._joined_session = session
        was_restarted = self._checked_start not in {"", self._database_started}
        if was_restarted:
            # None takes requests before all have written again what a crash took back.
            self._quiet_until_s = self._renewed_s + SETTLE_S
        if was_restarted or self._steady_since_s != was_steady_s:
            await self.log.restore_answered()
            self._checked_start = self._database_started
        if is_new_session or self._renewed_s > lease_until_s:
            self._members = ()
            self._quiet_until_s = self._renewed_s + (SETTLE_S if len(living) > 1 else 0.0)
        is_sure = not self._is_missing_one or self._renewed_s >= self._steady_since_s + LEASE_S
        if self._is_leaving:
            await self._take_all_if_last()
        elif is_sure and self._renewed_s >= self._quiet_until_s:
            await self._follow(living)

    async def _is_present(self, *, is_new_session: bool) -> bool:
        """True if the server gives messages to our session. If it has ended, give up our row."""
        assert self.work is not None
        if self._has_row and (is_new_session or not self._is_connected()):
            # First: the replica that takes what this one leaves has to find all of it.
            await self.work.until_restored()
        if self._is_connected():
            return not is_new_session or await self.work.until_present()
        if self._has_row:
            await self._withdraw()
        return False

    async def _renew(self) -> frozenset[Replica] | None:
        """Renew our row; returns all living replicas. None: another process has our name."""
        began_s = time.monotonic()
        values = {
            "name": self.name,
            "token": self.log.token,
            "tokens": self.log.tokens,
            "leaving": int(self._is_leaving),
            "conversations": self.count_conversations(),
            "takeovers": self.takeovers,
            "turns": json.dumps(dict(self.count_turns())),
            "lease": LEASE_S,
        }
        rows = await self._db.execute(_BEAT, values)
        self._is_name_taken = not rows
        if self._is_name_taken:
            self._has_row = False
            return None
        self._has_row, self._lease_until_s = True, began_s + LEASE_S
        before_s, self._renewed_s = self._renewed_s, time.monotonic()
        if self._renewed_s > before_s + SETTLE_S:
            self._steady_since_s = self._renewed_s
        return self._note_seen(rows)

    def _note_seen(self, rows: Sequence[Sequence[object]]) -> frozenset[Replica]:
        """Note the rows of all replicas; returns those that live."""
        self._seen = frozenset(
            Replica(
                name=str(name),
                token=str(token),
                is_leaving=bool(leaving),
                conversations=int(str(conversations)),
                takeovers=int(str(takeovers)),
                turns=json.loads(str(turns)) if turns else {},
            )
            for name, token, leaving, conversations, takeovers, turns, is_living, _ in rows
            if is_living
        )
        self._is_missing_one = len(self._seen) < len(rows)
        if rows:
            self._database_started = str(rows[0][-1])
        now, known = time.time(), self._seen_since
        self._seen_since = {one.token: known.get(one.token, now) for one in self._seen}
        return self._seen

    async def _withdraw(self) -> None:
        """Delete our row."""
        self._members, self._has_row, self._lease_until_s = (), False, 0.0
        await self._db.execute(_WITHDRAW, self.log.tokens)

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
        session = self._sessions
        staying = [one for one in living if not one.is_leaving]
        members = tuple(sorted(one.name for one in staying))
        since = {one.name: self._seen_since[one.token] for one in staying}
        since[self.name] = 0.0
        all_since = max(since.values())

        def will_own(key: str) -> bool:
            return rendezvous_owner(key, members) == self.name

        def will_take(key: str, at: float) -> bool:
            if at >= all_since:  # Of all held messages, most of the time.
                return will_own(key)
            # The others share out what a new session may have missed.
            received = tuple(name for name in members if since[name] <= at)
            return rendezvous_owner(key, received) == self.name

        if living != self._known:
            names = ", ".join(
                f"{one.name}{' (leaving)' * one.is_leaving}" for one in sorted(living)
            )
            logger.info("replicas: %s", names)
            await self._db.execute(_TIDY)
        await self.log.close_answered()
        # In this order: a message that another replica claims meanwhile makes its owner busy.
        served = await self._served(lambda one: will_take(one.key, one.at))
        wanted = {one.key for one in self._held.values() if will_take(one.key, one.at)}
        busy = await self.log.busy_elsewhere()
        busy = {key for key in busy if will_own(key) or key in wanted}
        # Also by the owner, as the clocks of two machines differ.
        orphans = await self.log.take_orphans(lambda key, at: will_take(key, at) or will_own(key))
        await self.work.resend()
        # Without a wait from here on: what comes next must stand behind what is taken here.
        changed, self._known, self._members = members != self._members, living, members
        self.is_settled = session == self._sessions
        if not self.is_settled:
            self._members = ()  # It joins anew; what it has taken, it serves.
        self._busy, self._will_take = busy, will_take
        held = self._pop_held(
            lambda one: will_take(one.key, one.at) and one.key not in busy, served
        )
        self._take_over(orphans, held)
        if changed:
            for tell in self.on_change:
                tell()
        self._has_joined.set()
        await self.work.resend()  # What came before it was settled.

    def _take_over(self, orphans: list[OrphanedRequest], held: list[_Held]) -> None:
        """Serve what others left, in the order of arrival."""
        assert self.work is not None
        known = {one.request for one in held}
        left: list[tuple[float, OrphanedRequest | _Held]] = [(one.at, one) for one in held]
        left += [
            (one.at, one)
            for one in orphans
            if (one.message.origin, one.message.reply_with) not in known
        ]
        for _, one in sorted(left, key=lambda pair: pair[0]):
            if isinstance(one, _Held):
                logger.debug("request %s: taken, held before", one.request[1])
                self.takeovers += self.work.take_held(one.item, one.at)
            else:
                logger.debug("request %s: taken from its owner", one.message.reply_with)
                self.takeovers += self.work.take_up(one)

    async def _release(self, still_busy: set[str]) -> None:
        """Answer what waited for a request at another replica."""
        assert self.work is not None
        freed = self._busy - still_busy
        if not freed:
            return
        served = await self._served(lambda one: one.key in freed)
        self._busy -= freed
        for one in self._pop_held(
            lambda one: one.key in freed and self._will_take(one.key, one.at), served
        ):
            logger.debug("request %s: taken, its conversation is free", one.request[1])
            self.work.take_held(one.item, one.at)

    async def _served(self, is_meant: Callable[[_Held], bool]) -> set[tuple[str, str]]:
        """Held messages that are answered, or have a living owner."""
        return await self.log.served({one.request for one in self._held.values() if is_meant(one)})

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
