"""Shared toolbox: access control, approval, concurrency limits and call log per caller.

Every call is logged before it is made, and its outcome afterwards.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    ApprovalRequired,
    Refusal,
    SpadeLLMError,
    Unauthorised,
    UnknownTool,
)
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.tools.call_log import CallEnded, CallLog, CallStarted, LoggerCallLog, new_call_record
from spade_llm.tools.pages import ResultPages
from spade_llm.tools.toolbox import (
    NO_CONTEXT,
    NO_TERMS,
    CallContext,
    Terms,
    Toolbox,
    ToolGroup,
    ToolResult,
    ToolRules,
    error_result,
)

if TYPE_CHECKING:
    from spade_llm.providers.model import ToolSpec

_log = logging.getLogger(__name__)

TIMEOUT_S = 30.0
LIST_TIMEOUT_S = 2.0
"""Time limit for a group to list its tools, which it does from memory."""
MAX_RESULT_CHARS = 30_000
"""A page of the size that fits into a message, and into most models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """Tool as it is offered: its group and its terms."""

    spec: ToolSpec
    listed: ToolSpec
    """Specification as listed by its toolbox."""
    group: ToolGroup
    terms: Terms

    @property
    def timeout_s(self) -> float:
        return self.terms.timeout_s or TIMEOUT_S

    @property
    def page_chars(self) -> int:
        return self.terms.max_result_chars or MAX_RESULT_CHARS


@dataclass(slots=True)
class _CallOutcome:
    """Outcome of a call, until it is written to the call log."""

    outcome: str = "failed"
    result_chars: int = 0

    def done(self, result: ToolResult) -> ToolResult:
        self.outcome = "error" if result.is_error else "done"
        self.result_chars = len(result.text)
        return result


