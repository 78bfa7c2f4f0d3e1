"""`spade-llm chat`: streams answers to a terminal or to a script, asks for approval."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as FutureCancelledError
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.service import AnswerDelta, ApprovalPrompt
from spade_llm.assistant.turn.approval import ApprovalVerdict, read_answer
from spade_llm.cli.context import assistant_jid, find_context, login, person_jid
from spade_llm.cli.signals import STDIN, run_until_stopped
from spade_llm.cli.terminal import sanitize_text
from spade_llm.core.errors import RequestError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from spade_llm.agents import ChatAgent

ReadReply = Callable[[], Awaitable[str]]
"""Callback that reads the person's next line."""

QUIT_COMMANDS = frozenset({"/quit", "/exit"})

MAX_BUFFERED_LINES = 100
"""Maximum number of lines read ahead; then the program that writes them has to wait."""


async def write_answer(
    client: ChatAgent, peer: str, text: str, write: Callable[[str], None], read_reply: ReadReply
) -> bool:
    """Say `text` to `peer` and write the answer and its sources; False if there was none, or only
    an apology.

    Nothing in it steers the terminal: what a model repeats from somewhere could else hide what a
    person is asked to agree to.
    """
    return await _write_answer(
        client, peer, text, lambda piece: write(sanitize_text(piece)), read_reply
    )


def unwritten_text(whole: str, written: str) -> str:
    """Rest of the answer to print. If it differs from the streamed text, it is printed again
    completely."""
    if whole.startswith(written):
        return whole[len(written) :]
    return "\n" + whole


async def converse_by_lines(client: ChatAgent, peer: str) -> bool:
    """False if some line was not answered."""
    is_answered = True
    lines = _input_lines()

    async def listen() -> str:
        return await anext(lines, "")

    async for line in lines:
        if line in QUIT_COMMANDS:
            break
        if line and not await write_answer(client, peer, line, _write_output, listen):
            is_answered = False
    return is_answered


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_chat(options))


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def converse(client: ChatAgent, peer: str, *, history: Path) -> int:
    """Chat until the person leaves. `history` is the folder of the input history.

    Returns 1 if a line of a script was not answered, else 0.
    """
    if is_terminal():
        from spade_llm.cli.chat_terminal import converse_in_terminal

        await converse_in_terminal(client, peer, history=history / "chat-history")
        return 0

    return 0 if await converse_by_lines(client, peer) else 1


async def _write_answer(
    client: ChatAgent, peer: str, text: str, write: Callable[[str], None], listen: ReadReply
) -> bool:
    written, failure = "", ""
    try:
        async for part in client.stream(peer, text, can_approve=True):
            if isinstance(part, AnswerDelta):
                write(part.text)
                written += part.text
            elif isinstance(part, ApprovalPrompt):
                await _ask_approval(client, peer, part, write, listen)
            else:
                write(unwritten_text(part.text, written) + _source_line(part.sources) + "\n")
                failure = part.failure
    except RequestError as error:
        write(f"{peer} did not answer: {error}\n")
        return False
    return not failure


async def _ask_approval(
    client: ChatAgent,
    peer: str,
    asked: ApprovalPrompt,
    write: Callable[[str], None],
    listen: ReadReply,
) -> None:
    """Let the person answer; whatever is no clear yes is a no."""
    write(f"\n{asked.text}\n")
    try:
        async with asyncio.timeout(asked.expires_s):
            is_approved = read_answer(await listen()) is ApprovalVerdict.YES
        await client.approve(peer, asked.question, is_approved=is_approved)
    except TimeoutError:
        write("(not answered in time)\n")
    except RequestError as error:
        write(f"({error})\n")


def _source_line(sources: tuple[str, ...]) -> str:
    return f"\n(read: {', '.join(sources)})" if sources else ""


def _write_output(text: str) -> None:
    print(text, end="", flush=True)


async def _input_lines() -> AsyncIterator[str]:
    """Lines of standard input, read by a daemon thread, which need not be joined at the end."""
    queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_BUFFERED_LINES)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for line in _read_lines():
                # `result` blocks while the queue is full, so that the writer of a pipe waits.
                asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()
        except (RuntimeError, FutureCancelledError):
            return  # The loop has ended: nobody listens any more.

    threading.Thread(target=read, daemon=True, name="stdin").start()
    while (line := await queue.get()) is not None:
        yield line.strip()


def _read_lines() -> Iterator[str]:
    """Read the descriptor, not sys.stdin: a daemon thread would still hold its lock when the
    interpreter exits."""
    pending = b""
    while block := os.read(STDIN, 65536):
        *lines, pending = (pending + block).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
    if pending:
        yield pending.decode(errors="replace")


async def _chat(options: argparse.Namespace) -> int:
    cli_context = find_context(options)
    async with login(person_jid(options, cli_context), cli_context) as client:
        return await converse(client, assistant_jid(options, cli_context), history=cli_context.data)
