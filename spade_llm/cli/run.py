"""`spade-llm run FILE`: one agent in this process, until somebody stops it."""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.definition import read_definition
from spade_llm.cli.distributions import check_extras, warn_of_clashes
from spade_llm.cli.embeddings import Embedders
from spade_llm.cli.hosting import Host, running_agent
from spade_llm.cli.listening import all_listening, handed_down, with_names
from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.place import check_room, find_place
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.cli.up_lines import web_lines
from spade_llm.errors import SpadeLLMError
from spade_llm.runtime.collecting import settle, starting
from spade_llm.settings import load_agent

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from spade_llm.agent import XmppAgent
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.listening import Listener


def main(options: argparse.Namespace) -> int:
    with starting():
        return run_until_stopped(_run(options), with_parent=options.with_parent)


async def _run(options: argparse.Namespace) -> int:
    log_to_stderr()
    warn_of_clashes(_say)
    path = Path(options.file)
    place = find_place(options, load_agent(path))
    check_room(place.data)
    (definition,) = with_names([read_definition(path, domain=place.domain)], options)
    check_extras([definition])
    if place.may_register:
        place.accounts.get_or_make(definition.jid)
    async with AsyncExitStack() as stack:
        listeners = stack.enter_context(_listening(definition, options))
        embedders = Embedders(place.data, may_download=not options.no_download, say=_say)
        host = Host(
            place=place,
            embedders=await stack.enter_async_context(embedders),
            say=_say,
            listeners=listeners,
        )
        async with running_agent(definition, host) as agent:
            for line in web_lines([definition], host):
                _say(line)
            _say(f"ready       {definition.jid} ({definition.settings.kind}), Ctrl-C stops it")
            settle()
            raise SpadeLLMError(await _lost(agent))


def _listening(
    definition: Definition, options: argparse.Namespace
) -> AbstractContextManager[dict[str, Listener]]:
    """The socket of a gateway, if it is one: our own, or that of the `up` which started us."""
    if options.listen_fd is None:
        return all_listening([definition], options.http, _say)
    return nullcontext(handed_down(definition, options.http, options.listen_fd))


async def _lost(agent: XmppAgent) -> str:
    """Why it cannot go on, once that is so."""
    if agent.link is None:
        return f"{agent.jid} has no connection"
    return f"{agent.jid} lost its connection for good: {await agent.link.gone}"


def _say(line: str) -> None:
    print(line, flush=True)
