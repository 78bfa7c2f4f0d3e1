"""Names, hidden characters, bounds, and the pins themselves, without a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.redaction import escape_hidden, mask_secrets, sanitize_text
from spade_llm.mcp.client.flow_control import (
    BURST_UNITS,
    HEAD_BYTES,
    UNITS_PER_S,
    LineSplitter,
    LineTooLong,
    TrafficBudget,
)
from spade_llm.mcp.client.pins import (
    MAX_TOOLS,
    Pins,
    PinVerdict,
    ToolDefinition,
    offered_name,
    offered_names,
    parse_definition,
)

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def definition(name: str, description: str = "") -> ToolDefinition:
    schema = {"type": "object"}
    return parse_definition({"name": name, "description": description, "inputSchema": schema})


@given(st.text(min_size=1))
def test_every_tool_gets_a_name_that_model_apis_take(tool: str) -> None:
    assert ALLOWED.fullmatch(offered_name("server", tool))


@given(st.lists(st.text(alphabet="abc./_-é", min_size=1, max_size=80), unique=True))
def test_different_tools_get_different_names(tools: list[str]) -> None:
    names = offered_names("server", tools)

    assert sorted(names.values()) == sorted(tools)


def test_names_that_fit_are_kept_and_others_told_apart_by_a_digest() -> None:
    assert offered_name("files", "read_file") == "files_read_file"
    assert re.fullmatch(r"files_read_file_[0-9a-f]{8}", offered_name("files", "read/file"))
    assert offered_name("a", "x" * 90) != offered_name("a", "x" * 91)


def test_hidden_characters_do_not_reach_a_model_and_are_shown_to_an_operator() -> None:
    text = "read\u202e \x1b[31mfile\u200b\U000e0041 \u00e9\n"

    assert sanitize_text(text, 100) == "read [31mfile \u00e9\n"
    assert escape_hidden(text) == "read\\u202e \\x1b[31mfile\\u200b\\U000e0041 \u00e9\n"


def test_a_text_spelt_in_marks_without_a_shape_is_seen() -> None:
    selectors = "".join(chr(0xE0100 + ord(char)) for char in "obey")
    text = f"read\ufe0f\u3164{selectors}"

    assert sanitize_text(text, 100) == "read"
    assert escape_hidden(text).startswith("read\\ufe0f\\u3164\\U000e016f")


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_cleaned_text_is_bounded(text: str, max_chars: int) -> None:
    assert len(sanitize_text(text, max_chars)) <= max_chars


def test_secrets_are_masked_the_longest_first() -> None:
    assert mask_secrets("key abcdef and abc", frozenset({"abc", "abcdef"})) == "key *** and ***"


def test_tool_descriptions_name_their_server_and_have_no_invisible_characters() -> None:
    schema = {"type": "object", "properties": {"a": {"description": "\u202eevil"}}}
    spec = parse_definition(
        {"name": "read", "description": "Read.\x00", "inputSchema": schema}
    ).spec("files_read", server="files")

    assert spec.description == "[MCP server files says:] Read."
    assert spec.parameters["properties"] == {"a": {"description": "evil"}}


def test_oversized_and_invalid_schemas_have_a_flaw() -> None:
    assert definition("read").defect == ""
    assert "characters" in definition("read", "x" * 40_000).defect
    assert "200" in definition("x" * 201).defect or "201" in definition("x" * 201).defect
    assert "object" in parse_definition({"name": "read", "inputSchema": {"type": "array"}}).defect


def test_order_of_keys_is_no_change_and_every_word_is() -> None:
    one = parse_definition({"name": "a", "inputSchema": {"type": "object", "title": "x"}})
    other = parse_definition({"inputSchema": {"title": "x", "type": "object"}, "name": "a"})

    assert one == other
    assert definition("a", "b").digest != definition("a", "c").digest


def test_the_first_listing_is_pinned_whole_and_later_tools_wait(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")

    first = pins.review("s", [definition("a"), definition("b")])
    second = pins.review("s", [definition("a"), definition("b", "new"), definition("c")])

    assert set(first.values()) == {PinVerdict.ACCEPTED}
    assert second == {"a": PinVerdict.ACCEPTED, "b": PinVerdict.CHANGED, "c": PinVerdict.NEW}
    assert [(one.tool, one.accepted is None) for one in pins.waiting()] == [
        ("b", False),
        ("c", True),
    ]


def test_a_server_may_be_trusted_with_its_new_tools_but_not_with_changes(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    pins.review("s", [definition("a")])

    verdicts = pins.review("s", [definition("a", "new"), definition("b")], pins_new=True)

    assert verdicts == {"a": PinVerdict.CHANGED, "b": PinVerdict.ACCEPTED}


def test_a_definition_that_comes_back_is_offered_again(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    pins.review("s", [definition("a")])
    pins.review("s", [definition("a", "new")])

    assert pins.review("s", [definition("a")]) == {"a": PinVerdict.ACCEPTED}
    assert pins.waiting() == []


def test_a_rejected_definition_is_asked_about_again_when_it_changes(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    pins.review("s", [definition("a")])
    pins.review("s", [definition("a", "bad")])
    [waiting] = pins.waiting()
    pins.reject(waiting)

    assert pins.review("s", [definition("a", "bad")]) == {"a": PinVerdict.REJECTED}
    assert pins.review("s", [definition("a", "worse")]) == {"a": PinVerdict.CHANGED}


def test_a_server_that_invents_names_fills_no_disk(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    pins.review("s", [definition(f"t{number}") for number in range(MAX_TOOLS)])

    assert pins.review("s", [definition("more")]) == {"more": PinVerdict.TOO_MANY}


def test_two_servers_do_not_share_pins(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    pins.review("s", [definition("a")])

    assert pins.review("t", [definition("a", "other")]) == {"a": PinVerdict.ACCEPTED}


def test_every_change_has_a_version_of_its_own(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "mcp.db")
    versions = [pins.version()]
    for text in ("one", "two", "three"):
        pins.review("s", [definition("a", text)])
        versions.append(pins.version())
    pins.review("s", [definition("a", "three")])

    assert len(set(versions)) == 4
    assert pins.version() == versions[-1]


@given(st.binary(), st.lists(st.integers(min_value=1, max_value=9), min_size=1))
def test_lines_do_not_depend_on_how_the_bytes_come(data: bytes, sizes: list[int]) -> None:
    whole = LineSplitter(max_bytes=20).feed(data)
    cutter, found, at = LineSplitter(max_bytes=20), [], 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        found += cutter.feed(data[at : at + size])
        at += size

    assert found == whole


def test_a_line_that_is_too_long_leaves_only_its_beginning() -> None:
    cutter = LineSplitter(max_bytes=1000)

    lines = [line for _ in range(100) for line in cutter.feed(b"x" * 100)]
    lines += cutter.feed(b"\nshort\n")

    assert lines == [LineTooLong(b"x" * HEAD_BYTES), b"short"]


def test_a_server_that_exceeds_its_message_budget_is_throttled() -> None:
    clock = [0.0]
    budget = TrafficBudget(now=lambda: clock[0])

    assert budget.borrow(BURST_UNITS) == 0
    assert budget.borrow(UNITS_PER_S) == 1
    clock[0] += 2
    assert budget.borrow(UNITS_PER_S) == 0
    budget.refill()
    assert budget.borrow(20) == 0
    assert budget.borrow(20) > 0
