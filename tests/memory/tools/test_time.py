"""What the entry tools promise about time, with the clock held still."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import SQLiteMemoryBackend
from tests.memory.clock import Clock
from tests.memory.tools.calling import Tools, assert_error, contents, found, stored
from tests.memory.tools.fixtures import OWNER, tools_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
async def tools(tmp_path: Path, clock: Clock) -> AsyncIterator[Tools]:
    async with SQLiteMemoryBackend(
        tmp_path / "memory.db", now=clock, short_term_ttl_s=7200.0
    ) as backend:
        yield tools_of(backend.for_owner(OWNER), OWNER)


async def test_an_expired_memory_is_invisible_from_its_second_on(
    tools: Tools, clock: Clock
) -> None:
    id = await stored(tools, "for a minute", ttl_seconds=60)

    clock.now = NOON + timedelta(seconds=59)
    assert (await tools("memory_get", id=id))["expires_at"] == "2026-03-01T12:01:00Z"
    assert await contents(tools) == ["for a minute"]

    clock.now = NOON + timedelta(seconds=60)
    assert_error(await tools("memory_get", id=id), "NotFoundError")
    assert_error(await tools("memory_get_score", id=id), "NotFoundError")
    assert_error(await tools("memory_update", id=id, tags=["t"]), "NotFoundError")
    assert_error(await tools("memory_delete", id=id), "NotFoundError")
    assert await contents(tools) == []
    assert await found(tools, "minute") == []


async def test_a_short_term_memory_gets_the_configured_time_to_live(tools: Tools) -> None:
    id = await stored(tools, "soon gone", memory_tier="short_term")
    own = await stored(tools, "sooner gone", memory_tier="short_term", ttl_seconds=60)
    long = await stored(tools, "gone too", memory_tier="long_term", ttl_seconds=60)

    assert (await tools("memory_get", id=id))["expires_at"] == "2026-03-01T14:00:00Z"
    assert (await tools("memory_get", id=own))["expires_at"] == "2026-03-01T12:01:00Z"
    assert (await tools("memory_get", id=long))["expires_at"] == "2026-03-01T12:01:00Z"


async def test_dates_with_any_offset_compare_as_moments(tools: Tools, clock: Clock) -> None:
    await stored(tools, "at noon")
    clock.now = NOON + HOUR
    await stored(tools, "at one")

    half_past = ["2026-03-01T12:30:00Z", "2026-03-01T12:30:00", "2026-03-01T18:00:00+05:30",
                 "2026-03-01T02:30:00-10:00", "2026-03-02T02:30:00+14:00"]  # fmt: skip
    for moment in half_past:
        assert await contents(tools, created_after=moment) == ["at one"]
        assert await contents(tools, created_before=moment) == ["at noon"]
    deleted = await tools("memory_delete", older_than=half_past[-1])
    assert deleted["deleted_count"] == 1
    assert await contents(tools) == ["at one"]


async def test_an_update_has_its_own_date(tools: Tools, clock: Clock) -> None:
    id = await stored(tools, "old")
    clock.now = NOON + HOUR

    answer = await tools("memory_update", id=id, content="new")

    memory = await tools("memory_get", id=id)
    assert answer["updated_at"] == memory["updated_at"] == "2026-03-01T13:00:00Z"
    assert memory["created_at"] == "2026-03-01T12:00:00Z"


async def test_importance_fades_with_time_unless_it_is_set(tools: Tools, clock: Clock) -> None:
    fading, fixed = await stored(tools, "fading"), await stored(tools, "fixed")
    await tools("memory_set_score", id=fixed, score=0.8, reason="told so")
    before = (await tools("memory_get_score", id=fading))["importance_score"]

    clock.now = NOON + timedelta(days=90)

    after = (await tools("memory_get_score", id=fading))["importance_score"]
    assert after < before
    assert (await tools("memory_get_score", id=fixed))["importance_score"] == 0.8


async def test_the_last_access_is_dated(tools: Tools, clock: Clock) -> None:
    id = await stored(tools, "x")
    clock.now = NOON + HOUR
    await tools("memory_get", id=id)
    await stored(tools, "a write that comes after the counting")

    answer = await tools("memory_get_score", id=id)
    assert (answer["access_count"], answer["last_accessed_at"]) == (1, "2026-03-01T13:00:00Z")
