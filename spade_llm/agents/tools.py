"""Tool agent: serves function tools and tool groups to agents."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack

from spade_llm.assistant.delegation.expert_questions import (
    Expert,
    expert_questions_of,
    expert_tools,
)
from spade_llm.assistant.tool_discovery import ToolChangeBehaviour, bind_tools
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.messaging import agent_status
from spade_llm.messaging.outgoing_messages import OutgoingMessages
from spade_llm.providers.model import safe_name
from spade_llm.tools import LocalToolbox, Tool, builtin_tools
from spade_llm.tools.call_log import JsonLinesCallLog
from spade_llm.tools.local import check_tools
from spade_llm.tools.pages import ResultPages
from spade_llm.tools.remote import ToolService
from spade_llm.tools.shared import SharedTools, ToolOffer
from spade_llm.tools.toolbox import NO_TERMS, STARTING, Terms, ToolGroup, ToolRules
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

logger = logging.getLogger(__name__)

CALLS = "calls"
"""The folder of the log of calls, in the agent's data."""


class ToolAgent(XmppAgent):
    """Tool agent with an access policy.

    `tools=None`: get_current_datetime and calculator. `groups`: further toolboxes, for instance of
    MCP servers. `rules=None`: agents and people of our own domain may call everything. `experts`:
    people that callers may ask, by a tool `ask_NAME` for each.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        tools: Sequence[Tool] | None = None,
        groups: Sequence[ToolGroup] = (),
        rules: ToolRules | None = None,
        experts: Sequence[Expert] = (),
        options: AgentOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        if self.replicas is not None and experts:
            raise ConfigurationError(
                f"{self.jid}: replicas cannot ask human experts: the answer may reach another one"
            )
        self._rules = rules = rules or ToolRules()
        self.letters = OutgoingMessages(self.node)
        self.experts = expert_questions_of(self, self.letters)
        tools = builtin_tools() if tools is None else check_tools(tools)
        bind_tools(self, tools)
        tools = (*tools, *expert_tools(experts, self.experts))
        # An MCP server may be away now and bring the tool later: then a misspelt rule is only
        # logged.
        if not groups:
            _check_names(tools, rules)
        data = self.options.data
        self._calls = JsonLinesCallLog(data / CALLS) if data else None
        self._groups = (_local(tools, rules), *groups)
        self._tools = SharedTools(
            self._groups,
            domain=self.jid.domain,
            rules=rules,
            log=self._calls,
            # Its own name for each agent: an assistant may use several.
            pages=ResultPages(name=f"{safe_name(self.jid.local, max_chars=50)}_read_more"),
        )
        self._digested: tuple[dict[str, ToolOffer], str] = ({}, "")
        ToolService(self._tools).attach(self.node.dispatcher)
        self.announce(kind="tools")
        self.add_behaviour(ToolChangeBehaviour(self, self._digest))
        agent_status.serve_status(
            self.node.dispatcher,
            kind="tools",
            summary=self._summary,
            notes=self._notes,
            facts=lambda: {STARTING: ", ".join(self._starting())},
            replicas=self.replicas,
        )

    async def open_resources(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.experts)
        if self._calls is not None:
            await stack.enter_async_context(self._calls)
        for group in self._groups:
            if group.resource is not None:
                await stack.enter_async_context(group.resource)
        # A rule for a tool that is misspelt guards nothing; an MCP server's may come later.
        for name in self._rules.terms_of.keys() - await self._tools.offers():
            logger.warning("[tools.%s]: unknown tool; its rules have no effect now", name)

    async def _digest(self) -> str:
        """Digest of all tools, their timeouts and allowed callers; recomputed when they change."""
        offers = await self._tools.offers()
        if self._digested[1] and offers == self._digested[0]:
            return self._digested[1]
        # Sorted: the order of a listing is no change.
        lines = sorted(
            repr((name, offer.spec, sorted(offer.terms.allowed or ()), offer.timeout_s))
            for name, offer in offers.items()
        )
        digest = hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:16]
        self._digested = (offers, digest)
        return digest

    async def _summary(self) -> str:
        """Tool counts by group, without names: some callers may not see every tool."""
        counts = Counter(offer.group.name for offer in (await self._tools.offers()).values())
        here = ", ".join(f"{count} {name}" for name, count in counts.items())
        unavailable = [note for note in self._notes() if ": unavailable" in note]
        starting = [f"{name}: {STARTING}" for name in self._starting()]
        tools = f"{pluralize(counts.total(), 'tool')}: {here}"
        return "; ".join([tools, *starting, *unavailable])

    def _starting(self) -> list[str]:
        groups = self._groups
        return [one.name for one in groups if one.state is not None and one.state() == STARTING]

    def _notes(self) -> list[str]:
        return [f"{one.name}: {one.state()}" for one in self._groups if one.state is not None]


def _check_names(tools: Sequence[Tool], rules: ToolRules) -> None:
    known = [tool.spec.name for tool in tools]
    for name in rules.terms_of:
        if name not in known:
            raise ConfigurationError(
                f"[tools.{name}]: unknown tool; available tools: {', '.join(known)}"
            )


def _local(tools: Sequence[Tool], rules: ToolRules) -> ToolGroup:
    own = {
        tool.spec.name: Terms(
            timeout_s=tool.timeout_s,
            max_concurrent=tool.max_concurrent,
            max_result_chars=tool.max_result_chars,
        )
        for tool in tools
    }
    terms_of = {name: rules.terms(name, NO_TERMS, own=terms) for name, terms in own.items()}
    # Results stay whole here: SharedTools hands them out in pages.
    toolbox = LocalToolbox(tools, terms_of=terms_of, max_result_chars=None)
    return ToolGroup(name="local", toolbox=toolbox, terms_of=own, enforces_limits=True)
