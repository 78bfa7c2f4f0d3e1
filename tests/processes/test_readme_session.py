"""The chat in the README happens again, and its picture shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest

from tests.recording.__main__ import PICTURE
from tests.recording.session import play, shape, written_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.server
@pytest.mark.quick
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
