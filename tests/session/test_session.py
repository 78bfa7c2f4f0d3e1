"""The page of docs/session.md happens again: real clients, Prosody, every agent in a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.program import ROOT
from tests.session import terminal
from tests.session.play import play_phone, play_terminal, stage
from tests.session.transcript import shape

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.server, pytest.mark.timeout(240)]


async def test_the_session_of_the_page_happens_again(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "session.md").read_text(encoding="utf-8")

    async with stage(tmp_path) as here:
        await play_phone(here)
        told = shape(here.transcript.text)
        assert told in shape(page)
        terminal.require()
        await play_terminal(here, tmp_path / "terminal")

    assert shape(here.transcript.text) in shape(page)
