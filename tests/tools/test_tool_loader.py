"""A person's own tools: found in files and modules, and what is wrong with them is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.tools import LocalToolbox
from spade_llm.tools.function_tool import load_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOUT = '''
from __future__ import annotations
from spade_llm.tools import LLMTool, tool

@tool
def shout(text: str) -> str:
    """Say it loud."""
    return text.upper()

@tool
def _hidden() -> str:
    """Not offered."""
    return ""

def helper() -> None: ...

whisper = LLMTool("whisper", "Say it low.", {"type": "object", "properties": {}}, helper)
'''


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def names(*entries: str, folder: Path) -> list[str]:
    return [tool.spec.name for tool in load_tools(entries, folder=folder)]


async def test_a_file_beside_the_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text(SHOUT)

    tools = load_tools(["my_tools.py"], folder=tmp_path)

    assert [tool.spec.name for tool in tools] == ["shout", "whisper"]
    assert (await LocalToolbox(tools).call("shout", {"text": "hi"})).text == "HI"


def test_one_of_a_file_or_a_module_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text(SHOUT)
    package = tmp_path / "own_package_of_tools"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "loud.py").write_text(SHOUT.replace("shout", "yell"))

    assert names("my_tools.py:whisper", folder=tmp_path) == ["whisper"]
    assert names("my_tools.py:_hidden", folder=tmp_path) == ["_hidden"]
    assert names("own_package_of_tools.loud:yell", folder=tmp_path) == ["yell"]


def test_a_tool_that_two_entries_show_is_offered_once(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SHOUT)

    assert names("one.py", "one.py:shout", "./one.py", folder=tmp_path) == ["shout", "whisper"]


def test_the_example_is_found_as_it_says() -> None:
    examples = Path(__file__).parents[2] / "examples"

    assert names("05_tools.py:temperature", folder=examples) == ["temperature"]


def test_no_entries_are_no_tools(tmp_path: Path) -> None:
    before = list(sys.path)

    assert names(folder=tmp_path) == []
    assert sys.path == before


@pytest.mark.parametrize(
    ("source", "entry", "complaint"),
    [
        (SHOUT, "none.py", r"no file '.*none\.py'; give its path relative to the toml"),
        (SHOUT, "no.such.module", r"no module 'no'"),
        (SHOUT, "t.py:nothing", "no 'nothing' in 't.py:nothing'; tools in it: shout, whisper"),
        (SHOUT, "t.py:helper", "'t.py:helper' is a function, no tool; put @tool above it"),
        ("x = 1", "t.py", "no tool in 't.py'; put @tool"),
        ("def broken(:", "t.py", "'t.py': line 1: "),
        ("import nowhere_to_be_found", "t.py", "no module 'nowhere_to_be_found'; install it"),
        ("1 / 0", "t.py", "fails at import: ZeroDivisionError"),
        (
            "from spade_llm.tools import tool\n@tool\ndef f(x): ...",
            "t.py",
            "fails at import: ConfigurationError: tool 'f': parameter 'x' needs a type",
        ),
    ],
)
def test_errors_name_the_entry(source: str, entry: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(source)

    with pytest.raises(ConfigurationError, match=complaint):
        load_tools([entry], folder=tmp_path)


def test_two_tools_of_one_name_are_named_with_their_entries(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SHOUT)
    (tmp_path / "two.py").write_text(SHOUT)

    with pytest.raises(
        ConfigurationError, match=r"'two\.py' and 'one\.py' both have a tool 'shout'"
    ):
        load_tools(["one.py", "two.py"], folder=tmp_path)
