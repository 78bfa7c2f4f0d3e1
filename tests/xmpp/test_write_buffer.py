"""What is sent in one turn of the loop leaves in one write."""

from __future__ import annotations

import asyncio

from spade_llm.xmpp.connection.xmpp_client import MAX_BUFFERED_CHARS, WriteBuffer


async def test_stanzas_of_one_loop_iteration_are_written_once_and_in_order() -> None:
    written: list[str] = []
    outbox = WriteBuffer(asyncio.get_running_loop(), written.append)

    outbox.put("one ")
    outbox.put("two")
    assert written == []
    await asyncio.sleep(0)
    outbox.put("three")
    await asyncio.sleep(0)

    assert written == ["one two", "three"]


async def test_stanzas_added_at_the_end_of_an_iteration_are_written_with_it() -> None:
    written: list[str] = []
    outbox = WriteBuffer(asyncio.get_running_loop(), written.append)
    outbox.before_flush = lambda: outbox.put(" and the question")

    outbox.put("an answer")
    await asyncio.sleep(0)

    assert written == ["an answer and the question"]


async def test_much_does_not_wait_for_the_end_of_the_turn() -> None:
    written: list[str] = []
    outbox = WriteBuffer(asyncio.get_running_loop(), written.append)

    outbox.put("first,")
    outbox.put("x" * MAX_BUFFERED_CHARS)

    assert written == ["first," + "x" * MAX_BUFFERED_CHARS]


async def test_stanzas_for_a_closed_connection_are_not_written_to_another() -> None:
    written: list[str] = []
    outbox = WriteBuffer(asyncio.get_running_loop(), written.append)

    outbox.put("old")
    outbox.drop()
    outbox.put("new")
    await asyncio.sleep(0)

    assert written == ["new"]
