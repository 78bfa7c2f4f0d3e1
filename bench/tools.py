"""A call through the toolbox, without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.row import Row, Scale, check
from bench.timing import Samples
from spade_llm.tools import LocalToolbox, builtin_tools, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.stage import Stage

EXPRESSION = "(17.5 - 3) * 2 ** 10 + sqrt(144) / 6"
CALLS: tuple[tuple[str, Mapping[str, object], str], ...] = (
    ("nothing", {}, ""),
    ("calculator", {"expression": EXPRESSION}, "14850"),
    ("get_current_datetime", {"timezone": "Europe/Madrid"}, "Europe/Madrid"),
)
"""Tool, arguments, and what its answer must hold."""


@tool
async def nothing() -> str:
    """Nothing."""
    return ""


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    box = LocalToolbox([*builtin_tools(), nothing])
    return [await _call(box, *call, times=scale.of(1000, quick=100)) for call in CALLS]


async def _call(
    box: LocalToolbox, name: str, arguments: Mapping[str, object], expected: str, *, times: int
) -> Row:
    answer = (await box.call(name, arguments)).text
    check(expected in answer, f"{name} answered {answer!r}")
    samples = Samples()
    await samples.add(lambda: box.call(name, arguments), times=times)
    return Row(name=f"tool call: {name}", unit="ms", ours=samples.median, note=samples.spread)
