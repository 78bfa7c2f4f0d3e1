"""A model's server whose first token is the time at which it left.

The clock is the machine's own, so that another process can tell how old the token is.
"""

from __future__ import annotations

import asyncio
import json
import time

from aiohttp import web

from spade_llm.core.concurrency import run_event_loop

FIRST_S = 0.05
"""Of thinking before the first token."""
EVERY_S = 0.01
TOKENS = 15
STAMP_CHARS = 24
"""Guardrails hold back the last characters of what has come: on a machine that has just started a
short stamp would wait for the next token."""


async def _complete(request: web.Request) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.sleep(FIRST_S)
    await response.write(_event(f"{time.monotonic():0{STAMP_CHARS}.6f}"))
    for number in range(TOKENS):
        await asyncio.sleep(EVERY_S)
        await response.write(_event(f" {number}"))
    await response.write(_event("", "stop") + b"data: [DONE]\n\n")
    return response


def _event(text: str, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"


async def _serve() -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    print(f"ready http://127.0.0.1:{port}/v1", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    try:
        run_event_loop(_serve())
    except KeyboardInterrupt:
        raise SystemExit(0) from None
