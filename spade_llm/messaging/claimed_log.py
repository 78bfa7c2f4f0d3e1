"""Answer log of replicas (PostgreSQL): a row is a claim, the owner's token is its fencing token.

The first replica that inserts a request's row serves it. Its answer is kept only as long as the row
has its token, so that a replica which was taken for dead sends nothing. A claim has no lease of its
own: it lasts as long as its owner's row in the table of replicas (messaging/replicas.py), which one
statement renews for all claims of a session.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from spade_llm.core.database import DatabaseServer, IdempotentSql
from spade_llm.core.errors import StorageFailed
from spade_llm.core.limits import LruDict
from spade_llm.messaging.answer_log import (
    LoggedRequest,
    PersistentAnswerLog,
    RequestKey,
    answered_key,
    dump_message,
    load_message,
    request_key,
    sent_key,
)
from spade_llm.messaging.message import SEAT_SEPARATOR, AclMessage, Encoding, bare

logger = logging.getLogger(__name__)

ELSEWHERE_TIMEOUT_S = 30.0
"""Maximum wait for the answer of another replica, so that the next message of its conversation,
which this one claimed while the conversation moved, is answered behind it."""
ELSEWHERE_POLL_S = 0.1
MAX_TOKENS = 16
"""Maximum number of sessions whose claims are remembered."""
MAX_ERASED = 4096
"""Maximum number of erased answers, and of answered requests, that are remembered."""
MAX_LOSS_S = 10.0
"""Answered requests are remembered for so long: more than a crash of the database takes back (0.6 s
with PostgreSQL's default `wal_writer_delay`), and than statements wait for it."""

# The database's clock alone decides whether a lease is over: those of machines differ.
_LIVING = """EXISTS (SELECT 1 FROM replicas WHERE replicas.token = requests.owner
    AND replicas.until > extract(epoch from clock_timestamp()))"""
_CLAIM = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, reply_by, question, owner)
    VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING RETURNING 1"""
)
# An attempt that follows an answer is claimed by the first replica that removes the answer.
_START = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, reply_by, question, owner)
    VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (sender, id, fingerprint) DO UPDATE SET
    asker = excluded.asker, at = excluded.at, reply_by = excluded.reply_by,
    question = excluded.question, answer = NULL, owner = excluded.owner
    WHERE requests.answer IS NOT NULL OR requests.owner = excluded.owner RETURNING 1"""
)
# Inserts the row if the claim was lost in a crash of the database.
_FINISH = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, reply_by, answer, owner)
    VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (sender, id, fingerprint) DO UPDATE SET
    answer = excluded.answer, at = excluded.at, question = NULL
    WHERE requests.owner = excluded.owner RETURNING 1"""
)
_AT = 4
"""Column of the time in `_CLAIM`."""
_KEEP = """INSERT INTO requests(sender, id, fingerprint, at, answer, owner) VALUES (?,?,?,?,?,?)
    ON CONFLICT DO NOTHING RETURNING 1"""
_FIND = f"""SELECT answer, reply_by, at, owner, {_LIVING} FROM requests
    WHERE sender = ? AND id = ? AND fingerprint = ?"""
# Not a row whose answer was sent: its owner restores it if its stream was lost.
_TAKE = IdempotentSql(
    f"""UPDATE requests SET owner = :token WHERE sender = :sender AND id = :id
    AND fingerprint = :fingerprint AND answer IS DISTINCT FROM ''
    AND (owner = :token OR NOT {_LIVING}) RETURNING 1"""
)
_ORPHANS = f"""SELECT sender, id, fingerprint, asker, at, question FROM requests
    WHERE (question IS NOT NULL OR (answer <> '' AND at > ?)) AND NOT {_LIVING}"""
_TAKE_ALL = IdempotentSql(
    f"""UPDATE requests SET owner = :token
    WHERE (sender, id, fingerprint) IN
        (SELECT * FROM unnest(:senders::text[], :ids::text[], :fingerprints::text[]))
    AND answer IS DISTINCT FROM '' AND (owner = :token OR NOT {_LIVING}) RETURNING at, question"""
)
_UNSENT = "SELECT answer FROM requests WHERE answer <> '' AND at > ? AND owner = ? ORDER BY at"
_RESTORE = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, answer, owner)
    SELECT sender, id, fingerprint, asker, at, '', ?::text
    FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::float8[])
        AS answered(sender, id, fingerprint, asker, at)
    ON CONFLICT DO NOTHING"""
)
_CLAIMED = """SELECT sender, id, fingerprint, question FROM requests
    WHERE question IS NOT NULL AND owner = ?"""
