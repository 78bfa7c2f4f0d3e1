"""Usage: ledger (SQLite) of tokens, calls and seconds per peer and day, and its turn middleware."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Self

from spade_llm.assistant.chat.messages import (
    ExplanationReport,
    ExplanationRequest,
    UsageReport,
    UsageRequest,
)
from spade_llm.assistant.commands.reports import NO_ANSWER_YET, UsageCommand, WhyCommand
from spade_llm.assistant.history.conversation_cache import conversation_key, thread_of_key
from spade_llm.assistant.middleware.quota import (
    NO_GROUP_QUOTAS,
    PeerQuota,
    QuotaMiddleware,
    no_quota_groups,
)
from spade_llm.assistant.turn.turn_recorder import (
    KEPT_DAYS,
    DailyUsage,
    TurnRecorder,
    UsageTotals,
    recording,
    usage_row,
)
from spade_llm.core.database import NO_LIMIT, DatabasePlace, StoreTables
from spade_llm.core.errors import NotFound, StorageFailed
from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.command_registry import CommandRegistry
    from spade_llm.assistant.commands.reports import ReactionLine
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.assistant.middleware.quota import GroupQuotas, QuotaGroupsOf
    from spade_llm.assistant.turn.turn import CallNext, TurnMiddleware, TurnOutcome
    from spade_llm.assistant.turn.turn_recorder import TurnRecord
    from spade_llm.messaging import Request
    from spade_llm.messaging.rpc import RpcService

logger = logging.getLogger(__name__)

"""The name that stands for the star is the agent's."""
MAX_PEERS_A_DAY = 20_000
"""Maximum number of peers counted separately in a day; beyond, the rows of those with the least
usage are deleted."""
PRUNE_EVERY_ROWS = 500
"""Writes between two looks at the bounds: by so many rows they may be passed."""

_TABLE = """
CREATE TABLE IF NOT EXISTS {name} (
    day TEXT NOT NULL,
    peer TEXT NOT NULL,
    turns INTEGER NOT NULL,
    model_calls INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    estimated_tokens INTEGER NOT NULL,
    model_seconds REAL NOT NULL,
    PRIMARY KEY (day, peer)
) WITHOUT ROWID;
"""
# Groups apart: peers that are dropped beyond the bound still count in theirs.
_SCHEMA = _TABLE.format(name="usage") + _TABLE.format(name="usage_together")
USAGE_TABLES = StoreTables(name="usage", what="the record of usage", schema=_SCHEMA)
_ADD = """INSERT INTO {table} VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (day, peer) DO UPDATE SET
    turns = {table}.turns + excluded.turns,
    model_calls = {table}.model_calls + excluded.model_calls,
    tool_calls = {table}.tool_calls + excluded.tool_calls,
    prompt_tokens = {table}.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = {table}.completion_tokens + excluded.completion_tokens,
    estimated_tokens = {table}.estimated_tokens + excluded.estimated_tokens,
    model_seconds = {table}.model_seconds + excluded.model_seconds"""
_USAGE_COLUMNS = """turns, model_calls, tool_calls,
    prompt_tokens, completion_tokens, estimated_tokens, model_seconds"""
_ADD_OF_PEER, _ADD_OF_GROUP = (_ADD.format(table=name) for name in ("usage", "usage_together"))
_OF_DAY = f"SELECT {_USAGE_COLUMNS} FROM usage WHERE day = ? AND peer = ?"
_OF_GROUP = f"SELECT {_USAGE_COLUMNS} FROM usage_together WHERE day = ? AND peer = ?"
_OF_PEER = f"""SELECT day, peer, {_USAGE_COLUMNS} FROM usage
    WHERE peer = ? AND day > ? AND day <= ? ORDER BY day DESC"""
_OF_ALL = f"SELECT day, peer, {_USAGE_COLUMNS} FROM usage WHERE day > ? ORDER BY day DESC, peer"
_DROP_DAYS = "DELETE FROM usage WHERE day <= ?"
# Totals of groups are needed for today's quotas only.
_DROP_OLD_GROUPS = "DELETE FROM usage_together WHERE day < ?"
# Those with the least usage: who makes up accounts buys no room.
_DROP_PEERS = f"""DELETE FROM usage WHERE day = :day AND peer IN (
    SELECT peer FROM usage WHERE day = :day
    ORDER BY model_calls DESC, turns DESC LIMIT {NO_LIMIT} OFFSET :kept)"""

_utc_now = partial(datetime.now, UTC)


