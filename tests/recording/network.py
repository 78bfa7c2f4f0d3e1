"""Network of the recordings: `spade-llm up` with the standard agents and a scripted model."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.cli.program import ROOT, Program
from tests.openai_server import Call, OpenAIServer, Say, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

WORD_S = 0.07
"""Time that the model takes for a word."""
KEY_S = 0.07
"""Time between two keys that a person presses."""
READ_S = 1.5
"""Time in which a person reads."""


@asynccontextmanager
async def running_network(folder: Path) -> AsyncIterator[tuple[Program, OpenAIServer]]:
    """The program, with its data in the folder where a user has it, and its model."""
    server = OpenAIServer()
    server.is_check_scripted = False
    async with running_server(server):
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "m", "OPENAI_API_KEY": "k"}
        program = Program(
            data=folder / "spade-llm-data",
            agents=ROOT / "agents",
            has_prosody=True,
            variables=model,
        )
        async with program.up() as up:
            await up.ready()
            yield program, server


def streamed(text: str) -> Say:
    """An answer at the pace of a model."""
    return Say(text=text, word_s=WORD_S)


async def remember(program: Program, server: OpenAIServer, content: str) -> None:
    """Let the assistant store a fact about the user, in a conversation before the recording."""
    arguments = json.dumps({"content": content, "category": "preference"})
    call = Call(name="store_memory", arguments=arguments)
    server.enqueue(Say(calls=(call,)), Say(text="I will remember it."))
    outcome = await program.run("ask", f"Please remember: {content}")
    assert outcome.status == 0, outcome.errors
