"""What a model reads beside what others say: changed on purpose only."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from spade_llm.assistant.turn.prompt import prompt_template, render_prompt

FOLDER = Path(__file__).parents[3] / "spade_llm" / "assistant" / "turn" / "prompts"
PINNED = {
    "answer_form": "272a6615075e",
    "assistant": "b7bfcc8fff17",
    "call_arguments": "d9efbc9ba291",
    "call_first": "e7e3392c23b7",
    "call_stopped": "2c3a2f9064e2",
    "calls_used_up": "ba263f5ef07b",
    "coordinator": "f503d61b567e",
    "file_summary": "a547a82dc0f2",
    "not_run_expired": "4d51c6e39131",
    "not_run_no": "f505710921f2",
    "not_run_nobody": "dd07a9dcaf40",
    "not_run_other": "af3e5667521f",
    "repair": "817af132e279",
    "turn_stopped": "033b03063a1e",
}
"""The first 12 digits of each file's SHA-256. A new text gets its line here, after a look at what
models make of it."""
VALUES = {
    "answer_form": {"schema"},
    "call_arguments": {"tool", "schema"},
    "call_first": {"names"},
    "file_summary": {"language"},
    "repair": {"fault"},
}
"""What is filled in; nothing, in all others."""


def test_every_prompt_is_as_it_was_agreed() -> None:
    found = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        for path in FOLDER.glob("*.md")
    }

    assert found == PINNED


@pytest.mark.parametrize("name", PINNED)
def test_a_prompt_has_the_values_that_it_is_given(name: str) -> None:
    assert set(re.findall(r"{(\w*)}", prompt_template(name))) == VALUES.get(name, set())


def test_braces_in_a_value_are_left_alone() -> None:
    schema = '{"type": "object", "title": "{fault}"}'

    assert schema in render_prompt("answer_form", schema=schema)
