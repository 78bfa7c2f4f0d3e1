"""Answers of an agent, written piece by piece; requests for approval; what an answer waits for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.chat.service import AnswerDelta, ApprovalPrompt
from spade_llm.assistant.turn.approval import ApprovalVerdict, read_answer
from spade_llm.cli.terminal import sanitize_line, sanitize_text
from spade_llm.core.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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
