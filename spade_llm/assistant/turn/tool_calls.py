"""Tool call execution: arguments, approval by a person, time limit, truncated results."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.approval import (
    ApprovalQuestion,
    ApprovalVerdict,
    Approver,
    shown_arguments,
)
from spade_llm.assistant.turn.prompt import prompt_template
from spade_llm.assistant.turn.turn_options import CHOICES_WITHOUT_NAME, NONE, REQUIRED, ToolOptions
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.core import tracing
from spade_llm.core.errors import InvalidArguments, RequestError, ServiceError
from spade_llm.messaging.message import stable_id
from spade_llm.tools.toolbox import CallContext, Toolbox, ToolResult

if TYPE_CHECKING:
    from spade_llm.providers.model import ToolCall, ToolSpec

logger = logging.getLogger(__name__)


class PausableTimeout:
    """Timeout that stands still while a person is waited for. Several may be waited for at once: it
    goes on when the last of them is done."""

    def __init__(self, scope: asyncio.Timeout) -> None:
        self._scope = scope
        self._waiting = 0
        self._left_s = 0.0

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        self._waiting += 1
        if self._waiting == 1:
            now = asyncio.get_running_loop().time()
            self._left_s = (self._scope.when() or now) - now
            self._scope.reschedule(None)
        try:
            yield
        finally:
            self._waiting -= 1
            # An expired timeout cannot be rescheduled: RuntimeError.
            if not self._waiting and not self._scope.expired():
                self._scope.reschedule(asyncio.get_running_loop().time() + self._left_s)


MAX_RESULT_CHARS = 60_000
"""Maximum length of a tool result for the model, in characters; truncation is marked."""
MAX_QUOTED_CHARS = 200
"""Characters of wrong arguments: the model reads what it wrote."""
MAX_APPROVAL_WAIT_S = 600.0
"""Maximum wait for all approvals of a turn together, in seconds: the person does not remember older
questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedToolCall:
    """Tool call as the model requested it, and its result."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it; it may be invalid."""
    round: int
    """Round of the turn, from 1."""
    result: str
    """Result as read by the model; if the call failed, the reason."""
    is_success: bool
    seconds: float = 0.0
    """Running; without waiting for a person."""


