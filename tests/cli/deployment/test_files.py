"""docker/: what can be held of it by reading. No image was built or started by these tests."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
import yaml

from spade_llm.cli.command_line import build_parser
from tests.cli.program import ROOT

DOCKER = ROOT / "docker"
STATE = "/srv/spade-llm/"
VARIABLE = re.compile(r"\$\{(\w+)(?:(:?[-?])([^}]*))?\}")
ONCE = {"prepare", "accounts", "doctor", "backup", "restore"}
SEES_ALL = {"prepare", "accounts", "backup", "restore"}
AGENTS = {"memory", "rag", "tools", "assistant", "gateway"}
STORED = {"memory", "rag", "assistant", "gateway", "doctor"}
"""Services that use PostgreSQL with compose.postgres.yaml."""


@cache
def services() -> dict[str, dict[str, Any]]:
    compose = yaml.safe_load(text("compose.yaml"))
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def text(name: str) -> str:
    return (DOCKER / name).read_text(encoding="utf-8")


@cache
def with_postgres() -> dict[str, dict[str, Any]]:
    """Services of compose.postgres.yaml, each on top of the one that it extends."""
    more = yaml.safe_load(text("compose.postgres.yaml"))["services"]
    return {name: {**services().get(name, {}), **one} for name, one in more.items()}


def said(value: str) -> str:
    """As Compose reads it where .env holds only a domain."""
    return VARIABLE.sub(
        lambda found: "agents.localhost" if "?" in (found[2] or "") else found[3], value
    )


def froms() -> list[str]:
    """Base images, with the arguments' defaults."""
    dockerfile = text("Dockerfile")
    for name, default in re.findall(r"^ARG (\w+)=(\S+)\n\nFROM", dockerfile, re.MULTILINE):
        dockerfile = dockerfile.replace(f"${{{name}}}", default)
    return re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)


def mounts(service: dict[str, Any]) -> list[str]:
    """Folders of the deployment that the service has."""
    targets = [
        volume.replace("${AGENTS:-../agents}", "agents").split(":")[1]
        for volume in service["volumes"]
    ]
    return [target.removeprefix(STATE) for target in targets if target.startswith(STATE)]


def test_every_image_has_a_version() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", text("Dockerfile"), re.MULTILINE))
    composed = (*services().values(), *with_postgres().values())
    images = {service["image"] for service in composed} | set(froms()) - stages

    for image in images:
        name, _, tag = image.partition(":")
        assert re.match(r"\d+\.\d+|22-bookworm", tag), f"{name} has no version: {tag!r}"
        assert "latest" not in tag