_CLOSE = """UPDATE requests SET answer = ?, question = NULL, owner = NULL
    WHERE sender = ? AND id = ? AND fingerprint = ? AND question IS NOT NULL AND owner = ?"""
_BUSY = f"""SELECT asker, question FROM requests
    WHERE question IS NOT NULL AND owner <> ? AND {_LIVING}"""
_SERVED = f"""SELECT sender, id FROM requests
    WHERE (sender, id) IN (SELECT * FROM unnest(?::text[], ?::text[]))
    AND (question IS NULL OR {_LIVING})"""


@dataclass(frozen=True, slots=True)
class OrphanedRequest:
    """Unanswered request without a living owner."""

    at: float
    """Arrival, Unix time."""
    message: AclMessage


class ClaimedAnswerLog(PersistentAnswerLog):
    """Answer log that several replicas share; each works on the requests that it claimed."""

    def __init__(self, server: DatabaseServer, *, on_busy: Callable[[str], None]) -> None:
        """`on_busy`: told the conversation owner (see `conversation_owner`) of a request that
        another living replica serves."""
        super().__init__(server)
        self._tokens = [secrets.token_hex(8)]
        """Tokens of the sessions of this process, the present one last."""
        self._on_busy = on_busy
        self.is_ordered: Callable[[AclMessage], bool] = lambda _: True
        """False for requests that those behind them in the conversation need not wait for."""
        self.is_resumed: Callable[[AclMessage], bool] = lambda _: True
        """False for requests that are not run again before their program asks again."""
        self._claiming: dict[RequestKey, asyncio.Task[float]] = {}
        """Claims at arrival that `find` has not asked for yet."""
        # A crash of the database may take back what was committed in its last moments
        # (synchronous_commit=off), as an older backup does: these are compared with its rows.
        self._open: set[RequestKey] = set()
        """Requests of this process that are not answered yet."""
        self._taking: set[RequestKey] = set()
        """Orphans that are ours if the statement which failed last has been executed after all."""
        self._erased: LruDict[tuple[str, str], None] = LruDict(MAX_ERASED)
        """Answers that were sent."""
        self._answered: LruDict[RequestKey, tuple[str, float]] = LruDict(MAX_ERASED)
        """Asker and time of the requests of people that were answered last."""

    @property
    def token(self) -> str:
        """Owner of this session's claims."""
        return self._tokens[-1]

    @property
    def tokens(self) -> list[str]:
        """Tokens of the present and of earlier sessions."""
        return list(self._tokens)

    def begin_session(self) -> None:
        """Take a new token: the requests of earlier sessions belong to whichever replica takes
        them, behind the answers that were not sent."""
        self._tokens = [*self._tokens[1 - MAX_TOKENS :], secrets.token_hex(8)]

    async def note(self, request: AclMessage) -> None:
        """Claim the request at its arrival."""
        key = request_key(request)
        claim = self._claiming[key] = asyncio.create_task(self._claim(request))
        await asyncio.wait({claim})
        claim.result()
        await self._purge_sometimes()

    async def _claim(self, request: AclMessage) -> float:
        """Time of the claim; 0: another replica has the request."""
        self._open.add(request_key(request))
        row = self._row(request)
        is_ours = bool(await self._db.execute(_CLAIM, *row, self.token))
        logger.debug("request %s: claimed%s", request.reply_with, "" if is_ours else " elsewhere")
        return float(str(row[_AT])) if is_ours else 0.0

    async def find(self, request: AclMessage) -> LoggedRequest | None:
        key = request_key(request)
        self._open.add(key)
        try:
            row = await self._or_twin(request, await self._find(request, key))
        except StorageFailed:
            self._open.discard(key)
            raise
        if row is not None and (row.answer or row.is_erased or row.is_elsewhere):
            self._open.discard(key)
        return row

    async def _find(self, request: AclMessage, key: RequestKey) -> LoggedRequest | None:
        """As `find`; waits while another replica serves the request."""
        claim = self._claiming.pop(key, None)
        if claim is not None:
            await asyncio.wait({claim})
            if claim.exception() is None and claim.result():
                return LoggedRequest(None, reply_by=request.reply_by, at=claim.result())
        give_up_s = time.monotonic() + ELSEWHERE_TIMEOUT_S
        row = await self._found(request, key)
        # What follows in the conversation waits behind it, and its owner may die.
        while row is not None and row.is_elsewhere and not (row.answer or row.is_erased):
            if self.is_ordered(request):
                self._on_busy(request.owner)
            logger.debug("request %s: waits for another replica", request.reply_with)
            if time.monotonic() >= give_up_s:
                break
            await asyncio.sleep(ELSEWHERE_POLL_S)
            row = await self._found(request, key)
        return row

    async def _found(self, request: AclMessage, key: RequestKey) -> LoggedRequest | None:
        """The row of a request, which is taken over if its owner is gone."""
        for answer, reply_by, at, owner, is_living in await self._db.execute(_FIND, *key):
            token = self.token
            if owner != token:
                is_living = is_living or not await self._take(*key)
            is_ours = owner == token or not is_living
            # The owner sends its answer to a person; a program that asks again gets the logged one.
            is_elsewhere = not is_ours and (answer is None or request.encoding is Encoding.PLAIN)
            return LoggedRequest(
                load_message(str(answer)) if answer else None,
                is_erased=answer == "",
                reply_by=datetime.fromisoformat(str(reply_by)) if reply_by else None,
                is_elsewhere=is_elsewhere,
                at=float(str(at)),
            )
        return None

    async def _take(self, sender: object, id: object, fingerprint: object) -> bool:
        """Take over a request, if its owner is gone."""
        key = {"sender": sender, "id": id, "fingerprint": fingerprint}
        return bool(await self._db.execute(_TAKE, {**key, "token": self.token}))

    async def start(self, request: AclMessage) -> bool:
        key = request_key(request)
        self._open.add(key)
        try:
            is_ours = bool(await self._db.execute(_START, *self._row(request), self.token))
        except StorageFailed:
            self._open.discard(key)
            raise
        if not is_ours:
            self._open.discard(key)
        await self._purge_sometimes()
        return is_ours

    async def finish(self, request: AclMessage, answer: AclMessage) -> bool:
        *row, _ = self._row(request)
        self._erased.pop(answered_key(answer), None)
        try:
            is_ours = bool(await self._db.execute(_FINISH, *row, dump_message(answer), self.token))
        finally:
            self._open.discard(request_key(request))
        if is_ours and request.encoding is Encoding.PLAIN:
            self._answered[request_key(request)] = request.asker, self._clock()
        lost = "" if is_ours else ", but another replica has it"
        logger.debug("request %s: answered%s", request.reply_with, lost)
        return is_ours

    async def erase(self, answer: AclMessage) -> None:
        self._erased[answered_key(answer)] = None
        await super().erase(answer)

    async def restore(self, answer: AclMessage) -> None:
        self._erased.pop(answered_key(answer), None)
        await super().restore(answer)

    async def forget(self, request: AclMessage) -> None:
        self._open.discard(request_key(request))
        self._answered.pop(request_key(request), None)
        await super().forget(request)

    async def keep(self, message: AclMessage) -> bool:
        row = (*sent_key(message), self._clock(), dump_message(message), self.token)
        is_new = bool(await self._db.execute(_KEEP, *row))
        await self._purge_sometimes()
        return is_new

    async def unfinished(self) -> Sequence[AclMessage]:
        """Return nothing: requests of a killed replica are taken up when its lease is over
        (`orphans`)."""
        return ()

    async def unsent(self) -> Sequence[AclMessage]:
        """Answers of this replica that were not erased since, oldest first."""
        after = self._clock() - self._keep_s
        rows = await self._db.execute(_UNSENT, after, self.token)
        answers = [load_message(str(answer)) for (answer,) in rows]
        for answer in answers:
            if answered_key(answer) in self._erased:
                await super().erase(answer)
        return [one for one in answers if answered_key(one) not in self._erased]

    async def restore_answered(self) -> None:
        """Write again what a crash of the database took back of answered requests: another replica
        that holds such a message would answer it again."""
        after = self._clock() - MAX_LOSS_S
        lost = [(*key, asker, at) for key, (asker, at) in self._answered.items() if at > after]
        if lost:
            await self._db.execute(_RESTORE, self.token, *map(list, zip(*lost, strict=True)))
        await self.unsent()  # Erases again those that were sent.
        await self.close_answered()

    async def close_answered(self) -> None:
        """Close rows of this process that the database shows as unanswered, although they were
        answered: an answer could not be stored, or a crash took it back. Others would wait for
        them as long as this process lives. A program that asks again is served again."""
        for *key, question in await self._db.execute(_CLAIMED, self.token):
            if tuple(map(str, key)) not in self._open | self._taking:
                is_person = load_message(str(question)).encoding is Encoding.PLAIN
                await self._db.execute(_CLOSE, "" if is_person else None, *key, self.token)

    async def take_orphans(self, is_ours: Callable[[str, float], bool]) -> list[OrphanedRequest]:
        """Take over what has no living owner and is ours, by conversation owner and time: unsent
        answers, which `unsent` returns then, and unanswered requests, which are returned. In one
        statement: of a conversation, an owner that is back finds all or nothing.

        Raises:
            StorageFailed: as all methods here.
        """
        after = self._clock() - self._keep_s
        for *key, asker, at, question in await self._db.execute(_ORPHANS, after):
            owner = conversation_owner(str(asker or bare(str(key[0]))))
            is_resumed = question is None or self.is_resumed(load_message(str(question)))
            if is_resumed and is_ours(owner, float(str(at))):
                sender, id, fingerprint = map(str, key)
                self._taking.add((sender, id, fingerprint))
        if not self._taking:
            return []
        senders, ids, fingerprints = map(list, zip(*self._taking, strict=True))
        keys = {"senders": senders, "ids": ids, "fingerprints": fingerprints}
        rows = await self._db.execute(_TAKE_ALL, {**keys, "token": self.token})
        self._taking.clear()
        return [
            OrphanedRequest(float(str(at)), load_message(str(question)))
            for at, question in rows
            if question is not None
        ]

    async def busy_elsewhere(self) -> set[str]:
        """Conversation owners with an ordered request that another living replica serves."""
        rows = await self._db.execute(_BUSY, self.token)
        return {
            conversation_owner(str(asker))
            for asker, question in rows
            if self.is_ordered(load_message(str(question)))
        }

    async def served(self, requests: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those of these requests, by full sender and id, that are answered or have a
        living owner."""
        senders, ids = [one[0] for one in requests], [one[1] for one in requests]
        rows = await self._db.execute(_SERVED, senders, ids) if requests else []
        return {(str(sender), str(id)) for sender, id in rows}


def conversation_owner(asker: str) -> str:
    """Bare JID that a conversation belongs to: of an occupant (`JID in ROOM`) the room's, else the
    asker's own."""
    return asker.rpartition(SEAT_SEPARATOR)[2]