class SharedTools:
    """Toolbox backend shared by many callers. If two groups have a tool of the same name, the first
    group's is offered."""

    def __init__(
        self,
        groups: Sequence[ToolGroup],
        *,
        domain: str,
        rules: ToolRules | None = None,
        log: CallLog | None = None,
        pages: ResultPages | None = None,
    ) -> None:
        """`domain`: XMPP domain of the callers that are allowed where no terms name any."""
        self._groups = tuple(groups)
        self._rules = rules or ToolRules()
        self._default_terms = Terms(allowed=frozenset({domain}))
        self._log = log or LoggerCallLog()
        self._pages = pages or ResultPages()
        self._offers: dict[str, ToolOffer] = {}
        self._limiters_by_tool: dict[str, ConcurrencyLimiter] = {}
        self._limiters_by_caller: dict[str, ConcurrencyLimiter] = {}

    def for_caller(self, caller: str) -> Toolbox:
        return _ToolsOfCaller(self, caller)

    async def time_limits(self) -> dict[str, float]:
        limits = {name: offer.timeout_s for name, offer in (await self.offers()).items()}
        return {name: limit for name, limit in limits.items() if limit != TIMEOUT_S}

    async def offers(self) -> dict[str, ToolOffer]:
        """Return every tool by name, regardless of the caller."""
        listed: dict[str, tuple[ToolSpec, ToolGroup]] = {}
        for group in self._groups:
            for spec in await _listed(group):
                listed.setdefault(spec.name, (spec, group))
        self._offers = {name: self._offer(*one) for name, one in listed.items()}
        return self._offers

    def _offer(self, spec: ToolSpec, group: ToolGroup) -> ToolOffer:
        # Reused while the spec is the same object: an agent may have hundreds of tools.
        known = self._offers.get(spec.name)
        if known is not None and known.listed is spec and known.group is group:
            return known
        # None, not False: a tool that asks for no approval must not override wider terms.
        name, asks = spec.name, Terms(needs_approval=spec.needs_approval or None)
        own = group.terms_of.get(name, NO_TERMS).within(asks)
        terms = self._rules.terms(name, group.terms, own=own).within(self._default_terms)
        offered = replace(spec, needs_approval=bool(terms.needs_approval))
        return ToolOffer(spec=offered, listed=spec, group=group, terms=terms)

    async def list(self, caller: str) -> Sequence[ToolSpec]:
        specs = _specs(await self.offers(), caller)
        return (*specs, self._pages.spec) if specs else ()

    async def call(
        self, caller: str, name: str, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        begun, person = new_call_record(caller, name, arguments, context), context.on_behalf_of
        with self._logged(begun) as entry:
            if name == self._pages.spec.name:
                return entry.done(self._pages.call(caller, arguments, person=person))
            offers = await self.offers()
            if name not in offers:
                # Only the caller's tools: a refusal must not reveal others.
                known = ", ".join(spec.name for spec in _specs(offers, caller)) or "none for you"
                reason = self._absence_reason(caller, name)
                raise UnknownTool(f"there is no tool {name!r}{reason}; there are: {known}")
            offer = offers[name]
            if not offer.terms.allow(caller):
                raise Unauthorised(
                    f"{caller} may not call {name!r}; the tool agent's operator can allow it"
                )
            if offer.spec.needs_approval and not context.approved_by:
                raise ApprovalRequired(f"each call of {name!r} must first be approved by a person")
            # Each caller leaves room for the others.
            async with _slot(self._limiters_by_caller, caller, self._rules.max_per_caller):
                result = await self._call_with_limits(offer, arguments, context)
            first = self._pages.first(caller, result, page_chars=offer.page_chars, person=person)
            return entry.done(first)

    def _absence_reason(self, caller: str, name: str) -> str:
        """Explain a missing tool: the state of the groups that its name prefix matches."""
        said = [
            f" ({group.name} is {group.state()})"
            for group in self._groups
            if group.state is not None
            and name.startswith(f"{group.name}_")
            and self._rules.terms(name, group.terms).within(self._default_terms).allow(caller)
        ]
        return "".join(said)

    @contextmanager
    def _logged(self, call: CallStarted) -> Iterator[_CallOutcome]:
        entry, began = _CallOutcome(), time.perf_counter()
        # Outside of the `try`: a call that cannot be logged is not made.
        self._log.begun(call)
        try:
            yield entry
        except Refusal as refusal:
            entry.outcome = f"refused: {refusal.code}"
            raise
        except asyncio.CancelledError:
            entry.outcome = "cancelled"
            raise
        finally:
            duration_ms = round((time.perf_counter() - began) * 1000, 2)
            ended = CallEnded(
                id=call.id,
                outcome=entry.outcome,
                duration_ms=duration_ms,
                result_chars=entry.result_chars,
            )
            self._log.ended(ended)

    async def _call_with_limits(
        self, offer: ToolOffer, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        """Call the tool under its time and concurrency limits, unless its toolbox enforces them."""
        name, toolbox = offer.spec.name, offer.group.toolbox
        if offer.group.enforces_limits:
            return await toolbox.call(name, arguments, context=context)
        limit = asyncio.timeout(offer.timeout_s)
        slot = _slot(self._limiters_by_tool, name, offer.terms.max_concurrent)
        try:
            # The wait for a slot counts towards the time limit.
            async with limit, slot:
                return await toolbox.call(name, arguments, context=context)
        except TimeoutError:
            # The tool itself raised a TimeoutError; our limit was not reached.
            if not limit.expired():
                raise
            return error_result(f"{name!r} did not finish within {offer.timeout_s:g} s.")


class _ToolsOfCaller:
    def __init__(self, tools: SharedTools, caller: str) -> None:
        self._tools = tools
        self._caller = caller

    async def list(self) -> Sequence[ToolSpec]:
        return await self._tools.list(self._caller)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        return await self._tools.call(self._caller, name, arguments, context)


@asynccontextmanager
async def _slot(
    limiters: dict[str, ConcurrencyLimiter], name: str, count: int | None
) -> AsyncIterator[None]:
    """Acquire a concurrency slot of this caller or tool. `count=None`: there is no limit."""
    if count is None:
        yield
        return
    limiter = limiters.setdefault(name, ConcurrencyLimiter(count, name=repr(name)))
    try:
        async with limiter.slot():
            yield
    finally:
        # Otherwise every JID that ever called would keep an entry.
        if limiter.is_idle:
            limiters.pop(name, None)


async def _listed(group: ToolGroup) -> Sequence[ToolSpec]:
    """List the tools of a group; none if that fails, so that the other groups go on."""
    try:
        async with asyncio.timeout(LIST_TIMEOUT_S):
            return await group.toolbox.list()
    except (SpadeLLMError, TimeoutError) as error:
        reason = str(error) or f"no answer within {LIST_TIMEOUT_S:g} s"
        _log.warning("the tools of %s are not offered: %s", group.name, reason)
        return ()


def _specs(offers: Mapping[str, ToolOffer], caller: str) -> tuple[ToolSpec, ...]:
    return tuple(offer.spec for offer in offers.values() if offer.terms.allow(caller))
