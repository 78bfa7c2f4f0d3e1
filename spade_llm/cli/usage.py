"""`spade-llm usage`: token usage of an assistant by peer and day.

It is for the operator, also while the agent runs. A peer gets its own usage with /usage.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict

from spade_llm.assistant.middleware.usage_ledger import USAGE_TABLES, UsageLedger
from spade_llm.cli.context import agent_place
from spade_llm.cli.terminal import note, sanitize_line, show


def main(options: argparse.Namespace) -> int:
    return asyncio.run(_show_usage(options))


async def _show_usage(options: argparse.Namespace) -> int:
    async with (
        agent_place(options, USAGE_TABLES, what="usage record") as (_, place),
        UsageLedger(place) as ledger,
    ):
        if options.peer:
            days = await ledger.of_peer(options.peer, days=options.days)
        else:
            days = await ledger.of_all(days=options.days)
    for one in days:
        spent = one.spent
        mark = "~" if spent.estimated_tokens else " "
        text = (
            f"{one.day}  {spent.turns:6} turns  {spent.model_calls:6} model calls"
            f"  {spent.tool_calls:6} tool calls  {mark}{spent.tokens:9} tokens"
            f"  {spent.model_seconds:9.1f} s  {sanitize_line(one.peer)}"
        )
        show(options, {"day": one.day, "peer": one.peer, **asdict(spent)}, text)
    if not days:
        note(options, f"no usage in the last {options.days} days")
    return 0
