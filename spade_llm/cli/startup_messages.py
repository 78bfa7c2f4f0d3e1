"""Messages of `up` and `run`: models, logins, web addresses, readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.factory.model_choice import choose_fallback, choose_learning_model, choose_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.cli.context import CliContext
    from spade_llm.cli.factory.agent_factory import AgentFactory
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

CONSOLE_PATH = "/console"


def say(line: str) -> None:
    print(line, flush=True)


async def announce_models(specs: Sequence[DeploymentSpec], factory: AgentFactory) -> None:
    """Print the models and embedders that the agents will use; weights are downloaded here, once
    for all."""
    for one in specs:
        if one.settings.kind == "assistant":
            choice = await choose_model(one)
            say(f"model       {one.jid}: {choice.description}")
        if fallback := await choose_fallback(one):
            say(f"fallback    {one.jid}: {fallback.description}")
        if one.settings.kind in {"memory", "rag"}:
            say(f"embeddings  {one.jid}: {await factory.embedders.describe(one)}")
        if learning := await choose_learning_model(one):
            say(f"learning    {one.jid}: {learning.description}")


def login_line(cli_context: CliContext, person: str) -> str:
    trust = f", CA {cli_context.ca}" if cli_context.ca else ""
    password = cli_context.accounts.get(person)
    server = f"host {cli_context.host}, port {cli_context.port}{trust}"
    return f"your login  {person}, password {password}, {server}"


def web_lines(specs: Sequence[DeploymentSpec], factory: AgentFactory) -> list[str]:
    """URLs of the gateways, for a browser."""
    found = [(one, factory.listeners.get(one.jid)) for one in specs]
    return [
        f"web         {listener.url}{CONSOLE_PATH if one.settings.http.console else ''}"
        for one, listener in found
        if listener
    ]


def ready_line(specs: Sequence[DeploymentSpec]) -> str:
    assistant = first_assistant(specs)
    write = f"write to {assistant.jid}; " if assistant else ""
    return f"ready       {write}Ctrl-C stops everything"


def first_assistant(specs: Sequence[DeploymentSpec]) -> DeploymentSpec | None:
    return next((one for one in specs if one.settings.kind == "assistant"), None)
