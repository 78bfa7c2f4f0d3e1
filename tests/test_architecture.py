"""Static checks of the source: allowed imports, length of functions, and language.

docs/architecture.md has the rules and their reasons, docs/terminology.md the terms.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "spade_llm"

CORE = {"core", "old_names"}
SEARCH = {"search"} | CORE
UNDERSTANDING = {"understanding"} | SEARCH
PROVIDERS = {"providers"} | UNDERSTANDING
CONTEXT = {"context"} | PROVIDERS
MESSAGING = {"messaging"} | CORE
XMPP = {"xmpp"} | MESSAGING
SERVICE = CONTEXT | MESSAGING
"""Below memory, rag and tools. Only their remote ends import messaging: see REMOTE_ONLY."""
GUARDRAILS = {"guardrails", "tools"} | PROVIDERS
ASSISTANT = {"assistant", "memory", "rag"} | SERVICE | XMPP | GUARDRAILS
MCP = {"mcp"} | ASSISTANT
GATEWAY = {"gateway"} | ASSISTANT
AGENTS = {"agents"} | MCP | GATEWAY
CLI = {"cli"} | AGENTS
COMPAT = {"compat"} | AGENTS

MAY_IMPORT: dict[str, set[str]] = {
    "core": CORE,
    "messaging": MESSAGING,
    "providers": PROVIDERS,
    "search": SEARCH,
    "understanding": UNDERSTANDING,
    "context": CONTEXT,
    "xmpp": XMPP,
    "memory": {"memory"} | SERVICE,
    "rag": {"rag"} | SERVICE,
    "tools": {"tools"} | SERVICE,
    "guardrails": GUARDRAILS,
    "assistant": ASSISTANT,
    "mcp": MCP,
    "gateway": GATEWAY,
    "agents": AGENTS,
    "cli": CLI,
    "compat": COMPAT,
    "old_names": set(),
    "version": set(),
    "": CLI | COMPAT | {"version"},
}
"""Sub-packages (rooms) by what they may import; imports point down only. The package itself may
import all. A room without an entry has no place yet: give it one."""

REMOTE_ONLY = {"memory", "rag", "tools"}
"""Rooms that import messaging in their modules `remote*` only."""

NAMES_OF_COMPAT = {
    f"spade_llm.{room}" for room in ("agents", "context", "memory", "providers", "rag", "tools")
}
"""Packages that name classes of spade_llm 0.2/0.3 for type checkers; loaded on first use."""

XMPP_LIBRARIES = {"spade", "slixmpp", "pyjabber"}
HEAVY = {"spade", "slixmpp", "chromadb", "openai", "onnxruntime"}
PUBLIC = [
    f"spade_llm.{name}"
    for name in (
        "agents",
        "context",
        "guardrails",
        "memory",
        "messaging",
        "providers",
        "rag",
        "tools",
    )
]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a module: most tests below look at each of the package."""
    return list(ast.walk(tree_of(path)))


