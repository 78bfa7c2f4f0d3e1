"""Rate limits, concurrency limits and the LRU dictionary."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import Busy
from spade_llm.core.limits import ConcurrencyLimiter, LruDict, SlidingWindow


@given(st.lists(st.integers(0, 9)), st.integers(1, 6))
def test_an_lru_dictionary_keeps_the_entries_set_last_in_order(
    keys: list[int], max_size: int
) -> None:
    known: LruDict[int, int] = LruDict(max_size)

    for number, key in enumerate(keys):
        known[key] = number

    latest = list(dict.fromkeys(reversed(keys)))[:max_size]
    assert list(reversed(known)) == latest
    assert all(known[key] == max(n for n, one in enumerate(keys) if one == key) for key in latest)


def test_a_sliding_window_counts_in_total_and_per_key_until_the_period_is_over() -> None:
    now_s = [0.0]
    window: SlidingWindow[str] = SlidingWindow(10.0, lambda: now_s[0])

    window.add("a")
    now_s[0] = 5.0
    window.add("b")
    assert (window.count(), window.count("a"), window.count("b")) == (2, 1, 1)
    now_s[0] = 10.0
    assert (window.count(), window.count("a"), window.count("b")) == (1, 0, 1)


async def test_a_call_beyond_the_waiting_queue_is_refused() -> None:
    limiter = ConcurrencyLimiter(1, name="tests", max_waiting=1)

    await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="too many calls of tests are waiting"):
        await limiter.acquire()
    limiter.release()
    async with asyncio.timeout(5):
        await waiting

    assert limiter.is_full
    limiter.release()
    assert limiter.is_idle


async def test_a_slot_given_to_a_waiter_that_is_cancelled_goes_to_the_next_one() -> None:
    limiter = ConcurrencyLimiter(1, name="tests")
    await limiter.acquire()
    first, second = (asyncio.create_task(limiter.acquire()) for _ in range(2))
    await asyncio.sleep(0)

    limiter.release()
    first.cancel()
    async with asyncio.timeout(5):
        await second

    assert first.cancelled()
    limiter.release()
    assert limiter.is_idle


async def test_a_caller_without_a_slot_in_time_goes_without_and_leaves_it_to_the_next() -> None:
    limiter = ConcurrencyLimiter(1, name="tests")

    async with limiter.slot_within(0.01) as first, limiter.slot_within(0.01) as second:
        assert (first, second, limiter.is_full) == (True, False, True)
    async with limiter.slot_within(0.01) as third:
        assert third
    assert not limiter.is_full


async def test_no_more_is_under_way_than_allowed_and_what_is_larger_goes_alone() -> None:
    under_way = ConcurrencyLimiter(10, name="files", max_waiting=None)
    now, most = 0, 0

    async def take(size: int) -> None:
        nonlocal now, most
        async with under_way.slot(size):
            now += min(size, 10)
            most = max(most, now)
            await asyncio.sleep(0)
            now -= min(size, 10)

    async with asyncio.timeout(5):
        await asyncio.gather(*(take(size) for size in (3, 4, 50, 2, 10, 0, 9, 1, 7) * 5))

    assert most == 10


async def test_a_waiter_that_is_cancelled_takes_nothing() -> None:
    under_way = ConcurrencyLimiter(10, name="files", max_waiting=None)
    async with under_way.slot(8):
        waiting = asyncio.create_task(_take(under_way, 5))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(5):
            await _take(under_way, 2)

    async with asyncio.timeout(5):
        await _take(under_way, 10)


async def _take(under_way: ConcurrencyLimiter, size: int) -> None:
    async with under_way.slot(size):
        pass
