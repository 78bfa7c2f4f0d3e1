"""The benchmarks run and their answers are right; how fast they are here says nothing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from subprocess import run
from typing import TYPE_CHECKING

import pytest

from bench.results import read
from bench.start import IMPORTS

if TYPE_CHECKING:
    from pathlib import Path

SUBSET = ("wire", "costs", "context", "memory-local", "recall", "documents-recall", "simulation")
"""On the wire and without, a chat through all services, quality; 25 s on a quiet machine."""


@pytest.mark.server
@pytest.mark.timeout(240)
def test_a_quick_run_of_some_is_right_and_can_be_read_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--into", str(tmp_path), *SUBSET]
    ended = run(command, capture_output=True, text=True, timeout=220)

    assert ended.returncode == 0, ended.stderr
    (path,) = tmp_path.iterdir()
    found = read(path)
    assert tuple(part.name for part in found.parts) == SUBSET
    assert all(part.rows for part in found.parts)
    assert all(row.ours >= 0 for row in found.rows.values())


@pytest.mark.parametrize("module", IMPORTS)
def test_the_modules_whose_import_is_measured_exist(module: str) -> None:
    assert find_spec(module)
