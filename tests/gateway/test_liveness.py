"""What comes at once is let through one by one."""

from __future__ import annotations

import asyncio

from spade_llm.gateway.agent_clients import FairYield


async def test_simultaneous_answers_pass_one_per_loop_iteration() -> None:
    turnstile, turns, passed_at = FairYield(), 0, list[int]()

    async def one() -> None:
        await turnstile.wait_turn()
        passed_at.append(turns)

    passing = [asyncio.create_task(one()) for _ in range(3)]
    async with asyncio.timeout(5):
        while len(passed_at) < len(passing):
            turns += 1
            await asyncio.sleep(0)

    assert len(set(passed_at)) == 3
