"""An assistant with `[[guardrails]]`, in a process of its own: nothing blocked is left."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.openai_server import Say
from tests.processes.deployment import running_deployment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server

PATIENCE_S = 30.0
ASSISTANT = "assistant@localhost"
SECRET = "Rosebud"
TOML = f"""
[[guardrails]]
kind = "keyword"
name = "names"
keywords = ["{SECRET}"]
message = "Not that."

[[guardrails]]
kind = "regex"
on = "output"
patterns = ['\\d{{3}}-\\d{{4}}']
action = "modify"
replacement = "[phone]"

[[guardrails]]
kind = "model"
on = "output"
rules = "Nothing sad."
"""


async def test_nothing_that_is_blocked_is_left_anywhere(tmp_path: Path) -> None:
    async with running_deployment(tmp_path, names=()) as deployment:
        await deployment.make_agent("assistant", more=TOML, files={})
        ada = await deployment.person("ada")

        async def said(text: str) -> str:
            ada.send(ASSISTANT, text)
            return str((await asyncio.wait_for(ada.messages.get(), PATIENCE_S))["body"])

        assert await said(f"It is {SECRET.upper()}.") == "Not that."
        assert not deployment.model.requests

        deployment.model.enqueue(Say(text=f"You mean {SECRET}?"))
        assert await said("What is it?") == "Not that."

        deployment.model.enqueue(Say(text="Call 555-1234."), Say(text='{"safe": true}'))
        assert (await said("Whom can I ask?")).startswith("Call [phone].")
        assert "555-1234" not in str(deployment.model.requests[-1])

        deployment.model.enqueue(Say(text="All is lost."), Say(text='{"safe": false}'))
        assert (await said("How is it?")).startswith("I may not give the answer")
        assert "[phone]" in str(deployment.model.requests[-2])
        assert SECRET not in str(deployment.model.requests[-2])

        agent = deployment.processes.pop("assistant")
        agent.terminate()
        await asyncio.wait_for(agent.wait(), PATIENCE_S)
    written = await asyncio.to_thread(_written, tmp_path)
    assert SECRET.lower().encode() not in written.lower()
    assert b"All is lost" not in written
    assert b"Whom can I ask?" in written


def _written(folder: Path) -> bytes:
    """All that the agent has left: its data and its log."""
    files = [*(folder / "data").rglob("*"), folder / "assistant.log"]
    return b"".join(file.read_bytes() for file in files if file.is_file())
