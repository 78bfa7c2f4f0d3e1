"""A model that is replaced while it is in use."""

from __future__ import annotations

import asyncio

from spade_llm.providers.model import ReplaceableModel, same_model
from spade_llm.providers.scripted import ScriptedProvider


async def said_by(model: ReplaceableModel) -> str:
    return (await model.complete([{"role": "user", "content": "hello"}])).text


def scripted(text: str) -> ScriptedProvider:
    return ScriptedProvider([text] * 4)


async def test_a_turn_ends_with_the_model_that_it_began_with() -> None:
    model = ReplaceableModel(scripted("old"))
    with same_model():
        first = await said_by(model)
        lease = model.replace(scripted("new"))
        second = await said_by(model)
        in_task = await asyncio.create_task(said_by(model))
        is_outdated, uses_within = model.is_outdated, lease.uses
    after = await said_by(model)

    assert [first, second, in_task, after] == ["old", "old", "old", "new"]
    assert (is_outdated, uses_within, lease.uses, model.is_outdated) == (True, 1, 0, False)


async def test_a_task_that_outlives_its_turn_uses_the_new_model() -> None:
    model, over = ReplaceableModel(scripted("old")), asyncio.Event()

    async def later() -> str:
        await over.wait()
        return await said_by(model)

    with same_model():
        await said_by(model)
        task = asyncio.create_task(later())
    model.replace(scripted("new"))
    over.set()

    assert await task == "new"


async def test_a_stream_that_runs_holds_its_model() -> None:
    model = ReplaceableModel(scripted("one two three"))
    stream = model.stream([{"role": "user", "content": "hello"}])
    await anext(stream)
    lease = model.replace(scripted("new"))
    during = lease.uses
    pieces = [piece async for piece in stream]

    assert (during, lease.uses, len(pieces)) == (1, 0, 3)
