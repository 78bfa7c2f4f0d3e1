"""Plays the session and writes what was said: `python -m tests.session docs/session.md`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.session.play import play_phone, play_terminal, stage

INTRODUCTION = """\
# A session that happened

Two assistants, a memory, documents and tools on Prosody, each agent in a process of its own
(`spade-llm up --processes`); a telephone without a screen (slixmpp, announced as Dino), and
profanity in a terminal.
The model is a small program that speaks OpenAI's protocol and answers from what it is given.
`python -m tests.session docs/session.md` writes this page; the tests play it again and compare.
"""


async def _play() -> str:
    """The page."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder)) as here:
            await play_phone(here)
            await play_terminal(here, Path(folder) / "terminal")
    return INTRODUCTION + "\n" + here.transcript.text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(asyncio.run(_play()), encoding="utf-8")
