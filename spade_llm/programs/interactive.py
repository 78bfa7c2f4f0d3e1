"""run_interactive_chat: a ChatAgent's talk, typed line by line. Knows no stream."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Talker(Protocol):
    async def send_message_async(self, message: str) -> None: ...
    async def wait_for_response(self, timeout: float = 10.0) -> bool: ...


async def run_interactive_chat(
    chat_agent: Talker,
    input_prompt: str = "> ",
    exit_command: str = "exit",
    response_timeout: float = 10.0,
) -> None:
    """Until the exit command or the end of the input; each line waits for its answer."""
    _say(f"Write a line; {exit_command!r} ends the chat.")
    while (line := await safe_input(input_prompt)) is not None:
        if line.strip().lower() == exit_command.lower():
            break
        if line.strip():
            await _exchange(chat_agent, line, response_timeout)
    _say("The chat is over.")


async def _exchange(chat_agent: Talker, line: str, timeout_s: float) -> None:
    await chat_agent.send_message_async(line)
    if not await chat_agent.wait_for_response(timeout_s):
        _say(f"No answer within {timeout_s:g} s.")


async def safe_input(prompt: str = "") -> str | None:
    """A line, read beside the event loop; None: there are no more."""
    try:
        return await asyncio.to_thread(input, prompt)
    except EOFError:
        return None


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a chat in the terminal
