"""Writes an answer while it comes. Knows no terminal: `write` takes the pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from spade_llm.cli.plain import many_lines
from spade_llm.conversation.approval import Verdict, read_answer
from spade_llm.errors import RequestError
from spade_llm.services.chat import Asked, Delta

if TYPE_CHECKING:
    from spade_llm.agent import ChatAgent

Listen = Callable[[], Awaitable[str]]
"""What the person says next."""

QUIT = frozenset({"/quit", "/exit"})


async def write_answer(
    person: ChatAgent, peer: str, text: str, write: Callable[[str], None], listen: Listen
) -> bool:
    """Say `text` to `peer` and write the answer and its sources; False if there was none, or only
    an apology.

    Nothing in it steers the terminal: what a model repeats from somewhere could else hide what a
    person is asked to agree to.
    """
    return await _write_answer(person, peer, text, lambda piece: write(many_lines(piece)), listen)


async def _write_answer(
    person: ChatAgent, peer: str, text: str, write: Callable[[str], None], listen: Listen
) -> bool:
    written, failure = "", ""
    try:
        async for part in person.stream(peer, text, can_approve=True):
            if isinstance(part, Delta):
                write(part.text)
                written += part.text
            elif isinstance(part, Asked):
                await _decide(person, peer, part, write, listen)
            else:
                write(rest_of(part.text, written) + _sources(part.sources) + "\n")
                failure = part.failure
    except RequestError as error:
        write(f"{peer} did not answer: {error}\n")
        return False
    return not failure


async def _decide(
    person: ChatAgent, peer: str, asked: Asked, write: Callable[[str], None], listen: Listen
) -> None:
    """Let the person answer; whatever is no clear yes is a no."""
    write(f"\n{asked.text}\n")
    try:
        async with asyncio.timeout(asked.expires_s):
            is_approved = read_answer(await listen()) is Verdict.YES
        await person.approve(peer, asked.question, is_approved=is_approved)
    except TimeoutError:
        write("(not answered in time)\n")
    except RequestError as error:
        write(f"({error})\n")


def rest_of(whole: str, written: str) -> str:
    """What is still to be written; a text that is not what was streamed is written anew."""
    if whole.startswith(written):
        return whole[len(written) :]
    return "\n" + whole


def _sources(sources: tuple[str, ...]) -> str:
    return f"\n(read: {', '.join(sources)})" if sources else ""
