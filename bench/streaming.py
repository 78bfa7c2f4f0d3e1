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
from spade_llm.services.chat import ChatClient, Delta, Reply
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from bench.stage import Stage

FIRST_PART = Goal(limit=10.0)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    asker, assistant = await stage.account("asker"), await stage.account("alone")
    program = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with (
        stage.stamping_model() as url,
        stage.agent("assistant", "alone", model_url=url),
        running(program),
    ):
        client = ChatClient(program.node.requester, assistant.jid)
        await _first_part(client, Samples())
        first = Samples()
        for _ in range(scale.of(50, quick=3)):
            await _first_part(client, first)
    return [
        Row(
            name="model's first token → first part at who asked",
            unit="ms",
            ours=first.median,
            goal=FIRST_PART,
            note=first.spread,
        )
    ]


async def _first_part(client: ChatClient, samples: Samples) -> None:
    parts: list[str] = []
    text = ""
    async for part in client.stream("How late is it?"):
        if isinstance(part, Delta) and not parts:
            samples.times_ms.append((time.monotonic() - float(part.text)) * 1000)
        if isinstance(part, Delta):
            parts.append(part.text)
        if isinstance(part, Reply):
            text = part.text
    check("".join(parts) == text, f"the parts are not the answer: {parts!r}, {text!r}")
