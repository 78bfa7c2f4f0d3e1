"""What peers have spent is counted by day, survives the process, and stays bounded."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.assistant.commands.reports import total_usage
from spade_llm.assistant.middleware.usage_ledger import PRUNE_EVERY_ROWS, UsageLedger
from spade_llm.assistant.turn.turn_recorder import KEPT_DAYS, UsageTotals
from spade_llm.core import sqlite_file
from spade_llm.core.errors import ConfigurationError, StorageFailed
from tests.cli.program import ROOT
from tests.conftest import at_most

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import PlaceOf

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


counts = st.integers(min_value=0, max_value=10**9)
spendings = st.builds(
    UsageTotals,
    turns=counts,
    model_calls=counts,
    tool_calls=counts,
    prompt_tokens=counts,
    completion_tokens=counts,
    estimated_tokens=counts,
    model_seconds=st.integers(min_value=0, max_value=10**6).map(float),
)


@settings(max_examples=at_most(50))
@given(st.lists(st.tuples(st.sampled_from(["ada@x", "bob@x", "'; --@x"]), spendings), max_size=20))
async def test_usage_is_the_sum_of_all_entries(
    added: list[tuple[str, UsageTotals]],
) -> None:
    async with UsageLedger(None, clock=Clock()) as ledger:
        for peer, spent in added:
            await ledger.add(peer, spent)

        for peer in {peer for peer, _ in added}:
            assert await ledger.of_today(peer) == total_usage(
                one for who, one in added if who == peer
            )
        assert {day.peer for day in await ledger.of_all(days=1)} == {peer for peer, _ in added}


async def test_each_day_counts_for_itself_and_the_newest_comes_first(place_of: PlaceOf) -> None:
    clock = Clock()
    async with UsageLedger(place_of("usageledger.db"), clock=clock) as ledger:
        await ledger.add("ada@x", UsageTotals(turns=1))
        clock.now += timedelta(days=1)
        await ledger.add("ada@x", UsageTotals(turns=2))
        await ledger.add("bob@x", UsageTotals(turns=7))

        assert (await ledger.of_today("ada@x")).turns == 2
        assert [day.spent.turns for day in await ledger.of_peer("ada@x", days=2)] == [2, 1]
        assert [day.spent.turns for day in await ledger.of_peer("ada@x", days=1)] == [2]
        assert ledger.next_day == datetime(2026, 3, 3, tzinfo=UTC)


async def test_days_to_come_of_a_clock_that_was_wrong_are_not_told_as_today(
    place_of: PlaceOf,
) -> None:
    clock = Clock()
    async with UsageLedger(place_of("usageledger.db"), clock=clock) as ledger:
        clock.now += timedelta(days=1)
        await ledger.add("ada@x", UsageTotals(turns=5))
        clock.now = NOON
        await ledger.add("ada@x", UsageTotals(turns=1))

        assert (await ledger.of_today("ada@x")).turns == 1
        assert [day.spent.turns for day in await ledger.of_peer("ada@x", days=30)] == [1]


async def test_old_days_and_the_smallest_of_too_many_peers_are_dropped(place_of: PlaceOf) -> None:
    clock = Clock()
    async with UsageLedger(place_of("usageledger.db"), max_peers_a_day=3, clock=clock) as ledger:
        await ledger.add("old@x", UsageTotals(turns=1))
        clock.now += timedelta(days=KEPT_DAYS)
        for number in range(PRUNE_EVERY_ROWS):
            await ledger.add(f"peer-{number}@x", UsageTotals(model_calls=number))
        await ledger.tidy()

        kept = [day.peer for day in await ledger.of_all(days=KEPT_DAYS + 1)]

    assert kept == ["peer-497@x", "peer-498@x", "peer-499@x"]


async def test_usage_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    code = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from spade_llm.assistant.middleware.usage_ledger import UsageLedger, UsageTotals\n"
        "async def main():\n"
        "    async with UsageLedger(Path(sys.argv[1])) as ledger:\n"
        "        for _ in range(50):\n"
        "            await ledger.add('ada@x', UsageTotals(model_calls=1, prompt_tokens=10))\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(path), env={"PYTHONPATH": str(ROOT)}
    )
    assert await process.wait() == -9

    async with UsageLedger(path) as ledger:
        (day,) = await ledger.of_all(days=2)

    assert (day.spent.model_calls, day.spent.prompt_tokens) == (50, 500)


async def test_a_file_that_is_none_of_ours_is_named_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    path.write_bytes(b"no database" * 100)

    with pytest.raises(ConfigurationError, match="usage.db"):
        await UsageLedger(path).__aenter__()


async def test_a_disk_that_refuses_is_storage_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_S", 0.05)
    path = tmp_path / "usage.db"
    async with UsageLedger(path) as ledger:
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageFailed):
                await ledger.add("ada@x", UsageTotals(turns=1))
            other.execute("ROLLBACK")
        other.close()
    with pytest.raises(StorageFailed):
        await ledger.of_today("ada@x")
