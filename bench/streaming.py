"""From a model's first token to the first part of the answer at the program that asked.

The model, the assistant and the program are processes of their own, on Prosody. What is measured
ends where the program has read the part: it has left before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from bench.stage import Stage
    from spade_llm.messaging import Requester

FIRST_PART = Goal(limit=10.0)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    asker = await stage.account("asker")
    program = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with stage.stamping_model() as url, running(program):
        ask = program.node.requester
        return [
            await _row(stage, scale, ask, url, kind="assistant", name="alone"),
            await _row(stage, scale, ask, url, kind="guarded", name="guarded"),
        ]


async def _row(
    stage: Stage, scale: Scale, ask: Requester, url: str, *, kind: str, name: str
) -> Row:
    account, first = await stage.account(name), Samples()
    async with stage.agent(kind, name, model_url=url):
        client = ChatClient(ask, account.jid)
        await _first_part(client, Samples())
        for _ in range(scale.of(50, quick=3)):
            await _first_part(client, first)
    under = ", under guardrails that replace words and numbers" if kind == "guarded" else ""
    return Row(
        name=f"model's first token → first part at who asked{under}",
        unit="ms",
        ours=first.median,
        goal=FIRST_PART,
        spread=first.spread,
    )


async def _first_part(client: ChatClient, samples: Samples) -> None:
    """The answer begins with the time at which it left the model."""
    parts: list[str] = []
    text, came = "", 0.0
    async for part in client.stream("How late is it?"):
        if isinstance(part, AnswerDelta):
            came = came or time.monotonic()
            parts.append(part.text)
        if isinstance(part, ChatReply):
            text = part.text
    check(bool(parts) and text.startswith("".join(parts)), f"{parts!r} are no part of {text!r}")
    samples.times_ms.append((came - float(text.split()[0])) * 1000)
