"""`spade-llm usage`: token usage of an assistant by peer and day.

It is for the operator, also while the agent runs. A peer gets its own usage with /usage.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from spade_llm.assistant.middleware.usage import LEDGER_FILES, UsageLedger
from spade_llm.cli.context import agent_file, data_directory
from spade_llm.cli.terminal import sanitize_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from spade_llm.assistant.turn.turn_recorder import DailyUsage


def main(options: argparse.Namespace) -> int:
    days = asyncio.run(_read_usage(options))
    for day in days:
        print(_json(day) if options.json else _line(day))
    if not days and not options.json:
        print(f"nothing was used in the last {options.days} days")
    return 0


async def _read_usage(options: argparse.Namespace) -> Sequence[DailyUsage]:
    path = agent_file(options.agent, LEDGER_FILES, data_directory(options), what="record of usage")
    async with UsageLedger(path) as ledger:
        if options.peer:
            return ledger.of_peer(options.peer, days=options.days)
        return ledger.of_all(days=options.days)


def _json(day: DailyUsage) -> str:
    return json.dumps({"day": day.day.isoformat(), "peer": day.peer, **asdict(day.spent)})


def _line(day: DailyUsage) -> str:
    spent = day.spent
    mark = "~" if spent.estimated_tokens else " "
    return (
        f"{day.day}  {spent.turns:6} turns  {spent.model_calls:6} model calls"
        f"  {spent.tool_calls:6} tool calls  {mark}{spent.tokens:9} tokens"
        f"  {spent.model_seconds:9.1f} s  {sanitize_line(day.peer)}"
    )
