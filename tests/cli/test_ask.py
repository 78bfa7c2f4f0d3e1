"""A question to an assistant that is offline."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import program_in
from tests.cli.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.program import Program

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(240)]
NO_WEB = ("--http", "off")


@pytest.fixture
def program(tmp_path: Path, unused_tcp_port: int) -> Program:
    return program_in(tmp_path, has_prosody=False, port=unused_tcp_port)


async def test_a_question_waits_for_an_assistant_that_is_offline_and_can_be_left(
    program: Program, tmp_path: Path
) -> None:
    async with program.up(*NO_WEB) as up:
        await up.ready()
        await up.stop()
    assistant = tmp_path / "elsewhere"
    shutil.move(program.agents / "assistant", assistant)
    question = program.command("ask", "what is 12 * 12?")

    async with program.up(*NO_WEB) as up:
        await up.ready()
        async with on_terminal(question, program.environment) as left:
            await left.shows("assistant@localhost is offline: waiting for it (Ctrl-C leaves)")
            left.ctrl_c()
            await left.shows("stopped: the question is withdrawn")
            assert await left.ended() == 130
        late = await program.run("ask", "what is 12 * 12?", "--timeout", "4")
        async with on_terminal(question, program.environment, is_typed=True) as asked:
            await asked.shows("is offline: waiting for it")
            run = program.command("run", str(assistant / "agent.toml"))
            async with on_terminal(run, program.environment, is_typed=True) as running:
                await running.shows("ready")
                await asked.shows("144")
                assert await asked.ended() == 0
                running.ctrl_c()
                await running.ended()

    assert (late.status, late.output) == (1, "")
    assert "did not answer within 4 s" in late.errors
