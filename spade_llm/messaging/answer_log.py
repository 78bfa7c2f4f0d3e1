"""Answer log (TTL): idempotent answers by request id, replay of unfinished requests.

A request that changes something is logged before it is started, and its answer before it is sent. A
repeated request gets the logged answer, also after a kill −9.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, Self

from spade_llm.core.database import DatabasePlace, DialectSql, IdempotentSql, StoreTables
from spade_llm.core.errors import NotFound
from spade_llm.messaging import (
    CHAT_TEXT,
    AclMessage,
    Encoding,
    ErrorBody,
    Performative,
    from_metadata,
    to_metadata,
)
from spade_llm.messaging.message import SEAT_SEPARATOR, STABLE_ID_PREFIX, bare

RETENTION_S = 15 * 60
"""Retention of an answer, from the time when it was given. It exceeds the deadline of all requests
except those that run for hours, which were answered when they ended."""
UNFINISHED_RETENTION_S = 24 * 3600
"""Retention of a request without an answer; it exceeds the time limit of any handler. A turn may be
resumed as late: so long it is known which of its calls were answered, without the text."""
MAX_ENTRIES = 50_000
"""Maximum number of rows, oldest deleted first; twice as many for requests without an answer."""
PURGE_EVERY = 1000
"""Rows added between two purges; the log may exceed its bound by this many."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    sender TEXT NOT NULL,
    id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    at REAL NOT NULL,
    reply_by TEXT,
    question TEXT,
    answer TEXT,
    asker TEXT,
    owner TEXT,
    PRIMARY KEY (sender, id, fingerprint)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_at ON requests(at);
"""
# A write that changes nothing: tells at once that the file or its folder is read-only.
_PROBE = "DELETE FROM requests WHERE at < 0;"
ANSWER_TABLES = StoreTables(
    name="answers",
    what="the answer log",
    schema=_SCHEMA + _PROBE,
    # Files of earlier versions lack them. `owner` is that of a claim (messaging/claimed_log.py).
    added_columns=("requests asker TEXT", "requests owner TEXT"),
)
_NOTE = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, reply_by, question)
    VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"""
)
# Replaces the row of an earlier attempt with its answer, which `_NOTE` has to leave alone.
_START = IdempotentSql(
    """INSERT INTO requests(sender, id, fingerprint, asker, at, reply_by, question)
    VALUES (?,?,?,?,?,?,?) ON CONFLICT (sender, id, fingerprint) DO UPDATE SET
    asker = excluded.asker, at = excluded.at, reply_by = excluded.reply_by,
    question = excluded.question, answer = NULL"""
)
_FINISH = IdempotentSql(
    """UPDATE requests SET answer = ?, at = ?, question = NULL
    WHERE sender = ? AND id = ? AND fingerprint = ?"""
)
_ERASE = IdempotentSql("UPDATE requests SET answer = '' WHERE sender = ? AND id = ? AND answer = ?")
_FORGET = "DELETE FROM requests WHERE sender = ? AND id = ? AND fingerprint = ?"
_RESTORE = "UPDATE requests SET answer = ? WHERE sender = ? AND id = ? AND answer = ''"
_KEEP = """INSERT INTO requests(sender, id, fingerprint, at, answer) VALUES (?,?,?,?,?)
    ON CONFLICT DO NOTHING RETURNING id"""
_FIND = "SELECT answer, reply_by, at FROM requests WHERE sender = ? AND id = ? AND fingerprint = ?"
# Another process of the same gateway has another full JID.
_FIND_TWIN = """SELECT answer FROM requests WHERE id = ? AND fingerprint = ?
    AND substr(sender, 1, length(?)) = ? AND answer <> '' ORDER BY at LIMIT 1"""
