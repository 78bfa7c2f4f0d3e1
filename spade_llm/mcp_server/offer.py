"""What one server offers: its own tools by name, and the tool agent's behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import UnknownTool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spade_llm.mcp_server.offered import Called, OfferedTool, Report
    from spade_llm.mcp_server.passed_tools import PassedTools


class Offer:
    """A tool of ours hides one of the tool agent's that has the same name."""

    def __init__(self, tools: Iterable[OfferedTool], passed: PassedTools | None = None) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._passed = passed

    async def list(self) -> list[OfferedTool]:
        passed = await self._passed.list() if self._passed else []
        return [*self._tools.values(), *(t for t in passed if t.spec.name not in self._tools)]

    async def call(self, name: str, arguments: Mapping[str, object], report: Report) -> Called:
        """Raises UnknownTool."""
        if tool := self._tools.get(name):
            return await tool.run(arguments, report)
        if self._passed is None:
            raise UnknownTool(name)
        return await self._passed.call(name, arguments)
