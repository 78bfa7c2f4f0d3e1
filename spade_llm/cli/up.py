"""`spade-llm up`: a server, every agent, and a person's login, until somebody stops it.

lock the data → server and accounts → agents → each has answered → `ready` → chat or serve.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spade_llm.cli import place
from spade_llm.cli.chat import converse, is_terminal
from spade_llm.cli.definition import read_deployment, standard_deployment
from spade_llm.cli.distributions import check_extras, warn_of_clashes
from spade_llm.cli.embeddings import Embedders
from spade_llm.cli.group import local_group
from spade_llm.cli.hosting import Host
from spade_llm.cli.listening import OFF, all_listening, with_names
from spade_llm.cli.logs import log_to_file
from spade_llm.cli.model_record import read_model_record
from spade_llm.cli.person import PERSON, logged_in
from spade_llm.cli.plain import one_line
from spade_llm.cli.processes import process_group
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.cli.up_lines import (
    announce,
    first_assistant,
    login_line,
    ready_line,
    say,
    web_lines,
)
from spade_llm.cli.up_server import domain_of, server_of
from spade_llm.deployment import lock
from spade_llm.deployment.run_record import RunRecord, remove_record
from spade_llm.errors import ConfigurationError, RequestError, SpadeLLMError
from spade_llm.runtime.collecting import settle, starting

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.group import Group
    from spade_llm.cli.place import Place

T = TypeVar("T")

READY_TIMEOUT_S = 90.0
STATUS_TIMEOUT_S = 3.0
STATUS_PAUSE_S = 0.1
MODELS_EVERY_S = 2.0
HEARD_S = 5.0
"""Then an agent is asked whose sign of life was not seen."""


def main(options: argparse.Namespace) -> int:
    with starting():
        return run_until_stopped(_up(options))


async def _up(options: argparse.Namespace) -> int:
    data = place.data_directory(options)
    place.check_room(data)
    with lock.hold(data, what=f"`spade-llm up` on the data in {str(data)!r}"):
        log_to_file(data, "up")
        say(f"data        {data}")
        warn_of_clashes(say)
        try:
            return await _serve(options, data)
        finally:
            remove_record(data)


async def _serve(options: argparse.Namespace, data: Path) -> int:
    everybody = with_names(_definitions(options), options)
    is_off = options.http == OFF
    definitions = [one for one in everybody if not (is_off and one.settings.kind == "gateway")]
    check_extras(definitions)
    with all_listening(definitions, None if is_off else options.http, say) as listeners:
        async with (
            Embedders(data, may_download=not options.no_download, say=say) as embedders,
            server_of(options, data, everybody, say) as here,
        ):
            host = Host(place=here, embedders=embedders, say=say, listeners=listeners)
            await announce(definitions, host)
            _record(host, definitions)
            start = process_group if options.processes else local_group
            async with start(definitions, host) as group:
                return await _attend(options, host, definitions, group)


async def _attend(
    options: argparse.Namespace, host: Host, definitions: Sequence[Definition], group: Group
) -> int:
    """From here on the agents run: see that they answer, then chat or wait."""
    here = host.place
    person = here.jid(PERSON)
    async with logged_in(person, here) as client:
        await _unless_failed(_all_answer(client, definitions, group), group)
        group.settle()
        say(login_line(here, person))
        for line in web_lines(definitions, host):
            say(line)
        say(ready_line(definitions))
        settle()
        async with _told_of_models(definitions, here):
            if is_terminal() and not options.no_chat:
                return await _unless_failed(_chat(client, definitions, here), group)
            raise SpadeLLMError(await group.wait_failed())


@asynccontextmanager
async def _told_of_models(definitions: Sequence[Definition], here: Place) -> AsyncIterator[None]:
    telling = asyncio.create_task(_tell_of_models(definitions, here))
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait((telling,))


async def _tell_of_models(definitions: Sequence[Definition], here: Place) -> None:
    """A line when an assistant's model fails, in whichever process, and when it answers again."""
    homes = {one.jid: here.data / "agents" / one.jid for one in definitions}
    told: dict[str, str] = {}
    while True:
        for jid, home in homes.items():
            if (record := read_model_record(home)) is None:
                continue
            text = record.fault.text if record.fault else ""
            if text != told.get(jid, ""):
                say(f"model       {jid}: {one_line(text) or 'answers again'}")
                told[jid] = text
        await asyncio.sleep(MODELS_EVERY_S)


async def _all_answer(client: ChatAgent, definitions: Sequence[Definition], group: Group) -> None:
    """Raises ConfigurationError if one agent does not answer in time."""
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            await asyncio.gather(*(_answers(client, one.jid, group) for one in definitions))
    except TimeoutError:
        raise ConfigurationError(
            f"not every agent answered within {READY_TIMEOUT_S:.0f} s: see the files in log/"
        ) from None


async def _answers(client: ChatAgent, jid: str, group: Group) -> None:
    """Asked before it is there, it would be asked again seconds later only."""
    while True:
        await group.wait_heard(jid, within_s=HEARD_S)
        try:
            status = await client.status(jid, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            await asyncio.sleep(STATUS_PAUSE_S)
        else:
            say(f"agent       {jid}: {status.summary}")
            return


async def _unless_failed(work: Coroutine[object, object, T], group: Group) -> T:
    """The work's result. Raises SpadeLLMError if an agent ends for good meanwhile."""
    working = asyncio.create_task(work)
    failing = asyncio.create_task(group.wait_failed())
    try:
        await asyncio.wait([working, failing], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise SpadeLLMError(failing.result())
    finally:
        working.cancel()
        failing.cancel()
        await asyncio.wait([working, failing])


async def _chat(client: ChatAgent, definitions: Sequence[Definition], here: Place) -> int:
    assistant = first_assistant(definitions)
    if assistant is None:
        raise ConfigurationError("--agents: no assistant to chat with; serve with --no-chat")
    return await converse(client, assistant.jid, history=here.data)


def _definitions(options: argparse.Namespace) -> tuple[Definition, ...]:
    folder = Path(options.agents) if options.agents else standard_deployment()
    definitions = read_deployment(folder, domain=domain_of(options))
    for one in definitions:
        if one.settings.server.model_fields_set:
            raise ConfigurationError(
                f"{one.path}: server: `up` logs every agent in at its own server: remove the"
                " table, or start this agent with `spade-llm run`"
            )
    return definitions


def _record(host: Host, definitions: Sequence[Definition]) -> None:
    here = host.place
    RunRecord(
        pid=os.getpid(),
        host=here.host,
        port=here.port,
        domain=here.domain,
        ca=here.ca,
        server=here.server,
        agents=tuple(one.jid for one in definitions),
        person=here.jid(PERSON),
        web=tuple(listener.url for listener in host.listeners.values()),
    ).write(here.data)
