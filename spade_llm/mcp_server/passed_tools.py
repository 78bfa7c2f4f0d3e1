"""The tool agent's own tools, passed on under their names. No MCP here.

A tool that a person must agree to first is not offered: over MCP nobody could tell whose yes it is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, ServiceError, UnknownTool
from spade_llm.mcp_server.offered import Called, OfferedTool, Report, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)


class PassedTools:
    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def list(self) -> list[OfferedTool]:
        """None while the tool agent is away."""
        try:
            specs = await self._toolbox.list()
        except RequestError as error:
            logger.warning("its tools are not offered now: %s", error)
            return []
        return [self._passed(spec) for spec in specs if not spec.needs_approval]

    async def call(self, name: str, arguments: Mapping[str, object]) -> Called:
        """Raises UnknownTool."""
        try:
            result = await self._toolbox.call(name, arguments)
        except UnknownTool:
            raise
        except (ServiceError, RequestError) as error:
            return refused(error)
        return Called(text=result.text, is_error=result.is_error)

    def _passed(self, spec: ToolSpec) -> OfferedTool:
        async def run(arguments: Mapping[str, object], _report: Report) -> Called:
            return await self.call(spec.name, arguments)

        return OfferedTool(spec=spec, effects=None, run=run)
