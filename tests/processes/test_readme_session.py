"""The chat in the README happens again, and its pictures are made and show it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest
from PIL import Image

from spade_llm.providers.local_embedder.weights import find_weights
from tests.recording.__main__ import CONSOLE, PICTURE, TERMINAL
from tests.recording.console import WIDTH, play_console, write_webp
from tests.recording.film import MAX_FILM_S, cut
from tests.recording.screens import draw_screens
from tests.recording.session import play, shape, written_session
from tests.recording.terminal import play_terminal

if TYPE_CHECKING:
    from pathlib import Path

MAX_SVG_BYTES = 300_000
MAX_WEBP_BYTES = 1_000_000


@pytest.mark.server
@pytest.mark.timeout(240)
async def test_the_chat_in_the_readme_happens_again(tmp_path: Path) -> None:
    session = written_session()

    played = [line async for line in play(session, tmp_path)]

    for written, line in zip(session, played, strict=True):
        assert shape(line.text).startswith(shape(written.text))


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_picture_shows_the_chat(page: str) -> None:
    texts = fromstring(PICTURE.read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}text")
    shown = shape(" ".join("".join(text.itertext()) for text in texts if not text.get("class")))

    for line in written_session(page):
        # The picture shows what stands in asterisks in bold.
        assert shape(line.text.replace("*", "")) in shown


@pytest.mark.server
@pytest.mark.timeout(240)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on PATH")
async def test_the_terminal_is_recorded_again(tmp_path: Path) -> None:
    picture = tmp_path / "terminal.svg"

    picture.write_text(draw_screens(cut(await play_terminal(tmp_path))), encoding="utf-8")

    check_terminal(picture)


@pytest.mark.server
@pytest.mark.timeout(240)
async def test_the_console_is_recorded_again(tmp_path: Path) -> None:
    if find_weights(tmp_path) is None:
        pytest.skip("all-MiniLM-L6-v2 is not installed here: the question finds no source")
    picture = tmp_path / "console.webp"

    write_webp(cut(await play_console(tmp_path)), picture)

    check_console(picture)


def test_the_moving_pictures_in_the_readme_are_small_and_show_the_whole_chat() -> None:
    check_terminal(TERMINAL)
    check_console(CONSOLE)


def check_terminal(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    root = fromstring(svg)
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    shown = "\n".join("".join(text.itertext()) for text in texts)
    duration = re.search(r"animation: play ([\d.]+)s", svg)
    assert duration is not None

    assert len(svg) < MAX_SVG_BYTES
    assert float(duration[1]) <= MAX_FILM_S
    for text in ("spade-llm chat", "--soft", "what I remember about you", "(stopped)"):
        assert text in shown
    # A viewer that shows no animations shows the last screen.
    assert "(stopped)" in root.get("aria-label", "")


def check_console(path: Path) -> None:
    with Image.open(path) as picture:
        assert picture.width == WIDTH
        assert getattr(picture, "n_frames", 1) > 30
    assert path.stat().st_size < MAX_WEBP_BYTES
