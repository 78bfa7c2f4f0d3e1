"""Several toolboxes as one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import PeerUnavailable, UnknownTool
from spade_llm.tools import CombinedToolbox, LocalToolbox, tool
from spade_llm.tools.toolbox import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.tools import Toolbox, ToolResult, ToolSpec
    from spade_llm.tools.toolbox import CallContext


@tool
def near() -> str:
    """Near."""
    return "near"


@tool
def far() -> str:
    """Far."""
    return "far"


@tool(name="near")
def another_near() -> str:
    """Another one."""
    return "another"


class _Agent:
    """A toolbox that can go away, as one in another process can; counts its listings."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        self.is_away = False
        self.listed = 0

    async def list(self) -> Sequence[ToolSpec]:
        self.listed += 1
        self._check()
        return await self.toolbox.list()

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        self._check()
        return await self.toolbox.call(name, arguments)

    def _check(self) -> None:
        if self.is_away:
            raise PeerUnavailable("nobody there", peer="tools@localhost")


class _Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


async def test_tools_of_all_boxes_are_listed_and_reached() -> None:
    box = CombinedToolbox([LocalToolbox([near]), _Agent(LocalToolbox([far]))])

    assert [spec.name for spec in await box.list()] == ["near", "far"]
    assert (await box.call("far", {})).text == "far"


async def test_the_first_of_two_tools_with_one_name_is_used_and_this_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    box = CombinedToolbox([LocalToolbox([near]), LocalToolbox([another_near])])

    with caplog.at_level(logging.WARNING):
        await box.list()
        await box.list()

    assert (await box.call("near", {})).text == "near"
    assert caplog.text.count("two toolboxes offer 'near'") == 1


async def test_a_box_that_is_away_takes_only_its_own_tools_with_it() -> None:
    agent = _Agent(LocalToolbox([far]))
    agent.is_away = True
    clock = _Clock()
    box = CombinedToolbox([LocalToolbox([near]), agent], now=clock)

    assert [spec.name for spec in await box.list()] == ["near"]
    assert list(box.unavailable) == ["tools@localhost"]
    with pytest.raises(UnknownTool):
        await box.call("far", {})
    agent.is_away = False
    clock.time += 6
    assert [spec.name for spec in await box.list()] == ["near", "far"]
    assert list(box.unavailable) == []


async def test_a_listing_is_believed_for_the_stated_time() -> None:
    agent = _Agent(LocalToolbox([far]))
    clock = _Clock()
    box = CombinedToolbox([agent], list_ttl_s=60, now=clock)

    for clock.time in (0, 30, 59):
        await box.list()
    assert agent.listed == 1
    clock.time = 60
    await box.list()
    assert agent.listed == 2


async def test_a_box_that_has_lost_a_tool_is_asked_again() -> None:
    agent = _Agent(LocalToolbox([far]))
    box = CombinedToolbox([agent])
    await box.list()
    agent.toolbox = LocalToolbox([near])

    with pytest.raises(UnknownTool):
        await box.call("far", {})
    assert [spec.name for spec in await box.list()] == ["near"]


async def test_a_box_that_is_found_away_by_a_call_is_missing_at_once() -> None:
    agent = _Agent(LocalToolbox([far]))
    box = CombinedToolbox([LocalToolbox([near]), agent])
    await box.list()
    agent.is_away = True

    with pytest.raises(PeerUnavailable):
        await box.call("far", {})
    assert list(box.unavailable) == ["tools@localhost"]


async def test_a_box_that_does_not_answer_is_missing_after_the_limit() -> None:
    class Silent(_Agent):
        async def list(self) -> Sequence[ToolSpec]:
            await asyncio.Event().wait()
            raise AssertionError

    box = CombinedToolbox([Silent(LocalToolbox([far]))], list_timeout_s=0.05)

    assert await box.list() == ()
    assert box.unavailable == ("toolbox 1",)


async def test_a_guest_gets_no_name_of_another_not_even_while_that_one_is_away() -> None:
    """What a person agreed to must not reach somebody else."""
    home, guest = _Agent(LocalToolbox([near])), LocalToolbox([another_near, far])
    box = CombinedToolbox([home], list_ttl_s=0, absence_ttl_s=0)
    box.add(guest)
    assert [spec.name for spec in await box.list()] == ["near", "far"]

    home.is_away = True

    assert [spec.name for spec in await box.list()] == ["far"]
    with pytest.raises(UnknownTool):
        await box.call("near", {})
    home.is_away = False
    assert (await box.call("near", {})).text == "near"