_UNFINISHED = "SELECT question FROM requests WHERE question IS NOT NULL ORDER BY at"
_UNSENT = "SELECT answer FROM requests WHERE answer <> '' AND at > ? ORDER BY at"
# `dump_message` writes a list: `$[0]` has the ACL parameters, `$[1]` is the body. CASE, because a
# body may be no JSON, on which json_extract would fail the whole statement.
_SCRUB = DialectSql(
    sqlite="""UPDATE requests
    SET answer = json_set(answer, '$[0].performative', 'refuse', '$[1]', :refusal)
    WHERE instr(answer, :member)
    AND (:peer IS NULL OR sender = :peer OR instr(sender, :peer || '/') = 1)
    AND EXISTS (SELECT 1 FROM json_each(:values) AS wanted, (
        SELECT CASE WHEN json_valid(json_extract(answer, '$[1]'))
            THEN json_extract(json_extract(answer, '$[1]'), :path) END AS found)
        WHERE found = wanted.value OR instr(found, wanted.value || :in_room) = 1)""",
    postgres="""UPDATE requests
    SET answer = jsonb_set(jsonb_set(answer::jsonb, '{0,performative}', '"refuse"'),
        '{1}', to_jsonb(:refusal::text))::text
    WHERE strpos(answer, :member) > 0
    AND (:peer::text IS NULL OR sender = :peer OR starts_with(sender, :peer || '/'))
    AND EXISTS (SELECT 1 FROM unnest(:values::text[]) AS wanted, LATERAL (
        SELECT jsonb_path_query_first(json_or_null(json_or_null(answer) ->> 1), :path::jsonpath)
            #>> '{}' AS found) AS named
        WHERE found = wanted OR starts_with(found, wanted || :in_room))""",
)
# CASE in the condition, because SQLite may evaluate the terms of an AND in any order, and
# json_extract fails on the empty text of an erased answer.
_SCRUB_ASKED = DialectSql(
    sqlite="""UPDATE requests
    SET answer = CASE WHEN json_extract(answer, '$[0].ontology') = :chat THEN ''
        ELSE json_set(answer, '$[0].performative', 'refuse', '$[1]', :refusal) END
    WHERE asker = :asker AND answer <> '' AND (:named IS NULL
        OR CASE WHEN answer <> '' THEN json_extract(answer, '$[0].conversation-id') END
        IN (SELECT value FROM json_each(:named)))""",
    postgres="""UPDATE requests
    SET answer = CASE WHEN json_or_null(answer) -> 0 ->> 'ontology' = :chat THEN ''
        ELSE jsonb_set(jsonb_set(answer::jsonb, '{0,performative}', '"refuse"'),
            '{1}', to_jsonb(:refusal::text))::text END
    WHERE asker = :asker AND answer <> '' AND (:named::text[] IS NULL
        OR json_or_null(answer) -> 0 ->> 'conversation-id' = ANY(:named))""",
)
# Requests of our agents with a stable id, as `_asker` writes their sender.
_IS_CALL = f"substr(id, 1, 1) = '{STABLE_ID_PREFIX}' AND replace(sender, '/', '') = sender"
_PURGE_TEXTS = f"UPDATE requests SET answer = '' WHERE at < ? AND answer <> '' AND {_IS_CALL}"
_PURGE_OLD = f"""DELETE FROM requests
    WHERE at < ? AND (at < ? OR (question IS NULL AND NOT (answer = '' AND {_IS_CALL})))"""
_PURGE_MANY = """DELETE FROM requests WHERE at <
    (SELECT min(at) FROM (SELECT at FROM requests ORDER BY at DESC LIMIT :max) AS latest)
    AND (question IS NULL OR at <
    (SELECT min(at) FROM (SELECT at FROM requests ORDER BY at DESC LIMIT 2 * :max) AS latest))"""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """Entry of the log: a request that was seen before."""

    answer: AclMessage | None
    """Logged answer. None: the request was started, and no answer is known."""
    is_erased: bool = False
    """True if the answer was erased: it was sent to a person, or is old."""
    reply_by: datetime | None = None
    """Deadline of the logged request; a different one marks a new attempt instead of a retry."""
    is_elsewhere: bool = False
    """True if another replica serves it, or has answered the person that sent it."""
    at: float = 0.0
    """Unix time at which the request was written down, or its answer."""


