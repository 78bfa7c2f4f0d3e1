"""Where a gateway listens: what was said, or what is free."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.command_line import build_parser
from spade_llm.cli.factory.deployment_spec import DeploymentSpec, read_deployment
from spade_llm.cli.sockets import inherited_socket, open_sockets, with_allowed_hosts
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings.tables import HttpTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def gateway(folder: Path, name: str = "gateway", http: str = "") -> DeploymentSpec:
    (folder / name).mkdir()
    text = f'kind = "gateway"\njid = "{name}"\n[http]\n{http}'
    (folder / name / "agent.toml").write_text(text, encoding="utf-8")
    return next(one for one in read_deployment(folder, domain="localhost") if one.name == name)


def by_default(definition: DeploymentSpec, port: int) -> DeploymentSpec:
    """As if this were the port of gateways that name none."""
    table = HttpTable.model_construct(_fields_set=set(), port=port)
    return replace(definition, settings=definition.settings.model_copy(update={"http": table}))


def test_a_usual_port_that_is_taken_is_left_for_another_and_it_is_said(
    tmp_path: Path, taken: int
) -> None:
    said: list[str] = []

    with open_sockets([by_default(gateway(tmp_path), taken)], None, said.append) as found:
        port = found["gateway@localhost"].port

    assert port != taken
    assert said == [f"http        port {taken} is in use: using {port} instead"]


@pytest.mark.parametrize("is_in_file", [True, False])
def test_a_configured_port_must_be_free(tmp_path: Path, taken: int, is_in_file: bool) -> None:
    definition = gateway(tmp_path, http=f"port = {taken}" if is_in_file else "")
    http = None if is_in_file else f"127.0.0.1:{taken}"
    named = r"agent\.toml: http\.port" if is_in_file else "--http"

    with (
        pytest.raises(ConfigurationError, match=f"{named}: cannot listen at 127.0.0.1:{taken}"),
        open_sockets([definition], http, pytest.fail),
    ):
        raise AssertionError("it listens")


def test_two_gateways_have_two_ports_and_one_option_is_for_one(tmp_path: Path) -> None:
    both = [gateway(tmp_path), gateway(tmp_path, "second")]

    with open_sockets(both, None, lambda _: None) as found:
        assert len({listener.port for listener in found.values()}) == 2

    with (
        pytest.raises(ConfigurationError, match="there are 2"),
        open_sockets(both, "127.0.0.1", pytest.fail),
    ):
        raise AssertionError("both listen")


def test_an_address_that_is_not_of_this_machine_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"\[http\] host: cannot listen at 192\.0\.2\.1"),
        open_sockets([gateway(tmp_path, http='host = "192.0.2.1"')], None, pytest.fail),
    ):
        raise AssertionError("it listens")


def test_a_gateway_in_a_process_of_its_own_gets_the_socket_and_its_address(tmp_path: Path) -> None:
    definition = gateway(tmp_path, http='port = 0\nhost = "localhost"')

    with open_sockets([definition], None, pytest.fail) as found:
        listener = found[definition.jid]
        copy = socket.dup(listener.socket.fileno())
        inherited = inherited_socket(definition, listener.address, copy)[definition.jid]
        with inherited.socket:
            assert inherited.url == listener.url == f"http://localhost:{listener.port}"


def test_names_of_the_command_line_are_beside_those_of_the_file(tmp_path: Path) -> None:
    definition = gateway(tmp_path, http='hosts = ["a.example"]')

    options = build_parser().parse_args(["up", "--allow-host", "b.example"])
    (named,) = with_allowed_hosts([definition], options)

    assert named.settings.http.hosts == ["a.example", "b.example"]
