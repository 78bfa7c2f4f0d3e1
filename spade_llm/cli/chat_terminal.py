"""Interactive chat in a terminal: line editing, history, Ctrl-C (prompt_toolkit)."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from spade_llm.cli.chat import QUIT_COMMANDS, write_answer
from spade_llm.cli.signals import cancel_on_ctrl_c

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agents import ChatAgent

PROMPT = "you> "
YES_OR_NO = "yes or no> "


async def converse_in_terminal(client: ChatAgent, peer: str, *, history: Path) -> None:
    """Chat until /quit, Ctrl-D or Ctrl-C. During an answer, Ctrl-C stops only that answer."""
    print(f"Chatting with {peer}. /help lists its commands; /quit or Ctrl-D leaves.")
    session: PromptSession[str] = PromptSession(history=FileHistory(str(_private(history))))
    while (text := await _read(session)) is not None:
        if text:
            await _answer(client, peer, text, session)


async def _read(session: PromptSession[str], prompt: str = PROMPT) -> str | None:
    """Read the person's next line; None means that they leave."""
    try:
        with patch_stdout():
            # Ctrl-C is a key in raw mode; prompt_toolkit's handler would displace ours in the loop.
            text = (await session.prompt_async(prompt, handle_sigint=False)).strip()
    except (EOFError, KeyboardInterrupt):
        return None
    return None if text in QUIT_COMMANDS else text


async def _answer(client: ChatAgent, peer: str, text: str, session: PromptSession[str]) -> None:
    async def listen() -> str:
        return await _read(session, YES_OR_NO) or ""

    answering = asyncio.create_task(write_answer(client, peer, text, _write, listen))
    try:
        with cancel_on_ctrl_c(answering):
            await asyncio.wait([answering])
    finally:
        answering.cancel()
        await asyncio.wait([answering])
    if answering.cancelled():
        _write("\n(stopped)\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _private(history: Path) -> Path:
    """Create the input history, readable by its owner only (0600)."""
    history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # FileHistory would make it by the umask, readable for others.
    os.close(os.open(history, os.O_CREAT | os.O_RDWR, 0o600))
    return history