_FORGOTTEN = ErrorBody(code=NotFound.code, detail="what it spoke of was forgotten").encode()


class AnswerLog(Protocol):
    """Log of requests and their answers. Every method raises StorageFailed if the disk refuses."""

    async def find(self, request: AclMessage) -> LoggedRequest | None:
        """Row of a request; None: it is not known."""

    async def note(self, request: AclMessage) -> None:
        """Write the request down on arrival; nothing changes if it is known already."""

    async def start(self, request: AclMessage) -> bool:
        """Write the request down, before its handler runs. False: another replica has it."""

    async def finish(self, request: AclMessage, answer: AclMessage) -> bool:
        """Write the answer down, before it is sent. False: another replica has the request."""

    async def erase(self, answer: AclMessage) -> None:
        """Erase an answer's text, but keep that there was one: for people's chats, once sent."""

    async def forget(self, request: AclMessage) -> None:
        """Delete the request from the log: if it is repeated, it is served again."""

    async def keep(self, message: AclMessage) -> bool:
        """Write down a message that answers no request, before it is sent; `erase` applies to it,
        too. False: it is known already."""

    async def restore(self, answer: AclMessage) -> None:
        """Undo `erase`: the answer did not arrive."""

    async def scrub(self, path: str, values: Sequence[str], *, peer: str | None) -> None:
        """Replace answers that have one of these values at this JSON path by a refusal, and leave
        no bytes of them: the data that they contain was deleted.

        A value that is a person also covers that person's seats in rooms. `peer` is the bare JID of
        the caller; None: all callers.
        """

    async def scrub_asked(self, asker: str, conversations: Sequence[str] | None) -> None:
        """Replace all answers to this asker in these conversations (None: in all) in the same way;
        answers to people are erased."""

    async def unfinished(self) -> Sequence[AclMessage]:
        """Requests that were started and have no answer, oldest first."""

    async def unsent(self) -> Sequence[AclMessage]:
        """Answers that were not erased since, oldest first."""


class VolatileAnswerLog:
    """Log in memory: for tests, and for agents that only read."""

    def __init__(self, *, max_remembered: int = 4096) -> None:
        self._max = max_remembered
        self._rows: OrderedDict[RequestKey, tuple[AclMessage, LoggedRequest]] = OrderedDict()

    async def find(self, request: AclMessage) -> LoggedRequest | None:
        row = self._rows.get(request_key(request))
        return row[1] if row else None

    async def note(self, request: AclMessage) -> None:
        if request_key(request) not in self._rows:
            await self.start(request)

    async def start(self, request: AclMessage) -> bool:
        row = LoggedRequest(None, reply_by=request.reply_by, at=time.time())
        self._rows[request_key(request)] = (request, row)
        if len(self._rows) > self._max:
            self._rows.popitem(last=False)
        return True

    async def finish(self, request: AclMessage, answer: AclMessage) -> bool:
        self._rows[request_key(request)] = (
            request,
            LoggedRequest(answer, reply_by=request.reply_by),
        )
        return True

    async def keep(self, message: AclMessage) -> bool:
        key = sent_key(message)
        if key in self._rows:
            return False
        self._rows[key] = (message, LoggedRequest(message))
        if len(self._rows) > self._max:
            self._rows.popitem(last=False)
        return True

    async def erase(self, answer: AclMessage) -> None:
        # From the newest: an answer is erased soon after it was written.
        for key in reversed(self._rows):
            request, row = self._rows[key]
            if key[:2] == answered_key(answer) and row.answer == answer:
                self._rows[key] = (request, LoggedRequest(None, is_erased=True))
                return

    async def forget(self, request: AclMessage) -> None:
        self._rows.pop(request_key(request), None)

    async def restore(self, answer: AclMessage) -> None:
        for key in reversed(self._rows):
            request, row = self._rows[key]
            if key[:2] == answered_key(answer) and row.is_erased:
                self._rows[key] = (request, LoggedRequest(answer))
                return

    async def scrub(self, path: str, values: Sequence[str], *, peer: str | None) -> None:
        """Does nothing: this log is not stored."""

    async def scrub_asked(self, asker: str, conversations: Sequence[str] | None) -> None:
        for key, (request, row) in self._rows.items():
            is_meant = conversations is None or request.conversation_id in conversations
            if row.answer and request.asker == asker and is_meant:
                forgotten = replace(
                    row.answer, performative=Performative.REFUSE, content=_FORGOTTEN
                )
                self._rows[key] = (
                    request,
                    LoggedRequest(None, is_erased=True)
                    if row.answer.ontology == CHAT_TEXT
                    else LoggedRequest(forgotten),
                )

    async def unfinished(self) -> Sequence[AclMessage]:
        return [q for q, row in self._rows.values() if not (row.answer or row.is_erased)]

    async def unsent(self) -> Sequence[AclMessage]:
        return [row.answer for _, row in self._rows.values() if row.answer]


