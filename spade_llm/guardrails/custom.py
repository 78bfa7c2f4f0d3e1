"""CustomFunctionGuardrail: a function of somebody's own decides. Knows only how to run it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.guardrails.guardrail import GuardrailResult
from spade_llm.guardrails.sides import InputGuardrail
from spade_llm.tools.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_THREADS = 8
"""Of one guardrail. A function that never returns keeps its own; when all are kept, everything is
blocked."""

CheckFunction = Callable[[str, dict[str, object]], GuardrailResult | Awaitable[GuardrailResult]]


class CustomFunctionGuardrail(InputGuardrail):
    """A coroutine function runs on the event loop, any other in a thread."""

    def __init__(
        self,
        name: str,
        check_function: CheckFunction,
        enabled: bool = True,
        blocked_message: str | None = None,
    ) -> None:
        super().__init__(name, enabled, blocked_message)
        self.check_function = check_function
        self._places = ConcurrencyLimiter(MAX_THREADS, of=f"guardrail {name!r}")

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if inspect.iscoroutinefunction(self.check_function):
            return await _awaited(self.check_function(content, dict(context)))
        await self._places.acquire()
        given = await run_in_thread(
            lambda: self.check_function(content, dict(context)), at_end=self._places.release
        )
        return await _awaited(given)


async def _awaited(given: GuardrailResult | Awaitable[GuardrailResult]) -> GuardrailResult:
    return await given if inspect.isawaitable(given) else given
