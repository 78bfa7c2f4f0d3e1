"""Writes an answer while it comes. Knows no terminal: `write` takes the pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import RequestError
from spade_llm.services.chat import Delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.agent import ChatAgent

QUIT = frozenset({"/quit", "/exit"})


async def write_answer(
    person: ChatAgent, peer: str, text: str, write: Callable[[str], None]
) -> bool:
    """Say `text` to `peer` and write the answer and its sources; False if there was none."""
    written = ""
    try:
        async for part in person.stream(peer, text):
            if isinstance(part, Delta):
                write(part.text)
                written += part.text
            else:
                write(rest_of(part.text, written) + _sources(part.sources) + "\n")
    except RequestError as error:
        write(f"{peer} did not answer: {error}\n")
        return False
    return True


def rest_of(whole: str, written: str) -> str:
    """What is still to be written; a text that is not what was streamed is written anew."""
    if whole.startswith(written):
        return whole[len(written) :]
    return "\n" + whole


def _sources(sources: tuple[str, ...]) -> str:
    return f"\n(read: {', '.join(sources)})" if sources else ""
