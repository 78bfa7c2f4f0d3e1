"""The API does what its own description says: schemathesis asks every operation, well and badly,
field by field of its description. (Chance is left out: `--phases fuzzing` found nothing more.)

A request of the described form is never answered with 422. It may be with 400: what a description
cannot say, such as that there is a tool of this name, is checked when it is asked.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, 503]
"""
TIME_S = 240.0


@pytest.mark.timeout(300)
async def test_schemathesis_finds_nothing(web: Web, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    run = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "schemathesis.cli", "run", f"{web.agent.url}/openapi.json"),
        *("--checks", "all", "--phases", "examples,coverage"),
        *("--seed", "7", "--no-color"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )

    async with asyncio.timeout(TIME_S):
        told, _ = await run.communicate()

    assert run.returncode == 0, told.decode()[-20_000:]
