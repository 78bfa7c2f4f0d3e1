"""Toolboxes for many callers: each sees and calls what the terms allow. Knows no wire and no tool.

Satisfies ToolboxBackend.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.errors import ApprovalNeeded, Unauthorised, UnknownTool
from spade_llm.tools.group import ToolRules
from spade_llm.tools.terms import Terms
from spade_llm.tools.toolbox import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.tools.group import ToolGroup
    from spade_llm.tools.toolbox import CallContext, Toolbox, ToolResult, ToolSpec

TIMEOUT_S = 30.0
MAX_RESULT_CHARS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool as it is offered: whose it is and on which terms."""

    spec: ToolSpec
    group: ToolGroup
    terms: Terms


class SharedTools:
    """Of two tools with one name the first group's is offered."""

    def __init__(
        self, groups: Sequence[ToolGroup], *, domain: str, rules: ToolRules | None = None
    ) -> None:
        """`domain`: whose callers may call what no terms speak of."""
        self._groups = tuple(groups)
        self._rules = rules or ToolRules()
        self._widest = Terms(
            allowed=frozenset({domain}), timeout_s=TIMEOUT_S, max_result_chars=MAX_RESULT_CHARS
        )

    def for_caller(self, caller: str) -> Toolbox:
        return _ToolsOfCaller(self, caller)

    async def time_limits(self) -> dict[str, float]:
        offers = await self.offers()
        limits = {name: offer.terms.timeout_s or TIMEOUT_S for name, offer in offers.items()}
        return {name: limit for name, limit in limits.items() if limit != TIMEOUT_S}

    async def offers(self) -> dict[str, Offer]:
        """Every tool by name, whoever may call it."""
        found: dict[str, Offer] = {}
        for group in self._groups:
            for spec in await group.toolbox.list():
                found.setdefault(spec.name, self._offer(spec, group))
        return found

    def _offer(self, spec: ToolSpec, group: ToolGroup) -> Offer:
        single = self._rules.terms_of.get(spec.name, Terms())
        own = Terms(needs_approval=spec.needs_approval or None)
        terms = single
        for wider in (
            group.terms_of.get(spec.name, Terms()),
            own,
            group.terms,
            self._rules.defaults,
            self._widest,
        ):
            terms = terms.within(wider)
        needs_approval = bool(terms.needs_approval)
        return Offer(spec=replace(spec, needs_approval=needs_approval), group=group, terms=terms)

    async def call(
        self, caller: str, name: str, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        offer = _allowed(await self.offers(), caller, name)
        if offer.spec.needs_approval and not context.approved_by:
            raise ApprovalNeeded(f"a person must say yes to each call of {name!r} first")
        return await offer.group.toolbox.call(name, arguments, context=context)


class _ToolsOfCaller:
    """Satisfies Toolbox."""

    def __init__(self, tools: SharedTools, caller: str) -> None:
        self._tools = tools
        self._caller = caller

    async def list(self) -> Sequence[ToolSpec]:
        return _specs(await self._tools.offers(), self._caller)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        return await self._tools.call(self._caller, name, arguments, context)


def _allowed(offers: Mapping[str, Offer], caller: str, name: str) -> Offer:
    if name not in offers:
        known = ", ".join(spec.name for spec in _specs(offers, caller))
        raise UnknownTool(f"there is no tool {name!r}; there are: {known or 'none for you'}")
    if not offers[name].terms.allow(caller):
        raise Unauthorised(
            f"{caller} may not call {name!r}: the tool agent's operator may allow it"
        )
    return offers[name]


def _specs(offers: Mapping[str, Offer], caller: str) -> tuple[ToolSpec, ...]:
    return tuple(offer.spec for offer in offers.values() if offer.terms.allow(caller))
