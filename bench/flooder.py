"""A process that sends stanzas of one kind as fast as it is told: `python -m bench.flooder`.

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
from spade_llm.core.concurrency import run_event_loop

TICK_S = 0.01
STANZAS = {
    "conversations": (
        "<message type='chat' to='{bare}' id='f{n}'><body>flood {n}</body>"
        "<thread>t{n}</thread></message>"
    ),
    "version": "<iq type='get' to='{full}' id='f{n}'><query xmlns='jabber:iq:version'/></iq>",
    "disco": (
        "<iq type='get' to='{full}' id='f{n}'>"
        "<query xmlns='http://jabber.org/protocol/disco#info'/></iq>"
    ),
    "presence": "<presence to='{full}'><status>flood {n}</status></presence>",
    "subscription": "<presence to='{bare}' type='subscribe'/>",
    "reaction": (
        "<message type='chat' to='{full}' id='f{n}'><reactions xmlns='urn:xmpp:reactions:0'"
        " id='m{n}'><reaction>!</reaction></reactions></message>"
    ),
    "chat state": (
        "<message type='chat' to='{full}'>"
        "<composing xmlns='http://jabber.org/protocol/chatstates'/></message>"
    ),
}
"""By kind of flood. `n` is the number of the stanza, so that each conversation is a new one."""


class Flood(BaseModel):
    model_config = ConfigDict(frozen=True)

    account: Account
    kind: str
    to: str
    """Full JID of the flooded agent."""
    per_s: int


async def send(flood: Flood, client: RawClient) -> int:
    """Until it is cancelled; what a tick was late for, the next makes good."""
    template, bare = STANZAS[flood.kind], flood.to.partition("/")[0]
    began, sent = time.perf_counter(), 0
    try:
        while True:
            due = int((time.perf_counter() - began) * flood.per_s)
            numbers = range(sent, due)
            client.xmpp.send_raw(
                "".join(template.format(n=one, bare=bare, full=flood.to) for one in numbers)
            )
            sent = max(sent, due)
            await asyncio.sleep(TICK_S)
    except asyncio.CancelledError:
        return sent


async def main() -> None:
    flood = Flood.model_validate_json(sys.stdin.readline())
    async with RawClient(flood.account) as client:
        # What the server answers by itself (to each subscription) is read and thrown away:
        # parsing it takes a whole processor, which the measured programs share.
        client.xmpp.data_received = lambda _data: None
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.perf_counter()
        sending = asyncio.create_task(send(flood, client))
        await asyncio.to_thread(sys.stdin.read)
        sending.cancel()
        print(f"{await sending} {time.perf_counter() - began}", flush=True)


if __name__ == "__main__":
    run_event_loop(main())
