"""What `up` tells the person who started it: one plain line per thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.model_choice import choose_fallback, choose_learning_model, choose_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.cli.definition import Definition
    from spade_llm.cli.hosting import Host
    from spade_llm.cli.place import Place

CONSOLE = "/console"


def say(line: str) -> None:
    print(line, flush=True)


async def announce(definitions: Sequence[Definition], host: Host) -> None:
    """What the agents will use; weights are downloaded here, once for all of them."""
    for one in definitions:
        if one.settings.kind == "assistant":
            choice = await choose_model(one)
            say(f"model       {one.jid}: {choice.description}")
        if fallback := await choose_fallback(one):
            say(f"fallback    {one.jid}: {fallback.description}")
        if one.settings.kind in {"memory", "rag"}:
            say(f"embeddings  {one.jid}: {await host.embedders.describe(one)}")
        if learning := await choose_learning_model(one):
            say(f"learning    {one.jid}: {learning.description}")


def login_line(here: Place, person: str) -> str:
    """What any XMPP client needs to log in."""
    trust = f", CA {here.ca}" if here.ca else ""
    password = here.accounts.get(person)
    return f"your login  {person}, password {password}, host {here.host}, port {here.port}{trust}"


def web_lines(definitions: Sequence[Definition], host: Host) -> list[str]:
    """What a browser opens."""
    found = [(one, host.listeners.get(one.jid)) for one in definitions]
    return [
        f"web         {listener.url}{CONSOLE if one.settings.http.console else ''}"
        for one, listener in found
        if listener
    ]


def ready_line(definitions: Sequence[Definition]) -> str:
    assistant = first_assistant(definitions)
    write = f"write to {assistant.jid}; " if assistant else ""
    return f"ready       {write}Ctrl-C stops everything"


def first_assistant(definitions: Sequence[Definition]) -> Definition | None:
    return next((one for one in definitions if one.settings.kind == "assistant"), None)
