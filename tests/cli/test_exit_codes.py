"""How a command ends, seen from the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RUN_S = 60


def test_a_reader_that_has_seen_enough_costs_no_traceback(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = (sys.executable, "-m", "spade_llm.cli", "mcp", "--print-config")

    done = subprocess.run(
        [*command, "--data", str(tmp_path)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")
