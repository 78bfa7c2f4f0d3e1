"""`spade-llm invite` makes codes for an agent, also while that runs, and takes them back."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from spade_llm.cli import main
from spade_llm.xmpp.invitations import Invitations

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def an_agent_with_a_list(data: Path) -> Invitations:
    home = data / "agents" / "assistant@localhost"
    home.mkdir(parents=True)
    return await Invitations(home / "admission-assistant.db").__aenter__()


def invite(data: Path, *more: str) -> int:
    return main(["invite", "--data", str(data), *more])


async def test_a_code_that_was_shown_lets_in_and_can_be_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = await an_agent_with_a_list(tmp_path)

    assert await to_thread(invite, tmp_path, "--note", "for Eve", "--uses", "2") == 0
    code = capsys.readouterr().out.split()[1]
    assert await agent.redeem(code, "eve@far")
    assert await to_thread(invite, tmp_path, "--list") == 0
    opened, guest = capsys.readouterr().out.splitlines()
    assert "1 left  for Eve" in opened
    assert "eve@far" in guest and "for good" in guest
    assert await to_thread(invite, tmp_path, "--revoke", "eve@far") == 0
    assert await to_thread(invite, tmp_path, "--revoke", opened.split()[1]) == 0
    assert await to_thread(invite, tmp_path, "--revoke", "eve@far") == 1

    assert not await agent.redeem(code, "mallory@far")
    await agent.__aexit__()


def test_inviting_to_an_open_agent_reports_that_no_invitation_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invite(tmp_path) == 1

    assert "[admission] allow" in capsys.readouterr().err
