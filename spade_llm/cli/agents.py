"""`spade-llm agents`: lists agents, their status and tools (service discovery).

It asks the agents of the deployment and, with --roster, contacts that announce themselves as
agents; it never writes to a person. Agents that do not respond are listed, too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.cli.context import find_context, login, person_jid
from spade_llm.cli.factory.deployment_spec import agents_folder, read_deployment
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import sanitize_line, show
from spade_llm.core.errors import RequestError
from spade_llm.core.text import pluralize

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent
    from spade_llm.messaging.agent_status import AgentStatus
    from spade_llm.providers.model import ToolSpec

TIMEOUT_S = 5.0
PRESENCE_WAIT_S = 1.0
"""Time in seconds to wait for the presences of a roster, which arrive at once."""
MAX_QUERIED_AGENTS = 200
"""Maximum number of agents asked; the others are left out."""
MAX_LINE_CHARS = 100
"""Maximum length of text from other agents, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundReplica:
    name: str
    conversations: int
    """Of an assistant; of another agent, requests in the last minute."""
    share: float
    """Share (0…1) of the agent's conversations or requests."""
    takeovers: int
    is_leaving: bool

    def line(self, kind: str) -> str:
        noun = "conversation" if kind == "assistant" else "request"
        held = pluralize(self.conversations, noun) + " a minute" * (kind != "assistant")
        load = f"{self.name}: {held} ({self.share:.0%}), {pluralize(self.takeovers, 'takeover')}"
        return f"{load}, leaving" if self.is_leaving else load


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgent:
    jid: str
    kind: str
    summary: str
    features: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    replicas: tuple[FoundReplica, ...] = ()
    """None: it is one process."""


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_list_agents(options))


async def _list_agents(options: argparse.Namespace) -> int:
    cli_context = find_context(options)
    domain = cli_context.jid("x").partition("@")[2]
    async with login(person_jid(options, cli_context), cli_context) as client:
        jids = {one.jid for one in read_deployment(agents_folder(options), domain=domain)}
        if options.roster:
            jids |= await client.find_online_agents(PRESENCE_WAIT_S)
        wanted = sorted(jids)[:MAX_QUERIED_AGENTS]
        found = await asyncio.gather(*(_ask_agent(client, jid) for jid in wanted))
    for one in found:
        show(options, one, _lines(one))
    return 0 if any(one.features for one in found) else 1


async def _ask_agent(client: ChatAgent, jid: str) -> FoundAgent:
    try:
        status, address = await client.locate(jid, timeout_s=TIMEOUT_S)
    except RequestError as error:
        return FoundAgent(jid=jid, kind="-", summary=f"does not answer ({error.code})")
    return FoundAgent(
        jid=jid,
        kind=status.kind,
        summary=status.summary,
        features=await _features(client, address, status.ontologies),
        tools=await _tools(client, jid, status.ontologies),
        replicas=_replicas(status),
    )


def _replicas(status: AgentStatus) -> tuple[FoundReplica, ...]:
    return tuple(
        FoundReplica(
            name=one.name,
            conversations=one.conversations,
            share=round(status.share_of(one), 3),
            takeovers=one.takeovers,
            is_leaving=one.is_leaving,
        )
        for one in status.replicas
    )


async def _features(
    client: ChatAgent, address: str, ontologies: tuple[str, ...]
) -> tuple[str, ...]:
    """Features from service discovery (XEP-0030), else from the agent's status."""
    from spade_llm.xmpp.stanzas.announcement import feature_of

    own = tuple(map(feature_of, ontologies))
    try:
        info = await client.discover(address, timeout_s=TIMEOUT_S)
    except RequestError:
        return own  # Some servers do not relay service discovery.
    return tuple(one for one in sorted(info.features) if one.startswith("urn:spade-llm:")) or own


async def _tools(client: ChatAgent, jid: str, ontologies: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    from spade_llm.tools.remote import ONTOLOGY, ToolsClient

    if ONTOLOGY not in ontologies:
        return ()
    try:
        return tuple(await ToolsClient(client.node.requester, jid, timeout_s=TIMEOUT_S).list())
    except RequestError:
        return ()


def _lines(found: FoundAgent) -> list[str]:
    lines = [f"{found.jid:32} {_shortened(found.kind):10} {_shortened(found.summary)}"]
    lines += [f"    replica   {_shortened(one.line(found.kind))}" for one in found.replicas]
    if found.features:
        lines.append(f"    features  {' '.join(map(_shortened, found.features))}")
    for spec in found.tools:
        asks = " (asks first)" if spec.needs_approval else ""
        lines.append(f"    tool      {_shortened(spec.name)}{asks}: {_shortened(spec.description)}")
    return lines


def _shortened(text: str) -> str:
    line = sanitize_line(" ".join(text.split()))
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
