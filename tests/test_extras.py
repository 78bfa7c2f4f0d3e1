"""Optional dependencies: agents work without them, and a missing one is named with its command.

The packages that the core requirements do not bring are blocked in a process of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bench.installed import closure
from spade_llm.core.imports import PACKAGES, install_command

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
DISTRIBUTIONS = packages_distributions()

NEEDS_AN_EXTRA = [
    (
        "documents",
        "from spade_llm.rag import DocumentLibrary;"
        " DocumentLibrary(Path('library'), embedder=None)",
    ),
    ("documents", "from spade_llm.rag import Chroma; Chroma()"),
    (
        "documents",
        "from spade_llm.rag.loading.loader import Loader;"
        " (Path.cwd() / 'a.html').write_text('<p>a');"
        " loader = Loader([Path.cwd()]); loader.read(*loader.find('a.html'))",
    ),
    (
        "gateway",
        "from spade_llm.agents import GatewayAgent;"
        " from spade_llm.gateway.agent_clients import AgentAddresses;"
        " from spade_llm.gateway.options import HttpOptions;"
        " addresses = AgentAddresses(assistants=());"
        " GatewayAgent('a@localhost', 'a', addresses=addresses, http=HttpOptions())",
    ),
    (
        "mcp",
        "from spade_llm.tools.mcp import McpServer, McpToolbox, Pins, StdioServer;"
        " server = McpServer(name='a', endpoint=StdioServer(command=('a',)));"
        " McpToolbox(server, Pins(Path('pins')))",
    ),
    ("mcp", "from spade_llm.cli import main; sys.exit(main(['mcp', '--data', 'data']))"),
    (
        "postgres",
        "from spade_llm.core.database import DatabaseUrl;"
        " from spade_llm.core.postgres import PostgresServer;"
        " PostgresServer(DatabaseUrl('postgresql://a@b/c'), agent='a@b')",
    ),
    (
        "local-embeddings",
        "import asyncio; from spade_llm.providers import MiniLmEmbedder;"
        " asyncio.run(MiniLmEmbedder.load(Path('weights'), cache=Path('cache')))",
    ),
    (
        "telemetry",
        "import asyncio; from spade_llm.core.tracing import Tracer, TracingConfig;"
        " tracer = Tracer(TracingConfig(endpoint='http://localhost'), service='a', instance='a');"
        " asyncio.run(tracer.__aenter__())",
    ),
    (
        "tokens",
        "from spade_llm.context.token_counter import counter_for;"
        " counter_for(tokenizer=Path('tokenizer.json'))",
    ),
]


def test_agents_with_memory_need_no_extra(tmp_path: Path) -> None:
    example = ROOT / "examples" / "03_memory.py"

    done = _without_extras(
        f"import runpy; runpy.run_path({str(example)!r}, None, '__main__')", tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert "Your name is Ada" in done.stdout.rpartition("What is my name?")[2]


@pytest.mark.thorough
@pytest.mark.parametrize(("extra", "program"), NEEDS_AN_EXTRA)
def test_a_missing_extra_is_named_with_its_command(
    extra: str, program: str, tmp_path: Path
) -> None:
    done = _without_extras(program, tmp_path)

    assert done.returncode == 1, done.stdout
    assert f"pip install 'spade-llm-agents[{extra}]'" in done.stderr.splitlines()[-1]


@pytest.mark.thorough
@pytest.mark.parametrize(("extra", "program"), NEEDS_AN_EXTRA)
def test_one_extra_needs_no_other(extra: str, program: str, tmp_path: Path) -> None:
    done = _without_extras(program, tmp_path, but=extra)

    assert "spade-llm-agents[" not in done.stderr
    assert "ModuleNotFoundError" not in done.stderr


def test_doctor_names_the_missing_extras(tmp_path: Path) -> None:
    done = _without_extras("from spade_llm.cli import main; main(['doctor'])", tmp_path)

    assert "these agents need documents, gateway" in done.stdout
    assert install_command("documents", "gateway") in done.stdout
    assert install_command("local-embeddings") in done.stdout


def test_every_extra_has_its_packages_listed() -> None:
    # The site's generator is a program: nothing of the package imports it.
    assert set(PACKAGES) == set(EXTRAS) - {"all", "docs"}
    assert Requirement(EXTRAS["all"][0]).extras == set(PACKAGES)
    for extra, packages in PACKAGES.items():
        brought = {canonicalize_name(Requirement(line).name) for line in EXTRAS[extra]}
        for package in packages:
            tops = map(canonicalize_name, DISTRIBUTIONS[package.split(".")[0]])
            assert brought & set(tops), f"{extra} does not bring {package}"


@pytest.mark.parametrize("path", ["Makefile", "docker/Dockerfile", "README.md", "docs/hosting.md"])
def test_instructions_name_extras_that_exist(path: str) -> None:
    named = re.findall(r"(?:spade-llm-agents|\.)\[([a-z,-]+)\]", (ROOT / path).read_text("utf-8"))

    assert named
    assert {extra for names in named for extra in names.split(",")} <= set(EXTRAS)


def _without_extras(
    program: str, folder: Path, *, but: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run it as if only the core requirements, and this extra, were installed."""
    lines = [*PROJECT["dependencies"], *EXTRAS.get(but, ())]
    present = {name for line in lines for name in closure(Requirement(line).name)}
    blocked = [
        package
        for package, names in DISTRIBUTIONS.items()
        if package != "spade_llm" and not present & set(map(canonicalize_name, names))
    ]
    prologue = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); from pathlib import Path; "
    )
    return subprocess.run(
        [sys.executable, "-c", prologue + program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
