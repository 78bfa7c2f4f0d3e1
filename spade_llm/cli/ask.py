"""`spade-llm ask`: one question, its answer on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.person import assistant_jid, logged_in, person_jid
from spade_llm.cli.place import find_place
from spade_llm.cli.plain import many_lines, one_line
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import SpadeLLMError

if TYPE_CHECKING:
    import argparse


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_ask(options))


async def _ask(options: argparse.Namespace) -> int:
    place = find_place(options)
    async with logged_in(person_jid(options, place), place) as person:
        reply = await person.say(assistant_jid(options, place), options.question)
    if reply.failure:
        raise SpadeLLMError(one_line(reply.text))
    print(many_lines(reply.text))
    return 0