class PersistentAnswerLog:
    """Log that survives kill −9: each step is committed before the next one begins. It is an SQLite
    file, or a table in PostgreSQL."""

    def __init__(
        self,
        place: DatabasePlace,
        *,
        keep_s: float = RETENTION_S,
        max_remembered: int = MAX_ENTRIES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keep_s = keep_s
        self._max = max_remembered
        self._clock = clock
        self._db = ANSWER_TABLES.at(place)
        self._rows_until_purge = 0
        self._opening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self.begin()
        await self.until_open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        await self._db.close()

    def begin(self) -> None:
        """Open the file in the background: a new one waits for the disk twice."""
        self._opening = asyncio.create_task(self._db.open())

    async def until_open(self) -> None:
        """Raises ConfigurationError: the file cannot be used."""
        if self._opening is not None:
            await asyncio.wait({self._opening})
            self._opening.result()

    async def find(self, request: AclMessage) -> LoggedRequest | None:
        row = None
        for answer, reply_by, at in await self._db.execute(_FIND, *request_key(request)):
            row = LoggedRequest(
                load_message(str(answer)) if answer else None,
                is_erased=answer == "",
                reply_by=datetime.fromisoformat(str(reply_by)) if reply_by else None,
                at=float(str(at)),
            )
        return await self._or_twin(request, row)

    async def _or_twin(
        self, request: AclMessage, row: LoggedRequest | None
    ) -> LoggedRequest | None:
        """The row, or if it has no answer, that of the same request (Idempotency-Key) which another
        process of this gateway has sent, as an answer to this one."""
        is_open = row is None or not (row.answer or row.is_erased or row.is_elsewhere)
        if not (is_open and request.principal and request.reply_with.startswith(STABLE_ID_PREFIX)):
            return row
        _, id, content = request_key(request)
        prefix = f"{request.principal}/{bare(request.sender)}/"
        for (answer,) in await self._db.execute(_FIND_TWIN, id, content, prefix, prefix):
            found = replace(load_message(str(answer)), receiver=request.sender)
            if found.performative is not Performative.FAILURE and await self.start(request):
                # In the log as the answer to this request, too: its own row is not open any more.
                await self.finish(request, found)
                return LoggedRequest(found, reply_by=request.reply_by)
        return row

    async def note(self, request: AclMessage) -> None:
        await self._db.execute(_NOTE, *self._row(request))
        await self._purge_sometimes()

    async def start(self, request: AclMessage) -> bool:
        await self._db.execute(_START, *self._row(request))
        await self._purge_sometimes()
        return True

    async def finish(self, request: AclMessage, answer: AclMessage) -> bool:
        await self._db.execute(_FINISH, dump_message(answer), self._clock(), *request_key(request))
        return True

    async def keep(self, message: AclMessage) -> bool:
        row = (*sent_key(message), self._clock(), dump_message(message))
        is_new = bool(await self._db.execute(_KEEP, *row))
        await self._purge_sometimes()
        return is_new

    async def erase(self, answer: AclMessage) -> None:
        await self._db.execute(_ERASE, *answered_key(answer), dump_message(answer))

    async def forget(self, request: AclMessage) -> None:
        await self._db.execute(_FORGET, *request_key(request))

    async def restore(self, answer: AclMessage) -> None:
        await self._db.execute(_RESTORE, dump_message(answer), *answered_key(answer))

    async def scrub(self, path: str, values: Sequence[str], *, peer: str | None) -> None:
        # Looked for as text first: to read the JSON of 50 000 answers takes 0.1 s.
        member = path.split(".")[1]
        wanted = {"path": path, "values": list(values), "peer": peer, "member": member}
        wanted["in_room"] = SEAT_SEPARATOR
        await self._db.execute(_SCRUB, {**wanted, "refusal": _FORGOTTEN})
        # Otherwise the old bytes stay readable in the write-ahead log.
        await self._db.erase_deleted()

    async def scrub_asked(self, asker: str, conversations: Sequence[str] | None) -> None:
        named = None if conversations is None else list(conversations)
        wanted = {"asker": asker, "named": named, "chat": CHAT_TEXT}
        await self._db.execute(_SCRUB_ASKED, {**wanted, "refusal": _FORGOTTEN})
        await self._db.erase_deleted()

    async def unfinished(self) -> Sequence[AclMessage]:
        return [load_message(str(question)) for (question,) in await self._db.execute(_UNFINISHED)]

    async def unsent(self) -> Sequence[AclMessage]:
        return [
            load_message(str(answer))
            for (answer,) in await self._db.execute(_UNSENT, self._clock() - self._keep_s)
        ]

    def _row(self, request: AclMessage) -> tuple[object, ...]:
        deadline = request.reply_by and request.reply_by.isoformat()
        return (
            *request_key(request),
            request.asker,
            self._clock(),
            deadline,
            dump_message(request),
        )

    async def _purge_sometimes(self) -> None:
        self._rows_until_purge -= 1
        if self._rows_until_purge <= 0:
            self._rows_until_purge = PURGE_EVERY
            now = self._clock()
            await self._db.execute(_PURGE_TEXTS, now - self._keep_s)
            await self._db.execute(_PURGE_OLD, now - self._keep_s, now - UNFINISHED_RETENTION_S)
            await self._db.execute(_PURGE_MANY, {"max": self._max})
            # A file has no automatic checkpoints: without this its WAL grows without bound.
            await self._db.checkpoint()


def _asker(request: AclMessage) -> str:
    """Return the sender column of a request. A gateway's request is logged under its principal, as
    if the gateway were one of that person's clients, so that scrubbing a person covers both ways.
    """
    return f"{request.principal}/{request.sender}" if request.principal else request.origin


def fingerprint(request: AclMessage) -> str:
    """Tells a retry from another request under a used id, which SPADE 4.1.4 programs and some
    chat clients send (tests/messaging/test_answer_log.py)."""
    parts = [request.ontology, request.conversation_id, request.content]
    if request.principal:  # Without one, the key is that of logs of 0.3.0 and before.
        parts.append(request.principal)
    # XML has no NUL (XML 1.0 §2.2), so that no two different requests join to the same text.
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


RequestKey = tuple[str, str, str]


def request_key(request: AclMessage) -> RequestKey:
    return _asker(request), request.reply_with, fingerprint(request)


def sent_key(message: AclMessage) -> RequestKey:
    """Return the key of an unsolicited message, as if its receiver had requested it."""
    return (*answered_key(message), fingerprint(message))


def answered_key(answer: AclMessage) -> tuple[str, str]:
    """Return the sender and the id of the request that this message answers."""
    return answer.receiver, answer.in_reply_to or answer.reply_with


def dump_message(message: AclMessage) -> str:
    addresses = [message.sender, message.receiver, message.encoding]
    return json.dumps([to_metadata(message), message.content, *addresses])


def load_message(text: str) -> AclMessage:
    fields, content, sender, receiver, encoding = json.loads(text)
    return from_metadata(
        fields,
        sender=sender,
        receiver=receiver,
        content=content,
        encoding=Encoding(encoding),
    )