class UsageLedger:
    """Ledger of tokens, model calls and seconds by peer and day. `add` returns when it is written:
    a kill −9 loses only what was not added yet."""

    def __init__(
        self,
        place: DatabasePlace,
        *,
        max_peers_a_day: int = MAX_PEERS_A_DAY,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._max_peers = max_peers_a_day
        self._clock = clock
        self._db = USAGE_TABLES.at(place)
        self._writes_until_bound = 0

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    @property
    def today(self) -> date:
        return self._clock().date()

    @property
    def next_day(self) -> datetime:
        """Time at which daily quotas are reset (UTC midnight)."""
        now = self._clock()
        return datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)

    async def add(self, peer: str, spent: UsageTotals, *, groups: Sequence[str] = ()) -> None:
        """Count it for a peer and for the quota groups that it belongs to. Raises StorageFailed."""
        today, row = self.today.isoformat(), usage_row(spent)
        if not groups:
            await self._db.execute(_ADD_OF_PEER, today, peer, *row)
        else:
            async with self._db.transaction() as execute:
                await execute(_ADD_OF_PEER, today, peer, *row)
                for group in groups:
                    await execute(_ADD_OF_GROUP, today, group, *row)
        self._writes_until_bound -= 1

    async def of_today(self, peer: str) -> UsageTotals:
        """Raises StorageFailed."""
        for row in await self._db.execute(_OF_DAY, self.today.isoformat(), peer):
            return UsageTotals.from_row(row)
        return UsageTotals()

    async def of_today_together(self, group: str) -> UsageTotals:
        """Usage of a whole group today. Raises StorageFailed."""
        for row in await self._db.execute(_OF_GROUP, self.today.isoformat(), group):
            return UsageTotals.from_row(row)
        return UsageTotals()

    async def of_peer(self, peer: str, *, days: int) -> Sequence[DailyUsage]:
        """Today and the days before, newest first; those without spending are left out.

        Raises:
            StorageFailed: the disk refuses.
        """
        today = self.today.isoformat()  # A clock that was wrong has left days to come.
        rows = await self._db.execute(_OF_PEER, peer, self._before(days), today)
        return list(map(_day, rows))

    async def of_all(self, *, days: int) -> Sequence[DailyUsage]:
        """Newest day first. Raises StorageFailed."""
        return list(map(_day, await self._db.execute(_OF_ALL, self._before(days))))

    def _before(self, days: int) -> str:
        return (self.today - timedelta(days=days)).isoformat()

    async def tidy(self) -> None:
        """Enforce the bounds every PRUNE_EVERY_ROWS writes. Call it when no request is waiting.

        Raises:
            StorageFailed: the disk refuses.
        """
        if self._writes_until_bound <= 0:
            self._writes_until_bound = PRUNE_EVERY_ROWS
            await self._db.execute(_DROP_DAYS, self._before(KEPT_DAYS))
            await self._db.execute(_DROP_OLD_GROUPS, self.today.isoformat())
            await self._db.execute(
                _DROP_PEERS, {"day": self.today.isoformat(), "kept": self._max_peers}
            )
            await self._db.checkpoint()


def _day(row: Sequence[object]) -> DailyUsage:
    day, peer, *spent = row
    return DailyUsage(
        day=date.fromisoformat(str(day)), peer=str(peer), spent=UsageTotals.from_row(spent)
    )


MAX_RECORDS = 1000
"""Maximum number of conversations with an explainable last answer, in RAM (LRU)."""


class UsageMiddleware:
    """Turn middleware that keeps a usage record of each turn."""

    def __init__(self, ledger: UsageLedger, *, max_records: int = MAX_RECORDS) -> None:
        self._ledger = ledger
        self._last: LruDict[str, TurnRecord] = LruDict(max_records)

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        recorder = TurnRecorder(self._ledger, peer=turn_input.peer, groups=turn_input.quota_groups)
        with recording(recorder):
            outcome = await call_next(turn_input)
        await recorder.count_turn()
        self._last[conversation.key] = recorder.record(outcome.recalled, outcome.missing)
        try:
            await self._ledger.tidy()
        except StorageFailed:
            logger.exception("pruning the usage ledger failed")
        return outcome

    def last(self, conversation: str) -> TurnRecord | None:
        """Record of the last answer; None: none since the process start, or evicted."""
        return self._last.get(conversation)

    async def forget(self, conversation: str) -> None:
        self._last.pop(conversation, None)

    async def forget_peer(self, peer: str) -> None:
        """Delete the records of all of this bare JID's own conversations."""
        for key in [key for key in self._last if thread_of_key(key, of=peer) or key == peer]:
            del self._last[key]


class UsageTracking:
    """Usage of an assistant: ledger, middleware and quotas."""

    def __init__(
        self,
        place: DatabasePlace,
        *,
        limits: PeerQuota,
        crowd: GroupQuotas = NO_GROUP_QUOTAS,
        groups_of: QuotaGroupsOf = no_quota_groups,
    ) -> None:
        self.ledger = UsageLedger(place)
        self.quota = QuotaMiddleware(self.ledger, limits, crowd=crowd)
        self._limits = limits
        self._has_quota = not (limits.are_none and crowd.are_none)
        self._groups_of = groups_of
        self._middleware = UsageMiddleware(self.ledger)

    @property
    def layers(self) -> list[TurnMiddleware]:
        """Turn middleware, outermost first: a turn that the quota refuses is not recorded."""
        return [self.quota, self._middleware] if self._has_quota else [self._middleware]

    def billing(self, peer: str) -> AbstractContextManager[None]:
        """Context manager that bills work between turns to this peer."""
        groups = self._groups_of(peer)
        return recording(TurnRecorder(self.ledger, peer=peer, groups=groups, is_turn=False))

    def attach(
        self,
        commands: CommandRegistry,
        service: RpcService,
        memory: MemoryBehaviour,
        *,
        reaction: ReactionLine | None = None,
    ) -> None:
        memory.on_clear.append(self._middleware.forget)
        memory.on_forget.append(self._middleware.forget_peer)
        why = WhyCommand(self._middleware, memory, reaction=reaction)
        why.add_to(commands)
        UsageCommand(self.ledger, self._limits).add_to(commands)

        async def report(request: Request, body: UsageRequest) -> UsageReport:
            # By the stamped JID: no field of the request can name another peer.
            days = await self.ledger.of_peer(request.message.owner, days=body.days)
            return UsageReport(days=tuple(days), limits=self._limits)

        async def explain(request: Request, _body: ExplanationRequest) -> ExplanationReport:
            record = self._middleware.last(conversation_key(request.message))
            if record is None:
                raise NotFound(NO_ANSWER_YET)
            return ExplanationReport(record=record, texts=dict(await why.texts(record)))

        service.on(UsageRequest, report)
        service.on(ExplanationRequest, explain)
