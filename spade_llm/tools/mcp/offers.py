"""Which of a server's tools are offered, under which names, and why others are not."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.tools.mcp.names import offered_names
from spade_llm.tools.mcp.pins import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.mcp.definition import Definition
    from spade_llm.tools.mcp.pins import Pins
    from spade_llm.tools.mcp.server import McpServer

_log = logging.getLogger(__name__)

MAX_REASONS = 20
"""Logged at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """By the name here."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The server's own name of each."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """By the name here: why."""

    @property
    def waiting(self) -> int:
        """How many wait for an operator."""
        return sum(reason in (Verdict.CHANGED, Verdict.NEW) for reason in self.withheld.values())


class Offering:
    """Judges listings of one server."""

    def __init__(self, server: McpServer, pins: Pins) -> None:
        self.latest = Offers()
        self._server = server
        self._pins = pins
        self._specs: dict[str, tuple[str, ToolSpec]] = {}
        """By the name here, with the definition that it was made of."""
        self._judged: tuple[Sequence[Definition] | None, bytes] | None = None
        self._said: set[tuple[str, str]] = set()

    def is_stale(self, listing: Sequence[Definition] | None) -> bool:
        """Whether this listing, or an operator's decision, was not looked at yet. Takes 20 µs."""
        return self._judged is None or self._judged != (listing, self._pins.version())

    def judge(self, listing: Sequence[Definition] | None) -> None:
        """Blocks for milliseconds: call it off the event loop, one call at a time. None: of what
        was accepted when the server was last here.

        Raises:
            StorageFailed
        """
        version = self._pins.version()
        if listing is None:
            self.latest = self._offers(self._pins.accepted(self._server.name), {})
        else:
            self.latest = self._judge(listing)
            self._say({**self.latest.withheld, **self._missing(listing)})
        self._judged = (listing, version)

    def _judge(self, listing: Sequence[Definition]) -> Offers:
        sound = [definition for definition in listing if not definition.flaw]
        verdicts = self._pins.judge(self._server.name, sound, pins_new=self._server.pins_new_tools)
        withheld = {one.name: one.flaw for one in listing if one.flaw}
        withheld |= {
            name: verdict for name, verdict in verdicts.items() if verdict is not Verdict.ACCEPTED
        }
        accepted = [one for one in sound if verdicts[one.name] is Verdict.ACCEPTED]
        return self._offers(accepted, withheld)

    def _offers(self, accepted: Sequence[Definition], withheld: Mapping[str, str]) -> Offers:
        wanted = {one.name: one for one in accepted if self._is_wanted(one.name)}
        reasons = {name: reason for name, reason in withheld.items() if self._is_wanted(name)}
        names = offered_names(self._server.name, (*wanted, *reasons))
        return Offers(
            specs={
                name: self._spec(name, wanted[tool])
                for name, tool in names.items()
                if tool in wanted
            },
            tools={name: tool for name, tool in names.items() if tool in wanted},
            withheld={name: reasons[tool] for name, tool in names.items() if tool in reasons},
        )

    def _is_wanted(self, tool: str) -> bool:
        return self._server.tools is None or tool in self._server.tools

    def _spec(self, name: str, definition: Definition) -> ToolSpec:
        known = self._specs.get(name)
        if known is None or known[0] != definition.text:
            spec = definition.spec(name, server=self._server.name)
            known = self._specs[name] = (definition.text, spec)
        return known[1]

    def _missing(self, listing: Sequence[Definition]) -> Mapping[str, str]:
        """What the operator names and the server has not."""
        wanted = self._server.tools or frozenset()
        return {name: "there is no such tool" for name in wanted - {one.name for one in listing}}

    def _say(self, withheld: Mapping[str, str]) -> None:
        """Once for each reason, until it is gone."""
        now = set(withheld.items())
        for name, reason in sorted(now - self._said)[:MAX_REASONS]:
            _log.warning("MCP server %s: %s is not offered: %s", self._server.name, name, reason)
        self._said = now
