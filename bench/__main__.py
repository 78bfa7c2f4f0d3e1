"""All benchmarks, one table: `python -m bench [--quick] [NAME …]`.

Ends with 1 only when an answer was wrong; a missed goal is a line in the table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING

from bench import (
    chaos,
    chat,
    concurrency,
    context,
    costs,
    documents,
    flood,
    gateway,
    mcp,
    memory,
    memory_local,
    start,
    streaming,
    tools,
    volume,
    wire,
)
from bench.report import print_table, write_json
from bench.row import Row, Scale, WrongAnswer
from bench.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BENCHMARKS: dict[str, Callable[[Stage, Scale], Awaitable[list[Row]]]] = {
    "wire": wire.measure,
    "chat": chat.measure,
    "costs": costs.measure,
    "streaming": streaming.measure,
    "concurrency": concurrency.measure,
    "context": context.measure,
    "volume": volume.measure,
    "start": start.measure,
    "memory": memory.measure,
    "memory-local": memory_local.measure,
    "documents": documents.measure,
    "tools": tools.measure,
    "flood": flood.measure,
    "mcp": mcp.measure,
    "gateway": gateway.measure,
    "chaos": chaos.measure,
}
BY_NAME_ONLY = frozenset({"chaos"})
"""Ten minutes of it measure whether promises are kept, not how fast."""


async def run(names: list[str], scale: Scale) -> list[Row]:
    rows: list[Row] = []
    async with Stage() as stage:
        for name in names:
            began, load = time.perf_counter(), os.getloadavg()[0]
            rows += await BENCHMARKS[name](stage, scale)
            taken_s = time.perf_counter() - began
            print(f"{name}: {taken_s:.0f} s, load before {load:.1f}", file=sys.stderr, flush=True)
    return rows


def main() -> int:
    arguments = _arguments()
    try:
        rows = asyncio.run(run(arguments.names, Scale(is_quick=arguments.quick)))
    except WrongAnswer as wrong:
        print(f"a benchmark answered wrongly: {wrong}", file=sys.stderr)
        return 1
    print_table(rows)
    print(f"\n{write_json(rows, is_quick=arguments.quick)}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="under 60 s; times mean little")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    arguments.names = arguments.names or [one for one in BENCHMARKS if one not in BY_NAME_ONLY]
    return arguments


if __name__ == "__main__":
    sys.exit(main())
