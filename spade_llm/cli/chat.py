"""`spade-llm chat` and `ask`: streams answers to a terminal or a script, and asks for approval."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError as FutureCancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import AnswerDelta, ApprovalPrompt, ChatReply
from spade_llm.assistant.turn.approval import ApprovalVerdict, read_answer
from spade_llm.cli.command_line import EXIT_RULES, EXIT_SIGINT
from spade_llm.cli.context import assistant_jid, find_context, login, person_jid
from spade_llm.cli.signals import STDIN, run_until_stopped
from spade_llm.cli.terminal import sanitize_line, sanitize_text, show, style
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import RequestError, RequestTimeout, SpadeLLMError
from spade_llm.providers.model import OFFLINE

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent

QUIT_COMMANDS = frozenset({"/quit", "/exit"})
SILENCE_S = 3.0
"""Time in seconds without an answer, before the agent is asked whether it is online."""
STATUS_TIMEOUT_S = 3.0
CHECK_INTERVAL_S = 15.0


class AnswerOutput(Protocol):
    """Output of one answer. All text is sanitized."""

    def add(self, piece: str) -> None:
        """Write a piece of the answer, which is Markdown."""

    def note(self, line: str) -> None:
        """Write a line about the answer."""

    async def ask(self, question: str) -> str:
        """Ask the person, and return the reply."""


class PlainOutput:
    """AnswerOutput for scripts: text as it is."""

    def __init__(self, write: Callable[[str], None], read: Callable[[], Awaitable[str]]) -> None:
        self._write = write
        self._read = read
        self._is_line_open = False

    def add(self, piece: str) -> None:
        self._write(piece)
        self._is_line_open = not piece.endswith("\n")

    def note(self, line: str) -> None:
        self.add(f"\n{line}\n" if self._is_line_open else f"{line}\n")

    async def ask(self, question: str) -> str:
        self.note(question)
        return await self._read()


async def write_answer(client: ChatAgent, peer: str, text: str, output: AnswerOutput) -> bool:
    """Say `text` to `peer` and write the answer and its sources; False if there was none, or only
    an apology.

    Control characters are removed: text that a model repeats from elsewhere could otherwise hide
    what a person is asked to approve.
    """
    written, failure = "", ""
    try:
        async for part in client.stream(peer, text, can_approve=True):
            if isinstance(part, AnswerDelta):
                output.add(sanitize_text(part.text))
                written += part.text
            elif isinstance(part, ApprovalPrompt):
                await _ask_approval(client, peer, part, output)
            else:
                # A final text that differs from the streamed text is written again completely.
                is_continued = part.text.startswith(written)
                rest = part.text[len(written) :] if is_continued else f"\n\n{part.text}"
                output.add(sanitize_text(f"{rest}\n"))
                if part.sources:
                    output.note(sanitize_line(f"(read: {', '.join(part.sources)})"))
                failure = part.failure
    except RequestError as error:
        output.note(sanitize_line(f"{peer} did not answer: {error}"))
        return False
    return not failure


async def _ask_approval(
    client: ChatAgent, peer: str, asked: ApprovalPrompt, output: AnswerOutput
) -> None:
    """Let the person answer; anything but a clear yes is a no."""
    try:
        async with asyncio.timeout(asked.expires_s):
            reply = await output.ask(sanitize_text(asked.text))
        is_approved = read_answer(reply) is ApprovalVerdict.YES
        await client.approve(peer, asked.question, is_approved=is_approved)
    except TimeoutError:
        output.note("(not answered in time)")
    except RequestError as error:
        output.note(sanitize_line(f"({error})"))


async def describe_waiting(client: ChatAgent, peer: str, tell: Callable[[str], None]) -> None:
    """While a question waits for its answer, tell whether the agent is offline or works on it, once
    for each change. Runs until it is cancelled."""
    told = ""
    await asyncio.sleep(SILENCE_S)
    while True:
        try:
            status = await client.status(peer, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            state = f"{peer} is offline: waiting for it"
            if client.connection is None or not client.connection.connected.is_set():
                state = "the server does not answer: connecting again"
        else:
            state = sanitize_line(" ".join([f"{peer} is working on it", *status.notes]))
        if state != told:
            tell(state)
            told = state
        await asyncio.sleep(CHECK_INTERVAL_S)


MAX_BUFFERED_LINES = 100
"""Maximum number of lines read ahead; then the program that writes them has to wait."""


def main(options: argparse.Namespace) -> int:
    if options.command != "ask":
        return run_until_stopped(_chat(options))
    status = run_until_stopped(_ask(options), stopped=EXIT_SIGINT)
    if status == EXIT_SIGINT:
        _tell("stopped: the question is withdrawn")
    return status


async def _ask(options: argparse.Namespace) -> int:
    """Ask one question, and print its answer on standard output."""
    cli_context = find_context(options)
    async with login(person_jid(options, cli_context), cli_context) as client:
        reply = await _reply(client, assistant_jid(options, cli_context), options)
    if reply.failure:
        raise SpadeLLMError(sanitize_line(reply.text))
    show(options, reply, sanitize_text(reply.text))
    if reply.fallback == OFFLINE:
        _tell("the language model failed and rules answered: see `spade-llm doctor`")
        return EXIT_RULES
    return 0


async def _reply(client: ChatAgent, peer: str, options: argparse.Namespace) -> ChatReply:
    """Ask; tell on standard error what is waited for. Raises RequestError."""
    waiting = describe_waiting(client, peer, lambda state: _tell(f"{state} (Ctrl-C leaves)"))
    async with concurrent_task(waiting):
        try:
            chat = ChatClient(client.node.requester, peer, timeout_s=options.timeout)
            return await chat.say(options.question)
        except RequestTimeout:
            raise SpadeLLMError(
                f"{peer} did not answer within {options.timeout} s: see `spade-llm doctor`, or wait"
                " longer with --timeout"
            ) from None


def _tell(line: str) -> None:
    """Print a line beside the answer, which alone is on standard output."""
    print(style(line, "dim", sys.stderr), file=sys.stderr, flush=True)


async def _chat(options: argparse.Namespace) -> int:
    if is_terminal():
        # The chat says itself if the connection is lost: warnings would stand between the answers.
        logging.getLogger().addHandler(logging.NullHandler())
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
        from spade_llm.cli.terminal_chat import TerminalChat

        await TerminalChat(client, peer, history=history / "chat-history").run()
        return 0
    return 0 if await _converse_by_lines(client, peer) else 1


async def _converse_by_lines(client: ChatAgent, peer: str) -> bool:
    """Chat with a script; False if some line was not answered."""
    is_answered = True
    lines = _input_lines()

    async def listen() -> str:
        return await anext(lines, "")

    output = PlainOutput(lambda text: print(text, end="", flush=True), listen)

    async for line in lines:
        if line in QUIT_COMMANDS:
            break
        if line and not await write_answer(client, peer, line, output):
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