@cache
def sources(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules that this code names in an import; those for the type checker count too."""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (_most_exact(module, alias.name) for alias in node.names)


@cache
def _most_exact(module: str, name: str) -> str:
    path = ROOT / module.replace(".", "/")
    is_module = (path / f"{name}.py").is_file() or (path / name / "__init__.py").is_file()
    return f"{module}.{name}" if is_module else module


def where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sources():
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body that hold code: no docstring, no blank line, no comment."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return len({line for statement in body for line in _lines(statement)})


def _lines(statement: ast.stmt) -> Iterator[int]:
    for node in ast.walk(statement):
        if isinstance(node, ast.expr | ast.stmt):
            yield node.lineno
            yield node.end_lineno or node.lineno


def test_every_room_has_a_place() -> None:
    rooms = {room_of(name_of(path)) for path in sources()} - {""}

    assert rooms <= set(MAY_IMPORT)


def test_the_page_on_the_architecture_lists_the_allowed_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    rooms = set(MAY_IMPORT) - {"old_names", "version", ""}

    assert {room for room, _ in rows} == rooms
    for room, text in rows:
        names = set(re.findall(r"\w+", text))
        allowed = rooms - names if "all" in names else names
        assert allowed | {room} == MAY_IMPORT[room] - {"old_names"}, room


def test_imports_point_down_only() -> None:
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in sources()
        for module in imports_of(path, nodes_of(path))
        if module.startswith("spade_llm.")
        and room_of(module) not in MAY_IMPORT.get(room_of(name_of(path)), set()) | _lazy(path)
    ]

    assert wrong == []


def _lazy(path: Path) -> set[str]:
    """Rooms above that a package may name beside its own."""
    return {"agents", "compat"} if name_of(path) in NAMES_OF_COMPAT else set()


def test_only_the_remote_ends_of_services_import_messaging() -> None:
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in sources()
        if room_of(name_of(path)) in REMOTE_ONLY and not path.stem.startswith("remote")
        for module in imports_of(path, nodes_of(path))
        if room_of(module) == "messaging"
    ]

    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    known = {name_of(path) for path in sources()}
    graph = {
        name_of(path): {
            module
            for module in imports_of(path, ast.walk(_without_typing(tree_of(path))))
            if module in known and module != name_of(path)
        }
        for path in sources()
    }

    TopologicalSorter(graph).prepare()


def _without_typing(tree: ast.Module) -> ast.Module:
    """What runs when the module is loaded: no function bodies, nothing for the type checker."""

    def is_loaded(node: ast.stmt) -> bool:
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        return not is_typing and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)

    return ast.Module([node for node in tree.body if is_loaded(node)], [])


def test_only_the_seam_knows_spade() -> None:
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in sources()
        for module in imports_of(path, nodes_of(path))
        if module.partition(".")[0] in XMPP_LIBRARIES and room_of(name_of(path)) != "xmpp"
    ]

    assert wrong == []


def test_only_the_settings_read_the_environment() -> None:
    # The package itself sets one variable, for a library that reads it while it is imported; a
    # server's process gets a part of the environment.
    passing_on = {"spade_llm", "spade_llm.xmpp.servers.server_process"}
    wrong = [
        where(path, node)
        for path in sources()
        if not name_of(path).startswith(("spade_llm.core.settings", "spade_llm.cli"))
        and name_of(path) not in passing_on
        for node in nodes_of(path)
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv"))
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and _takes_environment(node))
    ]

    assert wrong == []


def _takes_environment(node: ast.ImportFrom) -> bool:
    return any(alias.name in ("environ", "getenv") for alias in node.names)


def test_broad_excepts_stand_at_the_boundaries_only() -> None:
    # A handler failed; an answer could not be sent; somebody's tool failed; somebody's module of
    # tools failed at import; what an MCP client called failed; somebody's guardrail, its callback
    # or provider failed; a message came that we failed to take (slixmpp has the same around each
    # of its handlers).
    boundaries = {
        "messaging/delivery.py",
        "messaging/dispatcher.py",
        "xmpp/stanza_router.py",
        "tools/local.py",
        "tools/function_tool.py",
        "mcp/server/server.py",
        "compat/own_provider.py",
        "guardrails/guardrail.py",
    }
    wrong = [
        where(path, node)
        for path in sources()
        if path.relative_to(PACKAGE).as_posix() not in boundaries
        for node in nodes_of(path)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _passes_on(node)
    ]

    assert wrong == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = ast.walk(handler.type) if handler.type else [ast.Name("BaseException")]
    return any(
        isinstance(node, ast.Name) and node.id in ("Exception", "BaseException") for node in caught
    )


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """It only tidies up: whatever it was goes on as it came."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_functions_are_short() -> None:
    lengths = sorted(body_lines(function) for _, function in functions())
    percentile_99 = lengths[int(len(lengths) * 0.99)]

    assert statistics.median(lengths) <= 7
    assert percentile_99 <= 50


CLASSES_OF_COMPAT = {"MemoryBackend", "MemoryEntry", "SQLiteMemoryBackend"}
"""Public names of spade_llm 0.2/0.3, which programs import, beside ours of the same name."""

PERSON_WORD = re.compile(r"\b(who|whom|whose|whoever|nobody|somebody|everybody|anybody)\b", re.I)
FRAGMENT = re.compile(
    r"(of|by|whose|as|what|which|whether|where|when|how|in|for|from|with|without|until|since|also"
    r"|one|to|not|none|at|on|only|per|beyond|behind|beside|between|after|before|so|than|that|and"
    r"|or|if|why)\b",
    re.I,
)
"""First words with which no sentence and no noun phrase begins."""


def docstrings_of(tree: ast.AST) -> Iterator[str]:
    """Docstrings of modules, classes and functions, and the strings under attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
            for before, after in pairwise(node.body):
                if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
                    text = after.value.value if isinstance(after.value, ast.Constant) else None
                    yield text.strip() if isinstance(text, str) else ""


@cache
def docstrings() -> list[str]:
    return [text for path in sources() for text in docstrings_of(tree_of(path)) if text]


def test_a_class_name_stands_for_one_class() -> None:
    names = Counter(
        node.name
        for path in sources()
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, count in names.items() if count > 1} == CLASSES_OF_COMPAT


def test_docstrings_begin_with_a_noun_or_a_verb_phrase() -> None:
    texts = docstrings()
    fragments = [text for text in texts if FRAGMENT.match(text)]

    assert len(fragments) <= 0.01 * len(texts), fragments


def test_docstrings_do_not_speak_of_programs_as_persons() -> None:
    texts = docstrings()
    found = [text for text in texts if PERSON_WORD.search(text)]
    words = sum(len(re.findall(r"[A-Za-z']+", text)) for text in texts)

    assert sum(len(PERSON_WORD.findall(text)) for text in found) <= 0.001 * words, found


def test_a_module_says_what_it_is_and_not_what_it_ignores() -> None:
    ignoring = re.compile(r"\bknows? (no|nothing|neither|not)\b", re.I)
    modules = {name_of(path): ast.get_docstring(tree_of(path)) or "" for path in sources()}

    assert [name for name, text in modules.items() if not text] == []
    assert [name for name, text in modules.items() if ignoring.search(text)] == []


def test_nothing_is_mocked() -> None:
    mocked = re.compile(
        r"^\s*(?:import unittest\.mock|from unittest(?:\.mock)? import)", re.MULTILINE
    )
    users = [
        name_of(path)
        for folder in (PACKAGE, ROOT / "tests")
        for path in sources(folder)
        if mocked.search(path.read_text(encoding="utf-8"))
    ]

    assert users == []


def test_tests_patch_almost_nothing() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sources(ROOT / "tests")]
    tests = sum(len(re.findall(r"^(?:async )?def test_", text, re.MULTILINE)) for text in texts)
    patches = sum(
        len(re.findall(r"^ +monkeypatch\.setattr\(", text, re.MULTILINE)) for text in texts
    )

    assert tests > 1000
    assert patches <= 0.05 * tests


def test_the_context_is_quick_to_import_and_light() -> None:
    first = _import_context()
    seconds = min(first[0], _import_context()[0], _import_context()[0])

    assert first[1] == []
    assert seconds < 0.3


def test_an_assistant_is_imported_without_what_a_memory_agent_needs() -> None:
    unneeded = {"fsrs", "numpy", "spade_llm.memory.database", "spade_llm.core.settings"}
    code = (
        "import sys, spade_llm.agents.llm, spade_llm.context; "
        f"print(sorted({unneeded!r} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment, timeout=30
    )

    assert done.stdout.decode().strip() == "[]"


def _import_context() -> tuple[float, list[str]]:
    """Seconds, and which of the heavy libraries came with it."""
    code = (
        "import sys, time, json; start = time.process_time(); import spade_llm.context; "
        f"print(json.dumps([time.process_time() - start, sorted({HEAVY!r} & set(sys.modules))]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment, timeout=30
    )
    seconds, heavy = json.loads(done.stdout)
    return seconds, heavy


def test_slixmpp_comes_through_spade_and_from_nowhere_else() -> None:
    # Beside each other, the two distributions overwrite one folder, and pip sees nothing.
    providers = {name.lower().replace("_", "-") for name in packages_distributions()["slixmpp"]}

    assert providers == {"slixmpp-multiplatform"}


LAZY = {name_of(path) for path in sources() if "lazy_exports(__name__" in path.read_text("utf-8")}


def test_public_names_are_documented() -> None:
    """A method that a Protocol or a base class documents needs no docstring of its own."""
    classes = [
        node for path in sources() for node in tree_of(path).body if isinstance(node, ast.ClassDef)
    ]
    documented = {
        method.name
        for node in classes
        if {"Protocol", "ABC"} & {ast.unparse(base).partition("[")[0] for base in node.bases}
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(method)
    }
    missing = []
    for package in sorted({"spade_llm", *PUBLIC, *LAZY}):
        for name in getattr(importlib.import_module(package), "__all__", ()):
            value = getattr(importlib.import_module(package), name)
            if not inspect.isclass(value) and not inspect.isfunction(value):
                continue
            text = (vars(value) if inspect.isclass(value) else {"__doc__": value.__doc__})[
                "__doc__"
            ]
            # dataclass makes one of the fields.
            if not text or text.startswith(f"{name}("):
                missing.append(f"{package}.{name}")
            methods = vars(value).items() if inspect.isclass(value) else ()
            missing += [
                f"{package}.{name}.{method}"
                for method, function in methods
                if isinstance(function, FunctionType | classmethod | staticmethod | property)
                and not (method.startswith("_") or method in documented)
                and not inspect.getdoc(getattr(value, method))
            ]

    assert missing == []


@pytest.mark.parametrize("package", sorted({*PUBLIC, *LAZY}))
def test_public_names_are_sorted_and_there(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))

    # Constants first, as ruff sorts them (RUF022).
    assert names == sorted(names, key=lambda name: (not name.isupper(), name))
    assert [name for name in names if not hasattr(module, name)] == []
    assert set(names) <= set(dir(module))
    assert not hasattr(module, f"{names[0]}Misspelt")
