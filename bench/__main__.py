"""All benchmarks, one table: `python -m bench [--quick] [NAME …]`.

`python -m bench exam` is another program: what an assistant's memory understands (memory_exam).

Ends with 1 if a benchmark failed or an answer was wrong; a missed goal is a line in the table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from bench import (
    answer_log,
    audience,
    chaos,
    chat,
    concurrency,
    context,
    costs,
    crowd,
    documents,
    documents_recall,
    documents_storage,
    flood,
    gateway,
    mcp,
    memory,
    memory_database,
    memory_local,
    month,
    quoted_memories,
    recall,
    replicas,
    simulation,
    start,
    streaming,
    surprise,
    tools,
    volume,
    wire,
)
from bench.memory_exam import runner as memory_exam
from bench.report import print_table
from bench.results import FOLDER, Part, run_of, write
from bench.row import Scale, WrongAnswer
from bench.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.row import Row

BENCHMARKS: dict[str, Callable[[Stage, Scale], Awaitable[list[Row]]]] = {
    "wire": wire.measure,
    "crowd": crowd.measure,
    "chat": chat.measure,
    "answer-log": answer_log.measure,
    "costs": costs.measure,
    "streaming": streaming.measure,
    "concurrency": concurrency.measure,
    "audience": audience.measure,
    "audience-served": audience.measure_served,
    "context": context.measure,
    "volume": volume.measure,
    "start": start.measure,
    "memory": memory.measure,
    "memory-local": memory_local.measure,
    "memory-database": memory_database.measure,
    "month": month.measure,
    "surprise": surprise.measure,
    "quoted": quoted_memories.measure,
    "recall": recall.measure,
    "documents": documents.measure,
    "documents-recall": documents_recall.measure,
    "documents-storage": documents_storage.measure,
    "tools": tools.measure,
    "flood": flood.measure,
    "mcp": mcp.measure,
    "gateway": gateway.measure,
    "simulation": simulation.measure,
    "chaos": chaos.measure,
    "replicas": replicas.measure,
}
BY_NAME_ONLY = frozenset({"chaos", "replicas"})
"""Ten minutes of these measure whether promises are kept, not how fast."""
OPTIONS = {
    # Conversations that are not ours to hand on: read from where they lie.
    "--locomo": ("SPADE_LLM_BENCH_LOCOMO", "PATH", "recall"),
    "--longmemeval": ("SPADE_LLM_BENCH_LONGMEMEVAL", "PATH", "recall"),
    "--seed": ("SPADE_LLM_BENCH_SEED", "TEXT", "month"),
    "--server": ("SPADE_LLM_BENCH_SERVER", "NAME", "replicas"),
    "--faults": ("SPADE_LLM_BENCH_FAULTS", "N", "replicas"),
    "--only": ("SPADE_LLM_BENCH_ONLY", "KIND", "replicas"),
    "--other": ("SPADE_LLM_BENCH_OTHER", "PATH", "replicas"),
}
"""Environment variable, metavar and benchmark of each."""


async def run(names: list[str], scale: Scale, parts: list[Part]) -> list[str]:
    """Run the benchmarks one after another, and return what went wrong, a line for each.

    `parts` is filled on the way. A benchmark that fails does not stop the others; one that answered
    wrongly does.
    """
    failures: list[str] = []
    async with Stage() as stage:
        for name in names:
            began, load = time.perf_counter(), os.getloadavg()[0]
            try:
                rows = await BENCHMARKS[name](stage, scale)
            except WrongAnswer as error:
                return [*failures, f"{name} answered wrongly: {error}"]
            except Exception as error:  # noqa: BLE001 - half an hour of other figures is kept
                traceback.print_exc()
                failures.append(f"{name} failed: {error}")
                continue
            part = Part(name=name, seconds=time.perf_counter() - began, load=load, rows=tuple(rows))
            parts.append(part)
            print(f"{name}: {part.seconds:.0f} s, load before {load:.1f}", file=sys.stderr)
    return failures


def main() -> int:
    arguments = _arguments()
    parts: list[Part] = []
    failures = asyncio.run(run(arguments.names, Scale(is_quick=arguments.quick), parts))
    print_table(parts)
    print(f"\n{write(run_of(parts, is_quick=arguments.quick), arguments.into)}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument(
        "--quick", action="store_true", help="two minutes in all; times mean little"
    )
    parser.add_argument("--into", type=Path, default=FOLDER, help="where the run is kept")
    for option, (variable, metavar, name) in OPTIONS.items():
        help = f"for {name}; {variable} says the same"
        parser.add_argument(option, metavar=metavar, help=help)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    arguments.names = arguments.names or [one for one in BENCHMARKS if one not in BY_NAME_ONLY]
    for option, (variable, _, _) in OPTIONS.items():
        if value := getattr(arguments, option[2:]):
            os.environ[variable] = value
    return arguments


if __name__ == "__main__":
    sys.exit(memory_exam.main(sys.argv[2:]) if sys.argv[1:2] == ["exam"] else main())
