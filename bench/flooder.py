"""A process that sends chat messages as fast as it is told: `python -m bench.flooder`.

Its Flood is one line on stdin; at the next line it begins, and ends when stdin does. Then it says
how many it sent in how many seconds.
"""

from __future__ import annotations

import asyncio
import sys
import time

from pydantic import BaseModel, ConfigDict

from bench.account import Account
from bench.raw import RawClient
from spade_llm.runtime.loop import run

TICK_S = 0.01


class Flood(BaseModel):
    model_config = ConfigDict(frozen=True)

    account: Account
    to: str
    per_s: int


async def send(flood: Flood, client: RawClient) -> int:
    """Until it is cancelled; what a tick was late for, the next makes good."""
    began, sent = time.perf_counter(), 0
    try:
        while True:
            due = int((time.perf_counter() - began) * flood.per_s)
            client.xmpp.send_raw("".join(_message(flood.to, one) for one in range(sent, due)))
            sent = max(sent, due)
            await asyncio.sleep(TICK_S)
    except asyncio.CancelledError:
        return sent


def _message(to: str, number: int) -> str:
    """Each in a conversation of its own."""
    return (
        f"<message type='chat' to='{to}' id='f{number}'><body>flood {number}</body>"
        f"<thread>t{number}</thread></message>"
    )


async def main() -> None:
    flood = Flood.model_validate_json(sys.stdin.readline())
    async with RawClient(flood.account) as client:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.perf_counter()
        sending = asyncio.create_task(send(flood, client))
        await asyncio.to_thread(sys.stdin.read)
        sending.cancel()
        print(f"{await sending} {time.perf_counter() - began}", flush=True)


if __name__ == "__main__":
    run(main())
