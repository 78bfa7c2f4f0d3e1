"""The call log: one line per step, bounded, readable after a kill."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.tools.call_log import (
    CURRENT,
    EXPIRE_AFTER_S,
    ROTATE_AFTER_S,
    CallEnded,
    JsonLinesCallLog,
    new_call_record,
    read_calls,
)
from spade_llm.tools.toolbox import CallContext

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.tools.call_log import CallStarted

CONTEXT = CallContext(on_behalf_of="ada@example.org", approved_by="bob@example.org")


class Clock:
    time = time.time()

    def __call__(self) -> float:
        return self.time


def begun(tool: str = "add", **arguments: object) -> CallStarted:
    return new_call_record("assistant@example.org", tool, arguments, CONTEXT)


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def ended(call: CallStarted) -> CallEnded:
    return CallEnded(id=call.id, outcome="done", duration_ms=1.5, result_chars=3)


async def test_a_call_is_read_back_with_its_end(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        one, two = begun(a=1), begun("later")
        log.begun(one)
        log.begun(two)
        log.ended(ended(one))

        calls = read_calls(tmp_path, last=10)

    assert [(call.begun, call.ended) for call in calls] == [(one, ended(one)), (two, None)]
    assert calls[0].begun.on_behalf_of == "ada@example.org"
    assert calls[0].begun.approved_by == "bob@example.org"
    assert json.loads(calls[0].begun.arguments) == {"a": 1}


async def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun(password="hunter2", note="Bearer abcdef123456", deep=[{"api_key": "k1"}]))

    text = (tmp_path / CURRENT).read_text()
    assert not any(secret in text for secret in ("hunter2", "abcdef123456", "k1"))


async def test_one_call_takes_a_bounded_line(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun(many={f"key{n}": ["word " * 1000] * 1000 for n in range(100)}))

    assert (tmp_path / CURRENT).stat().st_size < 10_000


async def test_half_of_a_surrogate_pair_is_no_fault(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun("a\ud83d", text="b\ud83d"))

    assert read_calls(tmp_path, last=1)[0].begun.tool == "a?"


async def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path):
        assert (tmp_path / CURRENT).stat().st_mode & 0o077 == 0


async def test_the_last_calls_are_asked_for_and_chosen(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        for number in range(10):
            log.begun(begun("even" if number % 2 == 0 else "odd", n=number))

    last = read_calls(tmp_path, last=2, wanted=lambda call: call.tool == "odd")

    assert [call.begun.arguments for call in last] == ['{"n": 7}', '{"n": 9}']


async def test_it_never_takes_more_than_stated(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path, max_file_bytes=2000, max_files=3) as log:
        for number in range(200):
            log.begun(begun(n=number))

    files = files_in(tmp_path)
    assert len(files) <= 3
    assert sum(path.stat().st_size for path in files) < 3 * 2500
    assert '{"n": 199}' in [call.begun.arguments for call in read_calls(tmp_path, last=5)]


async def test_old_entries_are_purged(tmp_path: Path) -> None:
    clock = Clock()
    async with JsonLinesCallLog(tmp_path, clock=clock) as log:
        log.begun(begun("old"))
        clock.time += ROTATE_AFTER_S + 1
        log.begun(begun("new"))
    old, _current = files_in(tmp_path)
    os.utime(old, (0, time.time() - EXPIRE_AFTER_S - 10))

    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun("newer"))

    assert [call.begun.tool for call in read_calls(tmp_path, last=9)] == ["new", "newer"]


async def test_a_torn_line_swallows_no_other(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun("first"))
    with (tmp_path / CURRENT).open("ab") as file:
        file.write(b'{"event":"begun","id":"torn')

    async with JsonLinesCallLog(tmp_path) as log:
        log.begun(begun("second"))

    assert [call.begun.tool for call in read_calls(tmp_path, last=9)] == ["first", "second"]


async def test_a_log_that_was_taken_away_is_begun_anew(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path, max_file_bytes=1) as log:
        log.begun(begun("first"))
        (tmp_path / CURRENT).unlink()
        log.begun(begun("second"))

    assert [call.begun.tool for call in read_calls(tmp_path, last=9)] == ["second"]


async def test_without_a_disk_nothing_is_called_and_later_it_goes_on(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path / "calls", max_file_bytes=1) as log:
        log.begun(begun("first"))
        (tmp_path / "calls").rename(tmp_path / "away")

        with pytest.raises(StorageFailed, match="the tool was not run"):
            log.begun(begun("lost"))
        log.ended(ended(begun("lost")))
        (tmp_path / "away").rename(tmp_path / "calls")
        log.begun(begun("back"))

    calls = read_calls(tmp_path / "calls", last=9)
    assert [call.begun.tool for call in calls] == ["first", "back"]


async def test_after_its_end_nothing_is_written(tmp_path: Path) -> None:
    async with JsonLinesCallLog(tmp_path) as log:
        pass

    with pytest.raises(StorageFailed):
        log.begun(begun())


async def test_a_folder_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="call log"):
        async with JsonLinesCallLog(tmp_path / "file"):
            pass


def test_no_log_has_no_calls(tmp_path: Path) -> None:
    assert list(read_calls(tmp_path, last=9)) == []
