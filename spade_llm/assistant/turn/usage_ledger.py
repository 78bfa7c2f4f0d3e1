"""Usage ledger (SQLite): tokens, calls and seconds of each peer and quota group per day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Self

from spade_llm.core.sqlite_file import SqliteFile
from spade_llm.memory.validation import subject_jid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEDGER_FILES = "usage-*.db"
"""The name that stands for the star is the agent's."""
KEPT_DAYS = 90
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
_ADD = """INSERT INTO {table} VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET
    turns = turns + excluded.turns,
    model_calls = model_calls + excluded.model_calls,
    tool_calls = tool_calls + excluded.tool_calls,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens,
    estimated_tokens = estimated_tokens + excluded.estimated_tokens,
    model_seconds = model_seconds + excluded.model_seconds"""
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
# Those with the least usage: who makes up accounts buys no room. SQLite takes OFFSET only behind
# LIMIT; -1 is none.
_DROP_PEERS = """DELETE FROM usage WHERE day = :day AND peer IN (
    SELECT peer FROM usage WHERE day = :day
    ORDER BY model_calls DESC, turns DESC LIMIT -1 OFFSET :kept)"""

_utc_now = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    turns: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_tokens: int = 0
    """Tokens not counted by a server, which are estimated as a quarter of the characters; included
    in the others."""
    model_seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: UsageTotals) -> UsageTotals:
        return _usage_totals(
            [one + more for one, more in zip(_row(self), _row(other), strict=True)]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyUsage:
    day: date
    peer: str
    spent: UsageTotals


class UsageLedger:
    """`add` returns when it is written: a kill −9 loses only what was not added yet."""

    def __init__(
        self,
        path: Path | None,
        *,
        max_peers_a_day: int = MAX_PEERS_A_DAY,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`path=None` keeps it in RAM only."""
        self._max_peers = max_peers_a_day
        self._clock = clock
        self._db = SqliteFile(path, schema=_SCHEMA, what="the record of usage")
        self._writes_until_bound = 0

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    @property
    def today(self) -> date:
        return self._clock().date()

    @property
    def next_day(self) -> datetime:
        """Time at which daily quotas are reset (UTC midnight)."""
        now = self._clock()
        return datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)

    def add(self, peer: str, spent: UsageTotals, *, groups: Sequence[str] = ()) -> None:
        """Count it for a peer and for the quota groups that it belongs to. Raises StorageFailed."""
        today, row = self.today.isoformat(), _row(spent)
        self._db.run(_ADD_OF_PEER, today, peer, *row)
        for group in groups:
            self._db.run(_ADD_OF_GROUP, today, group, *row)
        self._writes_until_bound -= 1

    def of_today(self, peer: str) -> UsageTotals:
        """Raises StorageFailed."""
        for row in self._db.run(_OF_DAY, self.today.isoformat(), peer):
            return _usage_totals(row)
        return UsageTotals()

    def of_today_together(self, group: str) -> UsageTotals:
        """Usage of a whole group today. Raises StorageFailed."""
        for row in self._db.run(_OF_GROUP, self.today.isoformat(), group):
            return _usage_totals(row)
        return UsageTotals()

    def of_peer(self, peer: str, *, days: int) -> Sequence[DailyUsage]:
        """Today and the days before, newest first; those without spending are left out.

        Raises:
            StorageFailed: the disk refuses.
        """
        today = self.today.isoformat()  # A clock that was wrong has left days to come.
        return [_day(row) for row in self._db.run(_OF_PEER, peer, self._before(days), today)]

    def of_all(self, *, days: int) -> Sequence[DailyUsage]:
        """Newest day first. Raises StorageFailed."""
        return [_day(row) for row in self._db.run(_OF_ALL, self._before(days))]

    def _before(self, days: int) -> str:
        return (self.today - timedelta(days=days)).isoformat()

    async def tidy(self) -> None:
        """Enforce the bounds every PRUNE_EVERY_ROWS writes. Call it when no request is waiting.

        Raises:
            StorageFailed: the disk refuses.
        """
        if self._writes_until_bound <= 0:
            self._writes_until_bound = PRUNE_EVERY_ROWS
            self._db.run(_DROP_DAYS, self._before(KEPT_DAYS))
            self._db.run(_DROP_OLD_GROUPS, self.today.isoformat())
            self._db.run(_DROP_PEERS, {"day": self.today.isoformat(), "kept": self._max_peers})
            await self._db.checkpoint()


def _day(row: Sequence[object]) -> DailyUsage:
    day, peer, *spent = row
    return DailyUsage(day=date.fromisoformat(str(day)), peer=str(peer), spent=_usage_totals(spent))


_row = attrgetter(*(one.name for one in fields(UsageTotals)))
"""Values in the order of the columns; `astuple` would copy each number, and takes ten times as
long."""


def _usage_totals(row: Sequence[object]) -> UsageTotals:
    *counts, seconds = map(str, row)
    turns, model_calls, tool_calls, prompt, completion, estimated = map(int, counts)
    return UsageTotals(
        turns=turns,
        model_calls=model_calls,
        tool_calls=tool_calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        estimated_tokens=estimated,
        model_seconds=float(seconds),
    )


QuotaGroupsOf = Callable[[str], tuple[str, ...]]
"""The quota groups of a peer (bare JID, or its seat in a room), decided anew at each call."""


ALL_GUESTS = "*"
"""Quota group of all guests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaGroups:
    own_domain: str
    """Peers of this domain belong to no group of a domain."""
    is_guest: Callable[[str], bool]
    """Whether a bare JID is let in as a guest only."""

    def of(self, peer: str) -> tuple[str, ...]:
        """The groups of its domain, if it is another one, and of all guests, if it is a guest."""
        domain = subject_jid(peer).rpartition("@")[2]
        together = (f"@{domain}",) if self.own_domain and domain != self.own_domain else ()
        return (*together, ALL_GUESTS) if self.is_guest(subject_jid(peer)) else together


def no_quota_groups(_peer: str) -> tuple[str, ...]:
    return ()
