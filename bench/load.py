"""Many requests at once to one path of an HTTP server, for some seconds: by wrk, or by a client in
Python where wrk is not installed, which is slower than some servers. Knows no server's meaning.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from asyncio.subprocess import PIPE
from functools import cache
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

import httpx
from pydantic import BaseModel

from bench.row import Spread, check
from bench.web import Chat

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).with_suffix(".lua")
TIMEOUT_S = 60
CHAT = "/llm"
"""How paths begin that are asked with a question and answer with its words."""
THINGS = ("the answer log", "a deadline", "the outbox", "my bicycle", "the archive", "the server")


class Load(BaseModel):
    """Times in ms."""

    requests: int
    wrong: int
    """Not the answer that it should be."""
    lost: int
    """Never answered, or cut off."""
    seconds: float
    fastest: float
    median: float
    p95: float
    p99: float

    @property
    def per_s(self) -> float:
        return self.requests / self.seconds

    @property
    def spread(self) -> Spread:
        return Spread(fastest=self.fastest, p95=self.p95, count=self.requests)


async def load(base: str, path: str, *, connections: int, seconds: int) -> Load:
    """Raises WrongAnswer."""
    put = _by_wrk if has_wrk() else _by_python
    found = await put(base, path, connections, seconds)
    check(found.requests > 0, f"{path}: nothing was answered within {seconds} s")
    check(not found.wrong, f"{path}: {found.wrong} of {found.requests} answers were wrong")
    check(not found.lost, f"{path}: {found.lost} requests were lost")
    return found


@cache
def has_wrk() -> bool:
    found = shutil.which("wrk") is not None
    if not found:
        print("gateway: wrk is not installed; a client in Python asks instead", file=sys.stderr)
    return found


async def _by_wrk(base: str, path: str, connections: int, seconds: int) -> Load:
    wrk = await asyncio.create_subprocess_exec(
        *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"--timeout={TIMEOUT_S}s"),
        *("-s", str(SCRIPT), f"{base}{path}", "--", path, str(_sessions(connections))),
        stdout=PIPE,
    )
    said, _ = await wrk.communicate()
    check(wrk.returncode == 0, f"wrk ended with {wrk.returncode}: {said.decode()}")
    return Load.model_validate_json(said.splitlines()[-1])


async def _by_python(base: str, path: str, connections: int, seconds: int) -> Load:
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    times, texts, began = list[float](), _bodies(_sessions(connections)), time.perf_counter()
    async with httpx.AsyncClient(base_url=base, limits=limits, timeout=TIMEOUT_S) as client:

        async def ask_until_over() -> int:
            wrong = 0
            while (sent := time.perf_counter()) - began < seconds:
                wrong += not await _is_answered(client, path, next(texts))
                times.append((time.perf_counter() - sent) * 1000)
            return wrong

        wrong = sum(await asyncio.gather(*(ask_until_over() for _ in range(connections))))
    taken, cuts = time.perf_counter() - began, quantiles(times, n=100)
    return Load(
        requests=len(times),
        wrong=wrong,
        lost=0,
        seconds=taken,
        fastest=min(times),
        median=cuts[49],
        p95=cuts[94],
        p99=cuts[98],
    )


async def _is_answered(client: httpx.AsyncClient, path: str, body: dict[str, object]) -> bool:
    if not path.startswith(CHAT):
        answer = await client.get(path)
        return answer.status_code == 200 and json.loads(answer.text) == {"status": "healthy"}
    answer = await client.post(path, json=body)
    return answer.status_code == 200 and "You said: What happens" in answer.text


def _bodies(sessions: int) -> Iterator[dict[str, object]]:
    for asked in count(1):
        text = f"What happens to {THINGS[asked % len(THINGS)]} after restart {asked}, run 0?"
        yield Chat.of(text, f"load-0-{asked % sessions}").model_dump()


def _sessions(connections: int) -> int:
    """So many that two requests at once are seldom of one session, whose turns wait."""
    return 4 * connections