@pytest.mark.parametrize("name", sorted(services()))
def test_each_container_is_closed_and_has_limits(name: str) -> None:
    service = services()[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert service["init"] is True
    assert "privileged" not in service


@pytest.mark.parametrize("name", sorted(services()))
def test_nothing_runs_as_root(name: str) -> None:
    """Our image says so itself; the server's starts as root unless it is told otherwise."""
    service = services()[name]
    is_ours = service["image"].startswith("spade-llm-")

    assert is_ours or service["user"] == "10001:10001"
    assert "user" not in service or service["user"] != "root"
    assert re.findall(r"^USER (\S+)", text("Dockerfile"), re.MULTILINE) == ["10001:10001"]


@pytest.mark.parametrize("name", sorted(set(services()) - ONCE))
def test_long_running_services_have_health_checks_and_restarts(name: str) -> None:
    service = services()[name]

    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["cpus"]


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_an_agent_sees_its_own_folder_only_and_no_password_in_its_environment(name: str) -> None:
    service = services()[name]

    assert mounts(service) == [name]
    assert service["environment"]["SPADE_LLM_DATA"] == STATE + name
    assert not [key for key in service["environment"] if "PASSWORD" in key.upper()]


def test_only_what_has_no_network_sees_every_password() -> None:
    for name, service in services().items():
        if len(set(mounts(service))) > 1 and name != "doctor":
            assert name in SEES_ALL
            assert service["network_mode"] == "none"
    assert "networks" not in services()["prepare"]


def test_the_memory_agent_has_no_network_egress_and_only_some_agents_get_the_model_key() -> None:
    inside = yaml.safe_load(text("compose.yaml"))["networks"]["inside"]
    keys = {
        name for name, one in services().items() if "OPENAI_API_KEY" in one.get("environment", {})
    }

    assert inside["internal"] is True
    assert services()["memory"]["networks"] == ["inside"]
    assert keys == {"assistant", "rag", "doctor"}


def test_prosody_is_found_without_dns_at_an_address_that_no_other_container_gets() -> None:
    """Podman 4 answers no names on an internal network."""
    (pool,) = yaml.safe_load(text("compose.yaml"))["networks"]["inside"]["ipam"]["config"]
    given = IPv4Address(said(services()["prosody"]["networks"]["inside"]["ipv4_address"]))
    own, others = IPv4Network(said(pool["subnet"])), IPv4Network(said(pool["ip_range"]))

    assert given in own
    assert given not in others
    assert others.subnet_of(own)
    for name in (*AGENTS, "doctor"):
        hosts = dict(said(line).split(":") for line in services()[name]["extra_hosts"])
        assert hosts.keys() == {"prosody", "agents.localhost", "web.invalid"}
        assert set(hosts.values()) == {str(given)}


def test_a_name_that_podman_4_refuses_is_only_in_a_file_of_its_own() -> None:
    assert "host-gateway" not in text("compose.yaml")
    more = yaml.safe_load(text("compose.host-model.yaml"))["services"]
    models = {name for name, one in services().items() if "OPENAI_API_KEY" in str(one)}
    assert more.keys() == models
    assert all(one["extra_hosts"] == ["host.docker.internal:host-gateway"] for one in more.values())


def test_postgres_is_closed_and_reached_from_inside_only() -> None:
    service = with_postgres()["postgres"]
    inside = yaml.safe_load(text("compose.yaml"))["networks"]["inside"]["ipam"]["config"][0]
    address = said(service["networks"]["inside"]["ipv4_address"])

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "999:999"
    assert service["mem_limit"]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert "ports" not in service
    assert service["networks"].keys() == {"inside"}
    assert IPv4Address(address) in IPv4Network(said(inside["subnet"]))
    assert IPv4Address(address) not in IPv4Network(said(inside["ip_range"]))
    assert address != said(services()["prosody"]["networks"]["inside"]["ipv4_address"])


def test_agents_without_foreign_code_keep_their_state_in_postgres() -> None:
    found = with_postgres()
    address = said(found["postgres"]["networks"]["inside"]["ipv4_address"])
    urls = {found[name]["environment"]["SPADE_LLM_DATABASE"] for name in STORED}

    assert found.keys() == {*STORED, "postgres"}
    assert urls == {"postgresql://agents:${POSTGRES_PASSWORD:?write it into .env}@postgres/agents"}
    for name in STORED:
        assert found[name]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert [said(one) for one in found[name]["extra_hosts"]] == [f"postgres:{address}"]
        assert "inside" in found[name]["networks"]
    for name, count in (("assistant", 2), ("memory", 1)):
        options = build_parser().parse_args([said(word) for word in found[name]["command"]])
        assert (options.command, options.replicas) == ("run", count)


def test_compose_2_is_named_where_it_is_needed() -> None:
    compose = yaml.safe_load(text("compose.yaml"))
    page = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")

    assert "name" in compose  # Compose 1 refuses a file with it.
    assert "version" not in compose
    assert "Compose v2" in text("compose.yaml").partition("services:")[0]
    assert "Compose v2" in page.partition("## With Docker")[2].partition("```sh")[0]


def test_a_server_is_local_until_it_is_opened_explicitly() -> None:
    published = {port for service in services().values() for port in service.get("ports", [])}

    assert published
    assert all(said(port).startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", sorted(services()))
def test_its_command_is_one_that_we_have(name: str) -> None:
    service = services()[name]
    if "command" in service:
        options = build_parser().parse_args([said(word) for word in service["command"]])
        assert options.command in {"host", "run", "doctor"}
    for script in re.findall(r"/scripts/([\w.-]+)", str(service.get("entrypoint", ""))):
        assert (DOCKER / script).is_file()
        assert f"./{script}:/scripts/{script}:ro" in service["volumes"]


def test_every_variable_is_explained_in_the_example() -> None:
    used = {
        found[1]
        for name in ("compose.yaml", "compose.federation.yaml", "compose.postgres.yaml")
        for found in VARIABLE.finditer(text(name))
    }
    explained = set(re.findall(r"^#? ?([A-Z_]+)=", text(".env.example"), re.MULTILINE))

    assert used - explained == {"BACKUPS"}
    assert explained - used == {"COMPOSE_FILE"}


def test_onnxruntime_contacts_nothing_in_the_image_and_the_units() -> None:
    setting = "ORT_DISABLE_TELEMETRY=1"

    assert setting in text("Dockerfile")
    assert setting in text("systemd/spade-llm@.service")


def test_the_image_copies_what_is_there_and_what_the_builder_gets() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+)$", text("Dockerfile"), re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    for line in copied:
        for source in line.split()[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


def test_the_web_chat_has_a_pinned_version_and_loads_nothing_from_other_hosts() -> None:
    page, build = text("web/index.html"), text("web/build.sh")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)

    assert re.search(r"^version=\d+\.\d+\.\d+$", build, re.MULTILINE)
    assert re.search(r"^sha512=[0-9a-f]{128}$", build, re.MULTILINE)
    assert "sha512sum --check" in build
    loaded = re.findall(r'<(?:script|link)[^>]*"(?:converse/[^"]*\.(?:js|css))"[^>]*>', page)
    assert len(loaded) == 2
    assert all('integrity="sha384-' in tag for tag in loaded)
    assert policy is not None
    assert not re.search(r"https?:|unsafe-eval|\*", policy[1])


@pytest.mark.parametrize("script", sorted(path.name for path in DOCKER.glob("*.sh")))
def test_scripts_are_readable_for_their_shell(script: str) -> None:
    shell = text(script).splitlines()[0].removeprefix("#!")

    done = subprocess.run(
        [shell, "-n", DOCKER / script], capture_output=True, check=False, timeout=30
    )

    assert done.returncode == 0, done.stderr
    assert "set -eu" in text(script)


@pytest.mark.parametrize("unit", sorted(path.name for path in DOCKER.glob("systemd/*.service")))
def test_the_units_start_what_the_containers_start(unit: str) -> None:
    service = read_unit(unit)["Service"]
    program, *words = shlex.split(service["ExecStart"])

    assert service["User"] == "spade-llm"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    if program.endswith("spade-llm"):
        assert build_parser().parse_args(words).command == "run"
    elif program.endswith("sh"):
        assert words[0] == "/opt/spade-llm/docker/accounts.sh"
    else:
        assert words == ["-F", "--config", "/var/lib/spade-llm/server/prosody.cfg.lua"]


def read_unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # as its documentation says
    unit.read_string(text(f"systemd/{name}"))
    return unit
