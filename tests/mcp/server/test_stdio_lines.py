"""Lines come out of a descriptor as they went in, however they were cut; too long ones are gone."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.mcp.server.stdio_transport import LineWriter, read_lines
from tests.conftest import at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX = 8


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


async def lines_read(written: list[bytes]) -> list[bytes | None]:
    """What is read of these pieces, which come one by one."""
    out, into = os.pipe()

    def write() -> None:
        for piece in written:
            os.write(into, piece)
        os.close(into)

    threading.Thread(target=write, daemon=True).start()
    async with asyncio.timeout(5):
        found = [line async for line in read_lines(out, MAX)]
    os.close(out)
    return found


@settings(max_examples=at_most(50))
@given(st.lists(st.binary(min_size=1, max_size=12).map(lambda b: b.replace(b"x", b"\n"))))
def test_lines_are_those_that_were_written_however_they_were_cut(pieces: list[bytes]) -> None:
    *expected, _unfinished = b"".join(pieces).split(b"\n")

    found = asyncio.run(lines_read(pieces))

    assert found == [line if len(line) <= MAX else None for line in expected]


async def test_each_write_is_whole_and_in_order() -> None:
    with pipe() as (out, into):
        writer = LineWriter(into)
        writes = [asyncio.create_task(writer.write(b"%d" % n * 30_000 + b"\n")) for n in range(5)]
        lines = read_lines(out, 100_000)

        async with asyncio.timeout(5):
            found = [await anext(lines) for _ in range(5)]
            await asyncio.gather(*writes)

    assert found == [b"%d" % n * 30_000 for n in range(5)]


async def test_writing_to_a_closed_stdout_is_an_error() -> None:
    out, into = os.pipe()
    os.close(out)

    with pytest.raises(BrokenPipeError):
        await LineWriter(into).write(b"hello\n")
    os.close(into)
