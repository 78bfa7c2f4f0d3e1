"""`spade-llm run FILE`: one agent in this process, until somebody stops it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.beating import beating
from spade_llm.cli.definition import read_definition
from spade_llm.cli.distributions import warn_of_clashes
from spade_llm.cli.embeddings import Embedders
from spade_llm.cli.hosting import Host, running_agent
from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.place import find_place
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import SpadeLLMError
from spade_llm.settings import load_agent

if TYPE_CHECKING:
    import argparse

    from spade_llm.agent import XmppAgent


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_run(options), with_parent=options.with_parent)


async def _run(options: argparse.Namespace) -> int:
    log_to_stderr()
    warn_of_clashes(_say)
    path = Path(options.file)
    place = find_place(options, load_agent(path))
    definition = read_definition(path, domain=place.domain)
    if place.may_register:
        place.accounts.get_or_make(definition.jid)
    async with Embedders(place.data, may_download=not options.no_download, say=_say) as embedders:
        host = Host(place=place, embedders=embedders, say=_say)
        async with (
            running_agent(definition, host) as agent,
            beating(agent, place.data / "agents" / definition.jid),
        ):
            _say(f"ready       {definition.jid} ({definition.settings.kind}), Ctrl-C stops it")
            raise SpadeLLMError(await _lost(agent))


async def _lost(agent: XmppAgent) -> str:
    """Why it cannot go on, once that is so."""
    if agent.link is None:
        return f"{agent.jid} has no connection"
    return f"{agent.jid} lost its connection for good: {await agent.link.gone}"


def _say(line: str) -> None:
    print(line, flush=True)
