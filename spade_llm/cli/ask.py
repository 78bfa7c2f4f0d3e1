"""`spade-llm ask`: one question, its answer on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.context import assistant_jid, find_context, login, person_jid
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import sanitize_line, sanitize_text
from spade_llm.core.errors import SpadeLLMError

if TYPE_CHECKING:
    import argparse


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_ask(options))


async def _ask(options: argparse.Namespace) -> int:
    cli_context = find_context(options)
    async with login(person_jid(options, cli_context), cli_context) as client:
        reply = await client.say(assistant_jid(options, cli_context), options.question)
    if reply.failure:
        raise SpadeLLMError(sanitize_line(reply.text))
    print(sanitize_text(reply.text))
    return 0
