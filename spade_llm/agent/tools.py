"""ToolAgent: tools for every agent that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.services import status
from spade_llm.services.tools import ToolService
from spade_llm.tools import LocalToolbox, builtin_tools
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.tools import Tool


class ToolAgent(XmppAgent):
    """`tools=None`: get_current_datetime and calculator."""

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        tools: Sequence[Tool] | None = None,
        options: AgentOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        self._toolbox = LocalToolbox(builtin_tools() if tools is None else tools)
        ToolService(self._toolbox).attach(self.node.dispatcher)
        status.serve(self.node.dispatcher, kind="tools", summary=self._summary)

    async def _summary(self) -> str:
        return ", ".join(tool.name for tool in await self._toolbox.list())
