"""What an installed package has: the agents' files, and nothing at the top level but spade_llm."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "from hatchling import build; print(build.build_wheel('.'))"
SOURCES = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for folder in ("spade_llm", "agents", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    built = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=copy, check=True, capture_output=True, text=True
    )
    wheel = copy / built.stdout.splitlines()[-1]
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
