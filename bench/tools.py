"""Tools that run in the tool agent, in a process of its own, on Prosody; and without a network."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.sample_tools import PAUSE_S, nothing, pause, rest
from bench.timing import Samples
from spade_llm.tools import LocalToolbox, builtin_tools
from spade_llm.tools.remote import ToolsClient
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.stage import Stage
    from spade_llm.tools import Toolbox

EXPRESSION = "(17.5 - 3) * 2 ** 10 + sqrt(144) / 6"
CALLS: tuple[tuple[str, Mapping[str, object], str], ...] = (
    ("nothing", {}, ""),
    ("calculator", {"expression": EXPRESSION}, "14850"),
    ("get_current_datetime", {"timezone": "Europe/Madrid"}, "Europe/Madrid"),
)
"""Tool, arguments, and what its answer must hold."""
PARALLEL = 50
ROUND_TRIP = Goal(limit=3)
ALL_AT_ONCE = Goal(limit=0.5)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    box = LocalToolbox([*builtin_tools(), nothing])
    rows = [await _call(box, "here", *call, times=scale.of(1000, quick=100)) for call in CALLS]
    asker = await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with stage.agent("sample-tools", "sample-tools"), running(agent):
        remote = ToolsClient(agent.node.requester, (await stage.account("sample-tools")).jid)
        for call in CALLS:
            times = scale.of(1000, quick=100)
            rows.append(await _call(remote, "XMPP", *call, times=times, goal=ROUND_TRIP))
        rows += [await _at_once(remote, name, scale) for name in (pause.spec.name, rest.spec.name)]
    return rows


async def _call(
    box: Toolbox,
    where: str,
    name: str,
    arguments: Mapping[str, object],
    expected: str,
    *,
    times: int,
    goal: Goal | None = None,
) -> Row:
    answer = (await box.call(name, arguments)).text
    check(expected in answer, f"{name} answered {answer!r}")
    samples = Samples()
    await samples.add(lambda: box.call(name, arguments), times=times)
    return Row(
        name=f"tool call, {where}: {name}",
        unit="ms",
        ours=samples.median,
        goal=goal,
        spread=samples.spread,
    )


async def _at_once(box: Toolbox, name: str, scale: Scale) -> Row:
    """From one caller; the first run starts the threads of plain functions, too."""
    runs_s = [await _run_s(box, name) for _ in range(scale.of(10, quick=2))]
    return Row(
        name=f"{PARALLEL} parallel calls of {PAUSE_S * 1000:.0f} ms: {name}",
        unit="s",
        ours=sorted(runs_s)[len(runs_s) // 2],
        baseline=PAUSE_S,
        baseline_name="one call",
        goal=ALL_AT_ONCE,
        note=f"first run {runs_s[0]:.3f}, slowest {max(runs_s):.3f}",
    )


async def _run_s(box: Toolbox, name: str) -> float:
    began = time.perf_counter()
    results = await asyncio.gather(*(box.call(name, {"n": n}) for n in range(PARALLEL)))
    taken_s = time.perf_counter() - began
    check([result.text for result in results] == list(map(str, range(PARALLEL))), "mixed up")
    return taken_s
