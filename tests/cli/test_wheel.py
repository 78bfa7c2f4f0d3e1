"""What an installed package has: the agents' files, and nothing at the top level but spade_llm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.program import Program, program_in

ROOT = Path(__file__).parents[2]
BUILD = "from hatchling import build; print(build.build_wheel('.'))"
SOURCES = ("pyproject.toml", "README.md", "LICENSE")


INSTALL_S = 600


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for folder in ("spade_llm", "agents", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    built = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=copy, check=True, capture_output=True, text=True
    )
    return Path(copy / built.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_ships_every_module(wheel_names: set[str]) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "spade_llm").rglob("*.py")}

    assert modules <= wheel_names


def test_the_wheel_ships_every_prompt(wheel_names: set[str]) -> None:
    prompts = {str(path.relative_to(ROOT)) for path in (ROOT / "spade_llm").rglob("*.md")}

    assert "spade_llm/assistant/turn/prompts/assistant.md" in prompts
    assert prompts <= wheel_names


def test_the_wheel_ships_what_is_added_to_prosody(wheel_names: set[str]) -> None:
    assert "spade_llm/xmpp/servers/prosody_modules/mod_spade_llm_peers.lua" in wheel_names


def test_the_wheel_ships_the_console(wheel_names: set[str]) -> None:
    pages = (ROOT / "spade_llm" / "gateway" / "console").rglob("*")
    files = {str(path.relative_to(ROOT)) for path in pages if path.is_file()}

    assert "spade_llm/gateway/console/index.html" in files
    assert files <= wheel_names


def test_the_wheel_ships_the_standard_agents(wheel_names: set[str]) -> None:
    files = [path for path in (ROOT / "agents").glob("*/*") if path.suffix in {".toml", ".md"}]

    assert {
        f"spade_llm/_agents/{path.relative_to(ROOT / 'agents')}" for path in files
    } <= wheel_names


def test_the_wheel_has_no_other_top_level_name(wheel_names: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"spade_llm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram(Program):
    """`spade-llm` as pipx and uv install it, with the standard agents."""

    executable: Path

    def command(self, *words: str) -> tuple[str, ...]:
        return (str(self.executable), *words, "--data", str(self.data))

    @property
    def up_arguments(self) -> tuple[str, ...]:
        return ("--no-download",)

    @property
    def environment(self) -> dict[str, str]:
        variables = Program.environment.__get__(self)
        return {key: value for key, value in variables.items() if key != "PYTHONPATH"}


@pytest.fixture
def installed(wheel: Path, tmp_path: Path, unused_tcp_port: int) -> InstalledProgram:
    venv.create(tmp_path / "venv", with_pip=False)
    programs = tmp_path / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    # As with uv, a module is compiled when it is imported: few of all are.
    options = ("--disable-pip-version-check", "-qq", "--no-compile")
    done = subprocess.run(
        [*pip, "install", *options, str(wheel)], capture_output=True, text=True, timeout=INSTALL_S
    )
    if done.returncode and not os.environ.get("SPADE_LLM_REQUIRE_SERVERS"):
        pytest.skip(f"no package index: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    program = program_in(tmp_path, has_prosody=False, port=unused_tcp_port)
    return InstalledProgram(
        data=program.data,
        agents=program.agents,
        has_prosody=False,
        executable=programs / "spade-llm",
    )


@pytest.mark.thorough
@pytest.mark.timeout(INSTALL_S)
async def test_a_fresh_installation_without_extras_starts_answers_and_stops(
    installed: InstalledProgram,
) -> None:
    async with installed.up() as up:
        await up.ready()
        answer = await installed.run("ask", "what is 12 * 12?")
        status = await installed.run("ask", "/status")
        doctor = await installed.run("doctor")
        assert await up.stop() == 0
    async with installed.up("--processes") as up_in_processes:
        await up_in_processes.ready()
        status_in_processes = await installed.run("ask", "/status")
        assert await up_in_processes.stop() == 0

    left_out = [line for line in up.lines if line.startswith("left out")]
    assert [line.split()[2] for line in left_out] == ["rag@localhost:", "gateway@localhost:"]
    assert (answer.status, "144" in answer.output) == (0, True)
    assert "Everything is reachable." in status.output
    # Nor does an assistant in a process of its own ask the agent that is left out.
    assert "Everything is reachable." in status_in_processes.output
    assert doctor.status == 0, doctor.output
    assert len(up.lines) < 20
