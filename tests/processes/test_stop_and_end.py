"""An assistant in a process of its own: a person stops a turn, and a conversation ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.openai_server import Hang, Say
from tests.processes.deployment import running_deployment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server

PATIENCE_S = 30.0
ASSISTANT = "assistant@localhost"
TOML = """
[ending]
markers = ["<DONE>"]

[limits]
tokens = 5000
"""


async def test_a_person_stops_a_turn_and_the_model_ends_the_conversation(tmp_path: Path) -> None:
    async with running_deployment(tmp_path, names=("memory",)) as deployment:
        await deployment.make_agent("assistant", more=TOML, files={})
        ada = await deployment.person("ada")

        async def said(text: str) -> str:
            ada.send(ASSISTANT, text)
            return str((await asyncio.wait_for(ada.messages.get(), PATIENCE_S))["body"])

        deployment.model.enqueue(Hang())
        ada.send(ASSISTANT, "Tell me everything.")
        await asyncio.wait_for(deployment.model.was_asked.wait(), PATIENCE_S)
        assert await said("/stop") == "Stopped."
        await asyncio.wait_for(deployment.model.was_left.wait(), PATIENCE_S)

        deployment.model.enqueue(Say(text="Goodbye. <DONE>"))
        assert (await said("Goodbye.")).startswith("Goodbye.")
        assert "conversation is over" in await said("One more thing.")
        assert (await said("/new")).startswith("A new conversation")
        assert (await said("Hello.")).startswith("You said: Hello.")
