"""A deployment from its backup: the same accounts, the same data; never over another's files."""

from __future__ import annotations

import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from spade_llm.xmpp.servers.data_directory import lock_directory
from tests.cli.deployment.hosted import DOMAIN, attempt, new_deployment, script
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.deployment.hosted import Hosted

FRIEND = "ada@elsewhere.example"


async def logged_in(hosted: Hosted) -> Client:
    client = Client(f"you@{DOMAIN}", hosted.password("people", "you"))
    await client.log_in(hosted.endpoint)
    return client


@pytest.mark.server
async def test_a_backup_restores_all_data(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path, "memory")
    hosted.prepare()
    await hosted.make_accounts()
    async with hosted.serving():
        person = await logged_in(hosted)
        await person.xmpp.update_roster(FRIEND, name="Ada")
        await person.close()
    (hosted.root / "memory" / "memory.db").write_bytes(b"what is remembered")

    await script("sh", "backup.sh", str(hosted.root), str(tmp_path / "all.tar.gz"))
    shutil.rmtree(hosted.root)
    await script("sh", "restore.sh", str(hosted.root), str(tmp_path / "all.tar.gz"))

    hosted.prepare()
    assert await hosted.make_accounts() == ""
    assert (hosted.root / "memory" / "memory.db").read_bytes() == b"what is remembered"
    async with hosted.serving():
        person = await logged_in(hosted)
        await person.xmpp.get_roster()
        assert person.xmpp.client_roster[FRIEND]["name"] == "Ada"
        await person.close()


async def test_a_backup_is_for_its_owner_only(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare()

    await script("sh", "backup.sh", str(hosted.root), str(tmp_path / "all.tar.gz"))

    assert stat.S_IMODE((tmp_path / "all.tar.gz").stat().st_mode) == 0o600


async def test_an_agent_that_runs_is_not_copied(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare()
    home = hosted.root / "memory" / "agents" / f"memory@{DOMAIN}"

    with lock_directory(home, what="the agent"):
        output, status = await attempt(
            "sh", "backup.sh", str(hosted.root), str(tmp_path / "all.tar.gz")
        )

    assert status == 1
    assert output == f"memory@{DOMAIN} runs: stop it first\n"
    assert not (tmp_path / "all.tar.gz").exists()


async def test_nothing_is_restored_over_files_that_are_there(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare()
    await script("sh", "backup.sh", str(hosted.root), str(tmp_path / "all.tar.gz"))

    output, status = await attempt(
        "sh", "restore.sh", str(hosted.root), str(tmp_path / "all.tar.gz")
    )

    assert status == 1
    assert "restore into an empty folder" in output


async def test_a_damaged_backup_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "all.tar.gz").write_bytes(b"\x1f\x8b\x08 cut off")

    _, status = await attempt(
        "sh", "restore.sh", str(tmp_path / "root"), str(tmp_path / "all.tar.gz")
    )

    assert status != 0
    assert not (tmp_path / "root").exists()
