"""Tools that a tool agent in a process of its own is given: some behave, most do not."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from spade_llm.tools import tool

FOREVER_S = 3600


@tool
async def write_down(path: str, line: str) -> str:
    """Add a line to a file, and take a while to say so."""
    with Path(path).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - at once, in order
        file.write(f"{line}\n")
    await asyncio.sleep(0.2)
    return line


@tool
async def pay(ledger: str, to: str, amount: int) -> str:
    """Add a payment to a ledger, and wait for its receipt in a file beside it."""
    await write_down(ledger, f"{to} {amount}")
    receipt = Path(f"{ledger}.receipt")
    while not receipt.exists():  # noqa: ASYNC110, ASYNC240 - a file tells nobody
        await asyncio.sleep(0.05)
    return receipt.read_text(encoding="utf-8")  # noqa: ASYNC240


@tool(timeout_s=0.3, max_concurrent=2)
def hang() -> None:
    """Never returns."""
    time.sleep(FOREVER_S)


@tool(timeout_s=0.3)
async def cling() -> None:
    """Never returns, and will not be cancelled."""
    ends = time.monotonic() + FOREVER_S
    while time.monotonic() < ends:
        try:
            await asyncio.sleep(FOREVER_S)
        except asyncio.CancelledError:
            continue


@tool
def leave() -> None:
    """Tries to end the process."""
    raise SystemExit(3)


@tool
async def leave_at_once() -> None:
    """Tries to end the process from the event loop."""
    raise SystemExit(3)


@tool
def flood() -> list[str]:
    """Ten megabytes."""
    return ["<&\x01 words & more>" * 50] * 10_000


@tool
def odd() -> object:
    """What JSON cannot hold."""
    return object()


@tool(needs_approval=True)
def erase() -> str:
    """Asks first."""
    return "empty"


@tool
async def for_others() -> str:
    """The operator's rules keep it from us."""
    return "unseen"
