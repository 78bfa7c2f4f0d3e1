"""What the package offers, and that asking for nothing costs nothing."""

from __future__ import annotations

import subprocess
import sys

import spade_llm.tools

HEAVY = ("jsonschema", "pydantic", "spade", "openai")


def test_every_public_name_is_there() -> None:
    names = spade_llm.tools.__all__

    assert all(getattr(spade_llm.tools, name) is not None for name in names)


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = (
        f"import sys, spade_llm.tools; print([name for name in {HEAVY} if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stdout.strip() == "[]"
