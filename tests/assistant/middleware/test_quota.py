"""Per-peer limits: who has spent their share is told politely, and nobody else notices."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.middleware.quota import GroupQuotas, PeerQuota, QuotaGroups
from spade_llm.core.errors import QuotaExceeded, StorageFailed
from spade_llm.providers import Completion, ScriptedProvider
from spade_llm.providers.model import Usage
from tests.assistant.usage_harness import a_watched_assistant
from tests.integration.gated_model import GatedModel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.assistant.usage_harness import Watched


@pytest.mark.parametrize(
    "limits",
    [
        PeerQuota(turns=2),
        PeerQuota(model_calls=2),
        PeerQuota(tokens=24),
        PeerQuota(turns=2, tokens=1000),
    ],
)
async def test_a_limit_of_the_day_ends_with_a_sentence_that_says_until_when(
    limits: PeerQuota,
) -> None:
    twelve = Completion(text="yes", usage=Usage(prompt_tokens=10, completion_tokens=2))
    async with a_watched_assistant(ScriptedProvider([twelve] * 9), limits=limits) as assistant:
        await assistant.say("one")
        await assistant.say("two")

        with pytest.raises(QuotaExceeded, match=r"share of today's .* 00:00 UTC .*(h|min)"):
            await assistant.say("three")
        with pytest.raises(QuotaExceeded, match="Has agotado"):
            await assistant.say("¿qué tiempo hace hoy en la playa?")
        assert await assistant.say("one", peer="other@x") == "yes"
        assert "Today – answers: 2," in await assistant.say("/usage")


async def test_a_refused_message_is_not_recorded_or_charged() -> None:
    model = ScriptedProvider(["one", "two", "three"])
    async with a_watched_assistant(model, limits=PeerQuota(turns=1)) as assistant:
        await assistant.say("first")
        with pytest.raises(QuotaExceeded):
            await assistant.say("second")

        assert (await assistant.watch.ledger.of_today("you@x")).turns == 1
        conversation = assistant.behaviour.conversations.get("you@x#", peer="you@x")
        assert [one["content"] for one in conversation.messages] == ["first", "one"]


async def test_turns_side_by_side_are_bounded_and_a_place_that_is_free_is_given() -> None:
    model = GatedModel()
    async with a_watched_assistant(model, limits=PeerQuota(concurrent_turns=2)) as assistant:
        waiting = [await _waiting(assistant, model, thread) for thread in ("1", "2")]

        with pytest.raises(QuotaExceeded, match="already working on 2"):
            await assistant.say("and I?", thread="3")
        assert await assistant.say("hello", peer="other@x") == "hello"

        model.gate.set()
        await asyncio.gather(*waiting)
        assert await assistant.say("and now?", thread="3") == "and now?"


async def test_racing_turns_pass_a_limit_by_no_more_than_what_runs() -> None:
    limits = PeerQuota(model_calls=3, concurrent_turns=4)
    async with a_watched_assistant(ScriptedProvider.echo(delay=0.01), limits=limits) as assistant:
        outcomes = await asyncio.gather(
            *(assistant.say("hi", thread=str(thread)) for thread in range(40)),
            return_exceptions=True,
        )
        spent = await assistant.watch.ledger.of_today("you@x")

    assert {type(one) for one in outcomes} == {str, QuotaExceeded}
    assert spent.model_calls <= 3 + 4


async def test_usage_counts_after_a_restart(tmp_path: Path) -> None:
    limits = PeerQuota(turns=1)
    async with a_watched_assistant(
        ScriptedProvider.echo(), limits=limits, data=tmp_path
    ) as assistant:
        await assistant.say("hi")

    async with a_watched_assistant(
        ScriptedProvider.echo(), limits=limits, data=tmp_path
    ) as assistant:
        with pytest.raises(QuotaExceeded):
            await assistant.say("hi again")


async def test_a_limited_peer_is_refused_if_its_usage_cannot_be_read() -> None:
    async with a_watched_assistant(ScriptedProvider.echo(), limits=PeerQuota(turns=1)) as assistant:
        await assistant.watch.ledger.__aexit__()

        with pytest.raises(StorageFailed):
            await assistant.say("hi")


async def test_without_limits_answers_do_not_depend_on_the_usage_ledger() -> None:
    async with a_watched_assistant(ScriptedProvider.echo()) as assistant:
        await assistant.watch.ledger.__aexit__()

        assert await assistant.say("hi") == "hi"
        assert "cannot be read" in await assistant.say("/usage")


async def _waiting(
    assistant: Watched, model: GatedModel, thread: str, *, peer: str = "you@x"
) -> asyncio.Task[str]:
    """A turn that has come as far as the model."""
    model.was_asked.clear()
    turn = asyncio.create_task(assistant.say("wait", peer=peer, thread=thread))
    async with asyncio.timeout(5):
        await model.was_asked.wait()
    return turn


GROUPS = QuotaGroups(own_domain="x", is_guest=lambda jid: jid.endswith("evil"))


@pytest.mark.parametrize("name", ["guest", "domain", "all_guests"])
async def test_guest_limits_apply_to_guests_only(name: str) -> None:
    crowd = GroupQuotas(**{name: PeerQuota(turns=2)})
    model = ScriptedProvider.echo()
    async with a_watched_assistant(model, crowd=crowd, groups_of=GROUPS.of) as assistant:
        assert await assistant.say("one", peer="eve1@evil") == "one"
        assert await assistant.say("two", peer="eve1@evil") == "two"

        with pytest.raises(QuotaExceeded, match=r"today's answers .* 00:00 UTC"):
            await assistant.say("three", peer="eve1@evil")
        is_own_share = name == "guest"
        if is_own_share:
            assert await assistant.say("I am new", peer="eve2@evil") == "I am new"
        else:
            with pytest.raises(QuotaExceeded, match="together"):
                await assistant.say("I am new", peer="eve2@evil")
        for _ in range(3):
            assert await assistant.say("hello", peer="ada@x") == "hello"


async def test_another_domain_s_turns_at_the_same_time_are_bounded_together() -> None:
    model = GatedModel()
    crowd = GroupQuotas(domain=PeerQuota(concurrent_turns=1))
    async with a_watched_assistant(model, crowd=crowd, groups_of=GROUPS.of) as assistant:
        first = await _waiting(assistant, model, "1", peer="bob@far")

        with pytest.raises(QuotaExceeded, match="already working on 1"):
            await assistant.say("and I?", peer="carol@far")
        second = await _waiting(assistant, model, "2", peer="dave@else")

        model.gate.set()
        await asyncio.gather(first, second)


async def test_turns_of_a_group_in_other_replicas_count_and_those_of_a_peer_do_not() -> None:
    elsewhere = {"@far": 1}
    crowd = GroupQuotas(domain=PeerQuota(concurrent_turns=2))
    limits = PeerQuota(concurrent_turns=2)
    model = GatedModel()
    async with a_watched_assistant(
        model, limits=limits, crowd=crowd, groups_of=GROUPS.of
    ) as assistant:
        quota = assistant.watch.quota
        quota.turns_elsewhere = lambda group: elsewhere[group]
        first = await _waiting(assistant, model, "1", peer="bob@far")

        assert quota.group_turns() == {"@far": 1}
        with pytest.raises(QuotaExceeded, match="already working on 2"):
            await assistant.say("and I?", peer="carol@far")
        model.gate.set()
        await first
        assert quota.group_turns() == {}
        elsewhere["@far"] = 0
        assert await assistant.say("and now?", peer="carol@far") == "and now?"


async def test_usage_of_a_domain_survives_a_restart(tmp_path: Path) -> None:
    crowd = GroupQuotas(domain=PeerQuota(turns=1))
    for outcome in ("answered", "refused"):
        model = ScriptedProvider.echo()
        async with a_watched_assistant(
            model, crowd=crowd, groups_of=GROUPS.of, data=tmp_path
        ) as assistant:
            if outcome == "answered":
                assert await assistant.say("hi", peer="bob@far") == "hi"
            else:
                with pytest.raises(QuotaExceeded):
                    await assistant.say("hi", peer="carol@far")
