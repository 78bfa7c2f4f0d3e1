"""ToolAgent: tools for every agent that asks and may call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.services import status
from spade_llm.services.tools import ToolService
from spade_llm.tools import LocalToolbox, builtin_tools
from spade_llm.tools.group import ToolGroup, ToolRules
from spade_llm.tools.shared import SharedTools
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from spade_llm.tools import Tool


class ToolAgent(XmppAgent):
    """`tools=None`: get_current_datetime and calculator. `groups`: further toolboxes, for instance
    of MCP servers. `rules=None`: agents and people of our own domain may call everything."""

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        tools: Sequence[Tool] | None = None,
        groups: Sequence[ToolGroup] = (),
        rules: ToolRules | None = None,
        options: AgentOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        local = LocalToolbox(builtin_tools() if tools is None else tools)
        self._groups = (ToolGroup(name="local", toolbox=local), *groups)
        self._tools = SharedTools(self._groups, domain=self.jid.domain, rules=rules)
        ToolService(self._tools).attach(self.node.dispatcher)
        status.serve(self.node.dispatcher, kind="tools", summary=self._summary)

    async def open_resources(self, stack: AsyncExitStack) -> None:
        for group in self._groups:
            if group.resource is not None:
                await stack.enter_async_context(group.resource)

    async def _summary(self) -> str:
        return ", ".join(await self._tools.offers())
