"""What the command keeps in its data directory: the lock, accounts, and where it runs."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli import context
from spade_llm.cli.command_line import build_parser
from spade_llm.cli.xmpp_server import wanted_ports
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import load_agent
from spade_llm.xmpp.connection.settings import full_jid, parse_address
from spade_llm.xmpp.servers.data_directory import (
    AccountPasswords,
    RunRecord,
    is_locked,
    lock_directory,
    read_run_record,
)

if TYPE_CHECKING:
    from pathlib import Path

RECORD = RunRecord(
    pid=7,
    host="127.0.0.1",
    port=5222,
    domain="localhost",
    ca=None,
    agents=(),
    person="you@localhost",
)


def test_a_second_holder_gets_the_pid_of_the_first(tmp_path: Path) -> None:
    with (
        lock_directory(tmp_path, what="it"),
        pytest.raises(ConfigurationError, match=f"it is already running .pid {os.getpid()}."),
        lock_directory(tmp_path, what="it"),
    ):
        pass


def test_a_directory_is_free_again_after_its_holder(tmp_path: Path) -> None:
    with lock_directory(tmp_path / "new", what="it"):
        assert is_locked(tmp_path / "new")

    assert not is_locked(tmp_path / "new")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(ConfigurationError, match="--data: .*file"),
        lock_directory(tmp_path / "file" / "data", what="it"),
    ):
        pass


def test_a_disk_without_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.check_disk_space(tmp_path / "data")
    monkeypatch.setattr(context, "MIN_FREE_BYTES", 2**62)

    with pytest.raises(ConfigurationError, match="data' is full .* free some space"):
        context.check_disk_space(tmp_path / "data")


def test_a_password_that_others_can_read_is_closed_to_them_with_a_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    accounts = AccountPasswords(tmp_path, warn=warnings.append)
    password = accounts.get_or_make("ada@localhost")
    file = accounts.path("ada@localhost")
    file.chmod(0o644)

    assert accounts.get("ada@localhost") == password
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(warnings) == 1
    assert str(file) in warnings[0]
    assert "644" in warnings[0]

    file.chmod(0o644)
    accounts.keep("ada@localhost", "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_password_is_made_once_and_for_us_only(tmp_path: Path) -> None:
    accounts = AccountPasswords(tmp_path)

    password = accounts.get_or_make("you@localhost")

    assert accounts.get_or_make("you@localhost") == password == accounts.find("you@localhost")
    assert stat.S_IMODE(accounts.path("you@localhost").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "accounts").stat().st_mode) == 0o700


def test_a_password_file_that_is_named_as_its_jid_was_written_is_still_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "accounts").mkdir()
    (tmp_path / "accounts" / "Ada@localhost").write_text("kept by version 0.1\n")

    assert AccountPasswords(tmp_path).get("Ada@localhost") == "kept by version 0.1"


def test_a_missing_password_says_where_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"accounts/ada@localhost"):
        AccountPasswords(tmp_path).get("ada@localhost")


@pytest.mark.parametrize("jid", ["ada", "@localhost", "../ada@localhost", "ada@localhost/x"])
def test_only_bare_jids_have_password_files(tmp_path: Path, jid: str) -> None:
    with pytest.raises(ConfigurationError, match="not a bare JID"):
        AccountPasswords(tmp_path).get_or_make(jid)


def test_the_record_of_a_run_that_has_ended_is_not_believed(tmp_path: Path) -> None:
    RECORD.write(tmp_path)

    assert read_run_record(tmp_path) is None


def test_the_record_of_a_run_is_found_while_it_runs(tmp_path: Path) -> None:
    with lock_directory(tmp_path, what="it"):
        RECORD.write(tmp_path)

        assert read_run_record(tmp_path) == RECORD


def test_the_port_of_last_time_is_preferred(tmp_path: Path, unused_tcp_port: int) -> None:
    (tmp_path / "port").write_text(f"{unused_tcp_port}\n")

    assert wanted_ports(tmp_path, None)[0] == unused_tcp_port


def test_a_port_that_was_asked_for_is_no_other(tmp_path: Path, unused_tcp_port: int) -> None:
    (tmp_path / "port").write_text(f"{unused_tcp_port}\n")

    assert wanted_ports(tmp_path, 5999) == (5999,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.org", ("example.org", 5222)),
        ("example.org:5223", ("example.org", 5223)),
        ("[::1]", ("::1", 5222)),
        ("[::1]:5223", ("::1", 5223)),
    ],
)
def test_addresses_are_read(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["", ":5222", "host:", "host:0", "host:x", "host:70000", "::1"])
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
        parse_address(text)


def test_a_name_is_on_the_domain_and_a_jid_stays() -> None:
    assert full_jid("memory", "localhost") == "memory@localhost"
    assert full_jid("memory@elsewhere.org", "localhost") == "memory@elsewhere.org"


@pytest.mark.parametrize("server", ["", '[server]\nhost = "127.0.0.1"\n'])
def test_an_account_may_be_registered_on_whichever_server_is_found(
    server: str, tmp_path: Path
) -> None:
    """Beside a running `up`, and on the server of the agent.toml."""
    path = tmp_path / "agent.toml"
    path.write_text(f'jid = "bot@localhost"\nkind = "tools"\n{server}')
    run = ["run", str(path), "--data", str(tmp_path)]
    with lock_directory(tmp_path, what="up"):
        RECORD.write(tmp_path)
        found = [
            context.find_context(build_parser().parse_args([*run, *option]), load_agent(path))
            for option in ([], ["--register"])
        ]

    assert [one.may_register for one in found] == [False, True]
