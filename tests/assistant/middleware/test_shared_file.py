"""Which file a message means, and how its name may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.middleware.file_sharing import (
    MAX_NAME_CHARS,
    host_of,
    shared_file,
    shown_name,
)

URL = "https://upload.home:5281/file_share/x7/the%20tides.md"


def test_an_address_beside_the_same_text_is_the_file_alone() -> None:
    file = shared_file(URL, file=URL)

    assert file is not None
    assert (file.url, file.name, file.text) == (URL, "the tides.md", "")


def test_text_beside_a_shared_file_is_kept() -> None:
    file = shared_file(f"What is this?\n{URL}", file=URL)

    assert file is not None
    assert file.text == "What is this?"


@pytest.mark.parametrize("text", ["", "hello", f"look: {URL}", f"{URL} {URL}", "https://"])
def test_text_that_is_more_or_less_than_an_address_is_no_file(text: str) -> None:
    assert shared_file(text, file="") is None


def test_an_address_with_a_key_is_an_encrypted_file() -> None:
    file = shared_file("aesgcm://upload.home/x/y.jpg#00ff", file="")

    assert file is not None
    assert file.is_encrypted


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Upload.Home/x", "upload.home:443"),
        ("http://upload.home/x", "upload.home:80"),
        ("https://me@upload.home:5281/x", "upload.home:5281"),
        ("https://upload.home:99999/x", ""),
        ("https://[::1/x", ""),
        ("nothing", ""),
    ],
)
def test_a_host_is_told_with_its_port(url: str, host: str) -> None:
    assert host_of(url) == host


def test_a_name_can_turn_no_text_around_and_leads_nowhere() -> None:
    assert shown_name("../../etc/pass\u202ecod.exe\x00") == "passcod.exe"


@given(st.text(), st.text())
def test_any_text_has_a_file_or_none(text: str, file: str) -> None:
    found = shared_file(text, file=file)

    if found is not None:
        assert found.name.isprintable()
        assert len(found.name) <= MAX_NAME_CHARS
        assert "/" not in found.name
        host_of(found.url)
