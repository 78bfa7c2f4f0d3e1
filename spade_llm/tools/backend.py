"""The role of what serves tools to many callers. Knows no wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from spade_llm.tools.toolbox import Toolbox


class ToolboxBackend(Protocol):
    """Tools for every caller that asks, each seeing what it may call."""

    def for_caller(self, caller: str) -> Toolbox:
        """The tools of this bare JID, which the server has stamped. Any JID is allowed: it may
        have no tools. Cheap: called for each request."""
        ...

    async def time_limits(self) -> dict[str, float]:
        """Seconds that a call may take, of tools whose limit is not TIMEOUT_S."""
        ...
