"""`spade-llm usage`: what each peer has used of an assistant, by day, from the agent's own file.

For whoever runs the agent, also while it runs. A peer itself asks with /usage.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from spade_llm.cli.agent_data import kept_by
from spade_llm.cli.place import data_directory
from spade_llm.cli.plain import one_line
from spade_llm.conversation.usage_ledger import FILES, UsageLedger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from spade_llm.conversation.usage_ledger import DayOfPeer


def main(options: argparse.Namespace) -> int:
    days = asyncio.run(_read(options))
    for day in days:
        print(_json(day) if options.json else _line(day))
    if not days and not options.json:
        print(f"nothing was used in the last {options.days} days")
    return 0


async def _read(options: argparse.Namespace) -> Sequence[DayOfPeer]:
    path = kept_by(options.agent, FILES, data_directory(options), what="record of usage")
    async with UsageLedger(path) as ledger:
        if options.peer:
            return ledger.of_peer(options.peer, days=options.days)
        return ledger.of_all(days=options.days)


def _json(day: DayOfPeer) -> str:
    return json.dumps({"day": day.day.isoformat(), "peer": day.peer, **asdict(day.spent)})


def _line(day: DayOfPeer) -> str:
    spent = day.spent
    mark = "~" if spent.estimated_tokens else " "
    return (
        f"{day.day}  {spent.turns:6} turns  {spent.model_calls:6} model calls"
        f"  {spent.tool_calls:6} tool calls  {mark}{spent.tokens:9} tokens"
        f"  {spent.model_seconds:9.1f} s  {one_line(day.peer)}"
    )
