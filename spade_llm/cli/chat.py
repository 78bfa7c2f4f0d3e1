"""`spade-llm chat` and `ask`: streams answers to a terminal or a script, and asks for approval.

In a terminal, prompt_toolkit edits lines and keeps a history; Ctrl-C stops only the current answer.
"""

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
from spade_llm.cli.output import show
from spade_llm.cli.signals import STDIN, cancel_on_ctrl_c, run_until_stopped
from spade_llm.cli.terminal import sanitize_line, sanitize_text
from spade_llm.core.errors import RequestError, SpadeLLMError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from prompt_toolkit import PromptSession

    from spade_llm.agents import ChatAgent

ReadReply = Callable[[], Awaitable[str]]
"""Callback that reads the person's next line."""

QUIT_COMMANDS = frozenset({"/quit", "/exit"})
PROMPT = "you> "
APPROVAL_PROMPT = "yes or no> "

MAX_BUFFERED_LINES = 100
"""Maximum number of lines read ahead; then the program that writes them has to wait."""


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_ask(options) if options.command == "ask" else _chat(options))


async def _ask(options: argparse.Namespace) -> int:
    """Ask one question, and print its answer on standard output."""
    cli_context = find_context(options)
    async with login(person_jid(options, cli_context), cli_context) as client:
        reply = await client.say(assistant_jid(options, cli_context), options.question)
    if reply.failure:
        raise SpadeLLMError(sanitize_line(reply.text))
    show(options, reply, sanitize_text(reply.text))
    return 0


async def _chat(options: argparse.Namespace) -> int:
    cli_context = find_context(options)
    async with login(person_jid(options, cli_context), cli_context) as client:
        return await converse(client, assistant_jid(options, cli_context), history=cli_context.data)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def converse(client: ChatAgent, peer: str, *, history: Path) -> int:
    """Chat until the person leaves. `history` is the folder of the input history.

    Returns 1 if a line of a script was not answered, else 0.
    """
    if is_terminal():
        await _converse_in_terminal(client, peer, history / "chat-history")
        return 0
    return 0 if await _converse_by_lines(client, peer) else 1


async def _converse_by_lines(client: ChatAgent, peer: str) -> bool:
    """Chat with a script; False if some line was not answered."""
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
            return  # The loop has ended: the lines are not needed any more.

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


async def _converse_in_terminal(client: ChatAgent, peer: str, history: Path) -> None:
    """Chat until /quit, Ctrl-D or Ctrl-C. During an answer, Ctrl-C stops only that answer."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    print(f"Chatting with {peer}. /help lists its commands; /quit or Ctrl-D leaves.")
    history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # FileHistory would create the file with the umask, readable for others.
    os.close(os.open(history, os.O_CREAT | os.O_RDWR, 0o600))
    session: PromptSession[str] = PromptSession(history=FileHistory(str(history)))

    async def listen() -> str:
        return await _read_prompt(session, APPROVAL_PROMPT) or ""

    while (text := await _read_prompt(session, PROMPT)) is not None:
        if not text:
            continue
        answering = asyncio.create_task(write_answer(client, peer, text, _write_output, listen))
        try:
            with cancel_on_ctrl_c(answering):
                await asyncio.wait([answering])
        finally:
            answering.cancel()
            await asyncio.wait([answering])
        if answering.cancelled():
            _write_output("\n(stopped)\n")


async def _read_prompt(session: PromptSession[str], prompt: str) -> str | None:
    """Read the person's next line; None means that they leave."""
    from prompt_toolkit.patch_stdout import patch_stdout

    try:
        with patch_stdout():
            # Ctrl-C is a key in raw mode; prompt_toolkit's handler would displace ours in the loop.
            text = (await session.prompt_async(prompt, handle_sigint=False)).strip()
    except (EOFError, KeyboardInterrupt):
        return None
    return None if text in QUIT_COMMANDS else text


def _write_output(text: str) -> None:
    print(text, end="", flush=True)


async def write_answer(
    client: ChatAgent, peer: str, text: str, write: Callable[[str], None], read_reply: ReadReply
) -> bool:
    """Say `text` to `peer` and write the answer and its sources; False if there was none, or only
    an apology.

    Control characters are removed: text that a model repeats from elsewhere could otherwise hide
    what a person is asked to approve.
    """

    def write_sanitized(piece: str) -> None:
        write(sanitize_text(piece))

    written, failure = "", ""
    try:
        async for part in client.stream(peer, text, can_approve=True):
            if isinstance(part, AnswerDelta):
                write_sanitized(part.text)
                written += part.text
            elif isinstance(part, ApprovalPrompt):
                await _ask_approval(client, peer, part, write_sanitized, read_reply)
            else:
                # A final text that differs from the streamed text is printed again completely.
                is_continued = part.text.startswith(written)
                rest = part.text[len(written) :] if is_continued else f"\n{part.text}"
                sources = f"\n(read: {', '.join(part.sources)})" if part.sources else ""
                write_sanitized(f"{rest}{sources}\n")
                failure = part.failure
    except RequestError as error:
        write_sanitized(f"{peer} did not answer: {error}\n")
        return False
    return not failure


async def _ask_approval(
    client: ChatAgent,
    peer: str,
    asked: ApprovalPrompt,
    write: Callable[[str], None],
    read_reply: ReadReply,
) -> None:
    """Let the person answer; anything but a clear yes is a no."""
    write(f"\n{asked.text}\n")
    try:
        async with asyncio.timeout(asked.expires_s):
            is_approved = read_answer(await read_reply()) is ApprovalVerdict.YES
        await client.approve(peer, asked.question, is_approved=is_approved)
    except TimeoutError:
        write("(not answered in time)\n")
    except RequestError as error:
        write(f"({error})\n")
