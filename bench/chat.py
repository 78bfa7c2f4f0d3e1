"""Time from a person's message to the assistant's answer, with a model that answers at once.

The assistant, the model and every service are separate processes. The baseline is a minimal bot:
slixmpp and the openai SDK. Without pauses between messages, two cores are always busy, and the time
includes the work that follows an answer; with pauses, only the work before it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from bench.conversation import check_services, furnish, say
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.stage import Stage

ROUND = 10
"""Consecutive questions to one bot: what an assistant does after an answer would otherwise be
counted for the next bot."""
PAUSE_S = 1.0
WITH_SERVICES = Goal(limit=3.0, is_ratio=True)
P95_WITH_SERVICES = Goal(limit=3.5, is_ratio=True)
ALONE = Goal(limit=1.5, is_ratio=True)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    (peer,) = await stage.people(1)
    full, alone, bot = [await stage.account(name) for name in ("assistant", "alone", "raw-bot")]
    await furnish(full, [peer], scale)
    async with (
        stage.model() as url,
        stage.agent("assistant", "assistant", model_url=url, has_services=True),
        stage.agent("assistant", "alone", model_url=url),
        stage.agent("raw-bot", "raw-bot", model_url=url),
        Person(peer) as person,
    ):
        await check_services(stage, full.jid)
        texts = questions()
        served, single, least = await _rounds(person, [full.jid, alone.jid, bot.jid], texts, scale)
        paced = await _paced(person, full.jid, texts, scale)
        least_paced = await _paced(person, bot.jid, texts, scale)
    return [
        _row("chat → reply, recall and retrieval on", served, least, WITH_SERVICES),
        _row("… both off", single, least, ALONE),
        _slowest("… recall and retrieval on, 95 of 100", served, least),
        _row("… by a person who pauses a second, both on", paced, least_paced, WITH_SERVICES),
        _slowest("… the same, 95 of 100", paced, least_paced),
    ]


async def _rounds(
    person: Person, bots: list[str], texts: Iterator[str], scale: Scale
) -> list[Samples]:
    """Ask all bots the same questions, in turns; the first round is not counted."""
    await _round(person, bots, list(islice(texts, ROUND)), [Samples() for _ in bots])
    counted = [Samples() for _ in bots]
    for _ in range(scale.of(30, quick=3)):
        await _round(person, bots, list(islice(texts, ROUND)), counted)
    return counted


async def _round(person: Person, bots: list[str], texts: list[str], samples: list[Samples]) -> None:
    for bot, sample in zip(bots, samples, strict=True):
        for text in texts:
            await sample.add(partial(say, person, bot, text))


async def _paced(person: Person, bot: str, texts: Iterator[str], scale: Scale) -> Samples:
    """Ask new questions, since services cache what was asked before."""
    samples = Samples()
    for text in islice(texts, scale.of(35, quick=3)):
        await asyncio.sleep(PAUSE_S)
        await samples.add(partial(say, person, bot, text))
    return samples


def _row(name: str, ours: Samples, least: Samples, goal: Goal) -> Row:
    return Row(
        name=name,
        unit="ms",
        ours=ours.median,
        baseline=least.median,
        baseline_name="bare bot",
        goal=goal,
        spread=ours.spread,
    )


def _slowest(name: str, ours: Samples, least: Samples) -> Row:
    return Row(
        name=name,
        unit="ms",
        ours=ours.spread.p95,
        baseline=least.spread.p95,
        baseline_name="bare bot",
        goal=P95_WITH_SERVICES,
    )
