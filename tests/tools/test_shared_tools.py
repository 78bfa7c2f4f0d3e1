"""Tools for many callers: who sees and calls what, within which bounds; what is written down."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ApprovalRequired, Busy, StorageFailed, Unauthorised, UnknownTool
from spade_llm.tools import LocalToolbox, tool
from spade_llm.tools.shared import SharedTools
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, Terms, ToolGroup, ToolResult, ToolRules
from tests.tools.contract import PROMISES, SAMPLE_TOOLS, repeat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools import Tool, Toolbox
    from spade_llm.tools.call_log import CallEnded, CallStarted

HOME = "example.org"
ADA, STRANGER = f"ada@{HOME}", "eve@elsewhere.net"
WAIT_S = 5.0
ANY_CALLER = Terms(allowed=frozenset({"*"}))


@dataclass
class Notes:
    """A CallLog in RAM."""

    begins: list[CallStarted] = field(default_factory=list)
    ends: list[CallEnded] = field(default_factory=list)

    def begun(self, call: CallStarted) -> None:
        self.begins.append(call)

    def ended(self, call: CallEnded) -> None:
        self.ends.append(call)


@tool(needs_approval=True)
def erase(disk: str) -> str:
    """Erase a disk."""
    return f"{disk} is empty"


@tool
async def forever() -> None:
    """Never ends."""
    await asyncio.Event().wait()


def shared(
    *tools: Tool,
    rules: ToolRules | None = None,
    terms: Terms | None = None,
    log: Notes | None = None,
) -> SharedTools:
    of_tools = {one.spec.name: Terms(max_result_chars=one.max_result_chars) for one in tools}
    toolbox = LocalToolbox(tools, max_result_chars=None)
    group = ToolGroup(name="g", toolbox=toolbox, terms=terms or Terms(), terms_of=of_tools)
    return SharedTools([group], domain=HOME, rules=rules, log=log)


async def names(box: Toolbox) -> list[str]:
    return [spec.name for spec in await box.list()]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_a_callers_toolbox_keeps(promise: Callable[[Toolbox], Awaitable[None]]) -> None:
    await promise(shared(*SAMPLE_TOOLS).for_caller(ADA))


async def test_by_default_only_the_own_domain_may_call() -> None:
    tools = shared(repeat)

    assert await names(tools.for_caller(ADA)) == ["repeat", "read_more"]
    assert await names(tools.for_caller(STRANGER)) == []
    with pytest.raises(Unauthorised, match="eve@elsewhere.net may not call 'repeat'"):
        await tools.for_caller(STRANGER).call("repeat", {"text": "a"})


@pytest.mark.parametrize("caller", ["ada@sub.example.org", "example.org@evil.net", "x@example.or"])
async def test_only_the_very_domain_counts(caller: str) -> None:
    assert await names(shared(repeat).for_caller(caller)) == []


async def test_one_person_of_an_assistant_does_not_read_on_in_the_result_of_another() -> None:
    @tool(max_result_chars=500)
    def diary() -> str:
        return "dear diary " * 100

    box = shared(diary).for_caller(f"assistant@{HOME}")
    of_ada, of_bob = CallContext(on_behalf_of=ADA), CallContext(on_behalf_of=f"bob@{HOME}")
    first = await box.call("diary", {}, context=of_ada)
    assert (id := re.search(r'result "(\w+)"', first.text))

    page = {"result": id[1], "page": 2}
    assert (await box.call("read_more", page, context=of_bob)).is_error
    assert (await box.call("read_more", page)).is_error
    assert "diary" in (await box.call("read_more", page, context=of_ada)).text


async def test_the_narrowest_terms_decide() -> None:
    one = Terms(allowed=frozenset({STRANGER}))
    nobody = Terms(allowed=frozenset())
    tools = shared(
        *(repeat, erase, forever),
        rules=ToolRules(defaults=ANY_CALLER, terms_of={"repeat": one, "forever": nobody}),
    )

    assert await names(tools.for_caller(STRANGER)) == ["repeat", "erase", "read_more"]
    assert await names(tools.for_caller(ADA)) == ["erase", "read_more"]
    with pytest.raises(Unauthorised):
        await tools.for_caller(ADA).call("forever", {})


async def test_a_groups_terms_stand_between_a_tools_and_all() -> None:
    tools = shared(repeat, rules=ToolRules(defaults=Terms(allowed=frozenset())), terms=ANY_CALLER)

    assert await names(tools.for_caller(STRANGER)) == ["repeat", "read_more"]


async def test_an_unknown_tool_tells_a_caller_of_its_own_tools_only() -> None:
    tools = shared(repeat, erase, rules=ToolRules(terms_of={"repeat": ANY_CALLER}))

    with pytest.raises(UnknownTool) as refusal:
        await tools.for_caller(STRANGER).call("nothing", {})

    assert "repeat" in str(refusal.value)
    assert "erase" not in str(refusal.value)


async def test_a_tool_that_needs_approval_is_marked_and_waits_for_it() -> None:
    box = shared(erase, repeat).for_caller(ADA)

    assert [spec.needs_approval for spec in await box.list()] == [True, False, False]
    with pytest.raises(ApprovalRequired, match="'erase'"):
        await box.call("erase", {"disk": "a"}, context=CallContext(on_behalf_of=ADA))
    done = await box.call("erase", {"disk": "a"}, context=CallContext(approved_by=ADA))
    assert done.text == "a is empty"


@pytest.mark.parametrize(
    ("single", "group", "all_tools", "needs"),
    [
        (None, None, None, False),
        (None, None, True, True),
        (None, False, True, False),
        (None, True, False, True),
        (False, True, True, False),
        (True, False, False, True),
    ],
)
async def test_approval_is_asked_for_by_the_narrowest_terms(
    single: bool | None, group: bool | None, all_tools: bool | None, needs: bool
) -> None:
    rules = ToolRules(
        defaults=Terms(needs_approval=all_tools),
        terms_of={"repeat": Terms(needs_approval=single)},
    )
    tools = shared(repeat, rules=rules, terms=Terms(needs_approval=group))

    assert (await tools.for_caller(ADA).list())[0].needs_approval is needs


async def test_a_tools_own_wish_for_approval_yields_to_its_own_rule_only() -> None:
    never = Terms(needs_approval=False)
    wide = shared(erase, rules=ToolRules(defaults=never), terms=never)
    narrow = shared(erase, rules=ToolRules(terms_of={"erase": never}))

    assert (await wide.for_caller(ADA).list())[0].needs_approval
    assert not (await narrow.for_caller(ADA).list())[0].needs_approval


async def test_a_long_result_is_read_in_pages_by_its_caller() -> None:
    tools = shared(repeat, rules=ToolRules(defaults=Terms(max_result_chars=500)))
    box = tools.for_caller(ADA)

    first = (await box.call("repeat", {"text": "ab", "times": 400})).text
    id = first.partition('result "')[2][:8]
    second = await box.call("read_more", {"result": id, "page": 2})
    others = await tools.for_caller(f"bob@{HOME}").call("read_more", {"result": id, "page": 2})

    assert "page 1 of 3" in first
    assert "page 2 of 3" in second.text
    assert others.is_error


async def test_a_time_limit_holds_for_foreign_toolboxes() -> None:
    terms = Terms(timeout_s=0.05)
    tools = shared(forever, rules=ToolRules(terms_of={"forever": terms}))

    result = await tools.for_caller(ADA).call("forever", {})

    assert result == ToolResult(text="'forever' did not finish within 0.05 s.", is_error=True)
    assert await tools.time_limits() == {"forever": 0.05}


async def test_a_number_of_calls_holds_for_foreign_toolboxes() -> None:
    running = most = 0

    @tool
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    box = shared(count, terms=Terms(max_concurrent=3)).for_caller(ADA)

    await asyncio.gather(*(box.call("count", {}) for _ in range(20)))

    assert most == 3


async def test_one_caller_leaves_room_for_the_others() -> None:
    go, begun = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        begun.set()
        await go.wait()
        return "done"

    tools = shared(wait, repeat, rules=ToolRules(max_per_caller=1))
    greedy, modest = tools.for_caller(ADA), tools.for_caller(f"bob@{HOME}")
    calls = [asyncio.create_task(greedy.call("wait", {})) for _ in range(300)]
    await asyncio.wait_for(begun.wait(), WAIT_S)

    assert (await modest.call("repeat", {"text": "a"})).text == "aa"
    go.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, Busy) for result in results) == 300 - 257
    assert tools._limiters_by_caller == {}


async def test_every_call_is_logged_with_caller_and_outcome() -> None:
    notes = Notes()
    tools = shared(*SAMPLE_TOOLS, erase, log=notes)
    context = CallContext(on_behalf_of="you@x", approved_by="me@x")
    box = tools.for_caller(ADA)

    await box.call("repeat", {"text": "a", "password": "hunter2"}, context=context)
    await box.call("repeat", {"text": "abc"})
    for name, caller in (("erase", ADA), ("nothing", ADA), ("repeat", STRANGER)):
        with pytest.raises((ApprovalRequired, UnknownTool, Unauthorised)):
            await tools.for_caller(caller).call(name, {})

    first = notes.begins[0]
    assert (first.caller, first.on_behalf_of, first.approved_by) == (ADA, "you@x", "me@x")
    assert first.arguments == '{"text": "a", "password": "***"}'
    assert notes.begins[-1].caller == STRANGER
    assert [one.outcome for one in notes.ends] == [
        *("error", "done", "refused: approval-needed", "refused: unknown-tool"),
        "refused: unauthorised",
    ]
    assert [one.id for one in notes.begins] == [one.id for one in notes.ends]
    assert notes.ends[1].result_chars == 6


async def test_a_cancelled_call_is_written_down_as_that_and_frees_its_place() -> None:
    notes, begun = Notes(), asyncio.Event()

    @tool
    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    tools = shared(wait, repeat, log=notes, rules=ToolRules(max_per_caller=1))
    box = tools.for_caller(ADA)
    call = asyncio.create_task(box.call("wait", {}))
    await asyncio.wait_for(begun.wait(), WAIT_S)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert notes.ends[0].outcome == "cancelled"
    assert (await box.call("repeat", {"text": "a"})).text == "aa"


async def test_a_call_that_cannot_be_logged_is_not_made() -> None:
    ran = []

    @tool
    def touch() -> None:
        ran.append(1)

    class Full(Notes):
        def begun(self, call: CallStarted) -> None:
            raise StorageFailed("the disk is full")

    with pytest.raises(StorageFailed):
        await shared(touch, log=Full()).for_caller(ADA).call("touch", {})
    assert ran == []


async def test_tools_that_come_and_go_are_seen_at_once() -> None:
    class Changing:
        def __init__(self) -> None:
            self.box: Toolbox = LocalToolbox([repeat])

        async def list(self) -> Sequence[ToolSpec]:
            return await self.box.list()

        async def call(
            self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
        ) -> ToolResult:
            return await self.box.call(name, arguments, context=context)

    server = Changing()
    box = SharedTools([ToolGroup(name="s", toolbox=server)], domain=HOME).for_caller(ADA)
    assert await names(box) == ["repeat", "read_more"]

    server.box = LocalToolbox([erase])

    assert await names(box) == ["erase", "read_more"]
    with pytest.raises(UnknownTool):
        await box.call("repeat", {"text": "a"})


async def test_the_tool_of_the_first_group_is_called_of_two_with_one_name() -> None:
    @tool(name="repeat")
    def other(text: str) -> str:
        return "other"

    groups = [
        ToolGroup(name=n, toolbox=LocalToolbox([t])) for n, t in (("a", repeat), ("b", other))
    ]

    box = SharedTools(groups, domain=HOME).for_caller(ADA)

    assert await names(box) == ["repeat", "read_more"]
    assert (await box.call("repeat", {"text": "a"})).text == "aa"


@pytest.mark.parametrize("fault", [StorageFailed("the disk is full"), None], ids=["fails", "hangs"])
async def test_a_group_that_cannot_list_takes_no_others_with_it(
    fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(LocalToolbox):
        async def list(self) -> Sequence[ToolSpec]:
            if fault is not None:
                raise fault
            await asyncio.Event().wait()
            return ()

    monkeypatch.setattr("spade_llm.tools.shared.LIST_TIMEOUT_S", 0.05)
    boxes = (Broken([erase]), LocalToolbox([repeat]))
    groups = [ToolGroup(name=str(number), toolbox=box) for number, box in enumerate(boxes)]

    box = SharedTools(groups, domain=HOME).for_caller(ADA)

    assert await names(box) == ["repeat", "read_more"]
    assert (await box.call("repeat", {"text": "a"})).text == "aa"
