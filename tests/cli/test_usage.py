"""`spade-llm usage` reads what an assistant has written down, also while that runs."""

from __future__ import annotations

import json
from asyncio import to_thread
from typing import TYPE_CHECKING

from spade_llm.assistant.middleware.usage_ledger import UsageLedger
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def a_record(data: Path) -> UsageLedger:
    home = data / "agents" / "assistant@localhost"
    home.mkdir(parents=True)
    return await UsageLedger(home / "usage-assistant.db").__aenter__()


def usage(data: Path, *more: str) -> int:
    return main(["usage", "--data", str(data), *more])


async def test_an_operator_sees_all_peers_by_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = await a_record(tmp_path)
    await ledger.add(
        "ada@x", UsageTotals(turns=3, model_calls=4, prompt_tokens=50, estimated_tokens=50)
    )
    await ledger.add("bob@x", UsageTotals(turns=1))

    assert await to_thread(usage, tmp_path) == 0
    shown = capsys.readouterr().out.splitlines()
    assert await to_thread(usage, tmp_path, "--json", "--peer", "ada@x") == 0
    (one,) = map(json.loads, capsys.readouterr().out.splitlines())
    await ledger.__aexit__()

    assert ["ada@x" in shown[0], "bob@x" in shown[1], len(shown)] == [True, True, 2]
    assert (one["peer"], one["turns"], one["model_calls"]) == ("ada@x", 3, 4)


def test_a_missing_usage_record_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert usage(tmp_path, "--agent", "nobody") == 1
    assert "there is no usage record of 'nobody'" in capsys.readouterr().err
