"""Every example runs as a user would run it, says what it should, and stays short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick
EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "01_echo.py": ["Is anybody there?"],
    "02_chat.py": ["No language model is configured", "Model: offline", "smart_window_size"],
    "03_memory.py": ["My name is Ada"],
    "04_documents.py": ["199 steps", "sources: guide.md, passage 2"],
    "05_tools.py": ["It is 7 °C in Oslo."],
    "06_plain_spade.py": ["The meeting is on Friday"],
    "07_guardrails.py": ["I do not talk", "is [secret], and", "Changed by: a guardrail", "Today –"],
    "08_coordinator.py": ["trains@localhost: At 23:10.", "weather@localhost: No, it stays dry."],
}


def test_every_example_is_listed_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_says_what_it_should(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for words in SAYS[name]:
        assert words in done.stdout


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_is_short(name: str) -> None:
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()

    assert len([line for line in lines if line.strip()]) < 60
