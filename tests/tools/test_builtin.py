"""The tools that every tool agent has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spade_llm.tools import LocalToolbox, builtin_tools

NOON = datetime(2026, 11, 3, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def toolbox() -> LocalToolbox:
    return LocalToolbox(builtin_tools(now=lambda: NOON))


async def test_both_are_offered_and_described(toolbox: LocalToolbox) -> None:
    specs = await toolbox.list()

    assert [spec.name for spec in specs] == ["get_current_datetime", "calculator"]
    assert all(spec.description for spec in specs)


async def test_their_examples_are_true() -> None:
    shown = datetime(2026, 11, 3, 13, 5, tzinfo=UTC)
    toolbox = LocalToolbox(builtin_tools(now=lambda: shown))

    specs = await toolbox.list()
    given = [
        (await toolbox.call(spec.name, example.input)).text
        for spec in specs
        for example in spec.examples
    ]

    assert all(spec.examples for spec in specs)
    assert given == [example.output for spec in specs for example in spec.examples]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "2026-11-03T12:00:00+00:00 (Tuesday, UTC)"),
        ({"timezone": "Europe/Madrid"}, "2026-11-03T13:00:00+01:00 (Tuesday, Europe/Madrid)"),
        (
            {"timezone": "Pacific/Kiritimati"},
            "2026-11-04T02:00:00+14:00 (Wednesday, Pacific/Kiritimati)",
        ),
        ({"timezone": "Asia/Kolkata"}, "2026-11-03T17:30:00+05:30 (Tuesday, Asia/Kolkata)"),
    ],
)
async def test_the_time_is_told_anywhere(
    toolbox: LocalToolbox, arguments: dict[str, object], text: str
) -> None:
    assert (await toolbox.call("get_current_datetime", arguments)).text == text


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Tokyo", "'Asia/Tokyo'"),
        ("new york", "'America/New_York'"),
        ("Europe/Madird", "'Europe/Madrid'"),
        ("europe/paris", "'Europe/Paris'"),
        ("../../etc/passwd", "unknown time zone"),
        ("", "unknown time zone"),
        ("x" * 100_000, "unknown time zone"),
    ],
)
async def test_an_unknown_zone_is_an_error_that_suggests(
    toolbox: LocalToolbox, zone: str, hint: str
) -> None:
    result = await toolbox.call("get_current_datetime", {"timezone": zone})

    assert result.is_error
    assert hint in result.text
    assert len(result.text) < 300


async def test_the_calculator_answers_and_explains(toolbox: LocalToolbox) -> None:
    good = await toolbox.call("calculator", {"expression": "(17.5 - 3) * 2 ** 10"})
    bad = await toolbox.call("calculator", {"expression": "2 +"})

    assert (good.text, good.is_error) == ("14848", False)
    assert bad.is_error
    assert "position 4" in bad.text
