"""Importing the context layer is cheap: a script that only trims histories needs nothing else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, time
start = time.process_time()
import spade_llm.context
elapsed = time.process_time() - start
heavy = {"spade", "slixmpp", "openai", "chromadb", "pydantic", "numpy"} & set(sys.modules)
print(f"{elapsed:.3f}", *sorted(heavy))
"""


def test_the_context_layer_is_imported_quickly_and_alone() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
        ).stdout.split()
        for _ in range(3)
    ]

    assert min(float(run[0]) for run in runs) < 0.3
    assert [run[1:] for run in runs] == [[], [], []]