class ToolCallRunner:
    """Runner of all tool calls of one turn."""

    def __init__(
        self,
        toolbox: Toolbox,
        specs: Sequence[ToolSpec],
        *,
        approver: Approver,
        scope: asyncio.Timeout,
    ) -> None:
        """Create the runner. `scope` is the turn's time limit, suspended while a person or an agent
        is asked."""
        self._toolbox = toolbox
        self._names = frozenset(spec.name for spec in specs)
        self._sensitive = frozenset(spec.name for spec in specs if spec.needs_approval)
        self._asking = frozenset(spec.name for spec in specs if spec.asks_others)
        self._clock = PausableTimeout(scope)
        self._consent = _ApprovalGate(approver, self._clock)
        self._approver = approver
        self._calls_of: Counter[str] = Counter()
        """Number of calls so far, by tool and arguments."""
        self._running: list[tuple[ExecutedToolCall, asyncio.Task[ExecutedToolCall]]] = []
        """Calls of the latest round: the result to use if the call is stopped, and its task."""

    async def run(
        self, calls: Sequence[ToolCall], *, round: int, room: int
    ) -> Sequence[ExecutedToolCall]:
        """Run the calls concurrently, at most `room` of them; every call gets a result."""
        with turn_recorder.record_phase("tools"):
            stopped = prompt_template("call_stopped")
            self._running = [
                (failed_call(call, round, stopped), asyncio.create_task(self._run(call, round)))
                for call in calls[:room]
            ]
            ran = await asyncio.gather(*(task for _, task in self._running))
            left_out = prompt_template("calls_used_up")
            called = [*ran, *(failed_call(call, round, left_out) for call in calls[room:])]
        if of_turn := turn_recorder.current_recorder():
            of_turn.tools_called(called)
        return called

    def so_far(self, calls: Sequence[ToolCall], *, round: int) -> Sequence[ExecutedToolCall]:
        """Results of a stopped round, one for every call, including those that were not run."""
        # A call that was cut off may have taken effect, which its text says.
        ran = [
            stopped if task.cancelled() or not task.done() or task.exception() else task.result()
            for stopped, task in self._running
        ]
        left_out = prompt_template("calls_used_up")
        return [*ran, *(failed_call(call, round, left_out) for call in calls[len(ran) :])]

    async def _run(self, call: ToolCall, round: int) -> ExecutedToolCall:
        called = failed_call(call, round, "")
        try:
            arguments = _parse_arguments(call.arguments)
        except ValueError as error:
            return replace(called, result=f"{error} Call the tool again.")
        approved_by = ""
        if call.name in self._sensitive:
            verdict = await self._consent.to(call.name, arguments)
            if verdict is not ApprovalVerdict.YES:
                return replace(called, result=prompt_template(f"not_run_{verdict}"))
            approved_by = self._approver.jid
        return await self._call(called, arguments, approved_by)

    async def _call(
        self, called: ExecutedToolCall, arguments: Mapping[str, object], approved_by: str
    ) -> ExecutedToolCall:
        context = CallContext(
            on_behalf_of=self._approver.jid,
            approved_by=approved_by,
            turn=self._approver.turn_id,
            idempotency_key=self._key_of(called.name, arguments),
        )
        began = time.perf_counter()
        if of_turn := turn_recorder.current_recorder():
            # Before the call: a kill in its middle does not lose the count.
            await of_turn.spend(UsageTotals(tool_calls=1))
        with self._traced(called) as span:
            outcome = await self._outcome(called.name, arguments, context)
            if span.is_recorded:
                span.note({"spade_llm.is_error": outcome.is_error})
                span.quote({"gen_ai.tool.call.result": outcome.text})
        return replace(
            called,
            result=_truncated(outcome.text),
            is_success=not outcome.is_error,
            seconds=round(time.perf_counter() - began, 4),
        )

    def _key_of(self, name: str, arguments: Mapping[str, object]) -> str:
        """Key of the next call of this tool with these arguments; empty: the turn has none.

        A resumed turn asks the model again, which may decide otherwise. Its n-th call with equal
        arguments has the key that the n-th one had before, whatever is called around it.
        """
        if not self._approver.turn_key:
            return ""
        wish = _wish(name, arguments)
        self._calls_of[wish] += 1
        number = str(self._calls_of[wish])
        return stable_id(self._approver.turn_key, self._approver.jid, wish, number)

    @contextmanager
    def _traced(self, called: ExecutedToolCall) -> Iterator[tracing.Span]:
        """Span of a call."""
        # A name that the model made up is text of its own, and not noted.
        name = called.name if called.name in self._names else "unknown"
        with tracing.span(f"execute_tool {name}") as span:
            if span.is_recorded:
                span.note({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
                span.quote({"gen_ai.tool.call.arguments": called.arguments})
            yield span

    @asynccontextmanager
    async def _waiting(self, name: str) -> AsyncIterator[None]:
        """Release the turn's slot and suspend its time limit for a tool that asks others."""
        if name not in self._asking:
            yield
            return
        async with self._approver.release_slot():
            with self._clock.standing_still():
                yield

    async def _outcome(
        self, name: str, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        if name not in self._names:
            known = ", ".join(sorted(self._names))
            return ToolResult(text=f"There is no tool {name!r}; there are: {known}", is_error=True)
        try:
            async with self._waiting(name):
                return await self._toolbox.call(name, arguments, context=context)
        except (RequestError, ServiceError) as error:
            logger.info("tool %s: %s", name, error)
            text = f"The tool {name} could not be used: {error}"
            return ToolResult(text=text, is_error=True)


class _ApprovalGate:
    """Approval of single calls by the person, asked for one after another."""

    def __init__(self, approver: Approver, clock: PausableTimeout) -> None:
        self._approver = approver
        self._clock = clock
        self._left_s = MAX_APPROVAL_WAIT_S
        self._one_question = asyncio.Lock()
        self._declined: set[str] = set()
        self._asked = 0
        self._final: ApprovalVerdict | None = None if approver.ask else ApprovalVerdict.NOBODY
        """Verdict for all further calls of this turn; None: approval can still be asked for."""

    async def to(self, tool: str, arguments: Mapping[str, object]) -> ApprovalVerdict:
        """Get the approval of a call. Questions are asked one at a time; the time limit is
        suspended meanwhile, also for calls that wait in the queue."""
        async with self._one_question:
            wish = _wish(tool, arguments)
            if self._final is not None:
                return self._final
            if wish in self._declined:
                return ApprovalVerdict.NO
            verdict = await self._ask(tool, arguments, wish)
            if verdict is ApprovalVerdict.NO:
                self._declined.add(wish)
            elif verdict is not ApprovalVerdict.YES:
                self._final = verdict
            elif self._left_s <= 0:
                self._final = ApprovalVerdict.EXPIRED
            return verdict

    async def _ask(self, tool: str, arguments: Mapping[str, object], wish: str) -> ApprovalVerdict:
        self._asked += 1
        question = ApprovalQuestion(
            # Asked again by the resumed turn it has the same id; every other call has another.
            id=_digest(self._approver.turn_id, wish, str(self._asked)),
            tool=tool,
            arguments=shown_arguments(arguments),
            expires_s=min(self._approver.expiry_s, self._left_s),
        )
        began = time.monotonic()
        with self._clock.standing_still():
            verdict = (
                await self._approver.ask(question) if self._approver.ask else ApprovalVerdict.NOBODY
            )
        self._left_s -= time.monotonic() - began
        logger.info("tool %s: approval asked of %s: %s", tool, self._approver.jid, verdict)
        return verdict


def _wish(tool: str, arguments: Mapping[str, object]) -> str:
    """Tool and arguments as text. In another order, the arguments are the same call."""
    return json.dumps([tool, arguments], sort_keys=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]


def _parse_arguments(text: str) -> dict[str, object]:
    """Raises ValueError with a sentence for the model."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"The arguments are not valid JSON ({error}): {text[:MAX_QUOTED_CHARS]!r}."
        ) from None
    if not isinstance(arguments, dict):
        raise ValueError(f"The arguments must be a JSON object, not {text[:MAX_QUOTED_CHARS]!r}.")
    return arguments


def failed_call(call: ToolCall, round: int, why: str) -> ExecutedToolCall:
    """Result of a call that was not made."""
    return ExecutedToolCall(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        round=round,
        result=why,
        is_success=False,
    )


def _truncated(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[{len(text) - MAX_RESULT_CHARS} characters were cut]"


def offered_tools(specs: Sequence[ToolSpec], wishes: ToolOptions) -> tuple[ToolSpec, ...]:
    """Select the tools offered to the model.

    Raises:
        InvalidArguments: a requested tool does not exist, or a tool is required and there is none.
    """
    names = {spec.name for spec in specs}
    _check_known("tools", wishes.tools or (), names)
    if wishes.tool_choice == NONE:
        return ()
    chosen = tuple(s for s in specs if wishes.tools is None or s.name in wishes.tools)
    if wishes.tool_choice == REQUIRED and not chosen:
        raise InvalidArguments("tool_choice: required, but there is no tool: use auto")
    named = {wishes.tool_choice} - CHOICES_WITHOUT_NAME
    _check_known("tool_choice", named, {spec.name for spec in chosen})
    return chosen


def _check_known(field: str, wanted: Sequence[str] | set[str], names: set[str]) -> None:
    if missing := sorted(set(wanted) - names):
        known = ", ".join(sorted(names)) or "none"
        raise InvalidArguments(f"{field}: there is no tool {missing[0]!r} now; there are: {known}")
