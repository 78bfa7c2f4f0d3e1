"""Plays the README's chat and writes its picture: `python -m tests.recording`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.cli.program import ROOT
from tests.recording.picture import draw
from tests.recording.session import play, written_session

PICTURE = ROOT / "docs" / "images" / "chat.svg"


async def _play() -> str:
    with tempfile.TemporaryDirectory() as folder:
        lines = [line async for line in play(written_session(), Path(folder))]
    for line in lines:
        sys.stdout.write(f"{line.seconds:6.2f} s  {line.speaker}: {line.text}\n")
    return draw(lines)


if __name__ == "__main__":
    PICTURE.write_text(asyncio.run(_play()), encoding="utf-8")
