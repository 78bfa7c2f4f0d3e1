"""`spade-llm chat`: a person's chat in the terminal, or lines from a script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spade_llm.cli.person import assistant_jid, logged_in, person_jid
from spade_llm.cli.place import find_place
from spade_llm.cli.stopping import run_until_stopped

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from spade_llm.agent import ChatAgent


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_chat(options))


async def _chat(options: argparse.Namespace) -> int:
    place = find_place(options)
    async with logged_in(person_jid(options, place), place) as person:
        return await converse(person, assistant_jid(options, place), history=place.data)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def converse(person: ChatAgent, peer: str, *, history: Path) -> int:
    """Until the person leaves. `history` is the folder of what was typed earlier.

    Returns 1 if a line of a script was not answered, else 0.
    """
    if is_terminal():
        from spade_llm.cli.chat_terminal import converse_in_terminal

        await converse_in_terminal(person, peer, history=history / "chat-history")
        return 0
    from spade_llm.cli.chat_script import converse_by_lines

    return 0 if await converse_by_lines(person, peer) else 1
