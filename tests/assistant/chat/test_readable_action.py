"""What a person does in a chat, as a model reads it."""

from __future__ import annotations

import pytest

from spade_llm.assistant.chat.reply_presenter import readable_action


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("/me waves", "* ada waves"),
        ("/meet waves", "/meet waves"),
        ("say /me waves", "say /me waves"),
        ("/me", "/me"),
    ],
)
def test_a_slash_me_action_names_its_author(text: str, read: str) -> None:
    assert readable_action(text, who="ada@home") == read
