"""Plays what the README shows and writes its pictures: `python -m tests.recording [NAME ...]`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.cli.program import ROOT
from tests.recording.console import play_console, write_webp
from tests.recording.film import cut
from tests.recording.picture import draw
from tests.recording.screens import draw_screens
from tests.recording.session import play, written_session
from tests.recording.terminal import play_terminal

IMAGES = ROOT / "docs" / "images"
PICTURE = IMAGES / "chat.svg"
TERMINAL = IMAGES / "terminal.svg"
CONSOLE = IMAGES / "console.webp"


async def _chat(folder: Path) -> None:
    lines = [line async for line in play(written_session(), folder)]
    for line in lines:
        sys.stdout.write(f"{line.seconds:6.2f} s  {line.speaker}: {line.text}\n")
    PICTURE.write_text(draw(lines), encoding="utf-8")


async def _terminal(folder: Path) -> None:
    TERMINAL.write_text(draw_screens(cut(await play_terminal(folder))), encoding="utf-8")


async def _console(folder: Path) -> None:
    write_webp(cut(await play_console(folder)), CONSOLE)


RECORDINGS = {"chat": _chat, "terminal": _terminal, "console": _console}

if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDINGS:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(RECORDINGS[name](Path(folder)))
