"""/why says what the last answer was built from, to whoever it was given, and to nobody else."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.reports import MESSAGE, NO_ANSWER_YET, explanation_text
from spade_llm.assistant.history.conversation_cache import Conversation
from spade_llm.assistant.middleware.usage_ledger import UsageLedger, UsageMiddleware
from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.turn import TurnOutcome
from spade_llm.assistant.turn.turn_recorder import QuotedMemoryRecord, ToolCallRecord, TurnRecord
from spade_llm.core.errors import ModelUnavailable
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryDraft
from spade_llm.providers import ScriptedProvider
from spade_llm.rag.contract import Chunk, Retrieval, RetrievalOptions, ScoredChunk
from spade_llm.tools import LocalToolbox, tool
from tests.assistant.turn.test_turn_failures import a_call, an_utterance
from tests.assistant.usage_harness import a_watched_assistant

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.turn.turn import CallNext


class OneManual:
    """A Retriever with one passage, that has no vectors today."""

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        chunk = Chunk(
            text="Lamps", source="manual.pdf", namespace="n", index=3, start=0, end=5, page=7
        )
        found = ScoredChunk(chunk=chunk, score=0.5)
        return Retrieval(chunks=(found,), degraded="no embeddings: keywords only")


@tool
def lamp(room: str) -> str:
    """Say whether a lamp is on.

    Args:
        room: Which.
    """
    if room == "attic":
        raise ValueError("there is no attic")
    return "on"


class Censor:
    """A Layer that changes what is answered, and says so."""

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        outcome = await call_next(turn_input)
        if of_turn := turn_recorder.current_recorder():
            of_turn.changed("output guardrail words")
        return outcome


async def test_it_names_all_that_an_answer_was_built_from(tmp_path: Path) -> None:
    model = ScriptedProvider(
        [a_call("lamp", room="kitchen"), a_call("lamp", room="attic"), "The lamp is on."]
    )
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner("a@x")
        draft = MemoryDraft(content="The kitchen lamp is blue", subject="you@x")
        entry = await store.add(draft)
        async with a_watched_assistant(
            model,
            memory=store,
            retriever=OneManual(),
            toolboxes=[LocalToolbox([lamp])],
            layers=[Censor()],
        ) as assistant:
            await assistant.say("Is the kitchen lamp on?")
            why = await assistant.say("/why")
            await store.forget([entry.id])
            later = await assistant.say("/why")

    assert why.count("Model: scripted") == 3
    assert "estimated" in why
    assert f"{entry.id[:8]} [semantic] told, " in why
    assert "The kitchen lamp is blue" in why
    assert "manual.pdf, passage 4 (page 7) (score 0.50)" in why
    assert re.search(r"Tool: lamp, [\d.]+ s, ok", why)
    assert re.search(r"Tool: lamp, [\d.]+ s, failed: ", why)
    assert "read 5 of 5 messages" in why
    assert "Changed by: output guardrail words" in why
    assert "no embeddings: keywords only" in why
    assert {"recall", "retrieve", "model", "tools"} <= set(why.replace(",", " ").split())
    assert "lamp is blue" not in later
    assert entry.id[:8] in later


async def test_why_names_the_failed_model_and_the_unavailable_services() -> None:
    model = ScriptedProvider([ModelUnavailable("no route to 10.0.0.7")])
    async with a_watched_assistant(model) as assistant:
        await assistant.say("hi")
        why = await assistant.say("/why")

    assert "Model: scripted, no whole answer (ModelUnavailable)" in why
    assert "10.0.0.7" not in why


def test_equal_entries_share_one_line() -> None:
    yesterday, today = date(2026, 3, 1), date(2026, 3, 2)
    said = [
        QuotedMemoryRecord(id=str(n), kind=MESSAGE, origin="observed", since=since, score=0.5)
        for n, since in enumerate([yesterday] * 6 + [today])
    ]
    calls = [ToolCallRecord(name="lamp", is_success=True, seconds=0.0)] * 3
    record = TurnRecord(
        at=datetime(2026, 3, 2, tzinfo=UTC), seconds=0.1, memories=tuple(said), tools=tuple(calls)
    )

    lines = explanation_text(record, {}).split("\n")[1:]

    assert lines == [
        "Memory: 6 messages of 2026-03-01",
        "Memory: 1 message of 2026-03-02",
        "Tool: lamp, 0.00 s, ok (×3)",
    ]


async def test_answers_of_another_conversation_are_not_visible() -> None:
    async with a_watched_assistant(ScriptedProvider.echo()) as assistant:
        await assistant.say("my secret", peer="ada@x", thread="1")

        assert await assistant.say("/why", peer="bob@x", thread="1") == NO_ANSWER_YET
        assert await assistant.say("/why", peer="ada@x", thread="2") == NO_ANSWER_YET
        assert "Model: scripted" in await assistant.say("/why", peer="ada@x", thread="1")


async def test_only_the_latest_conversations_are_explained() -> None:
    async def answered(_turn_input: ChatTurnInput) -> TurnOutcome:
        return outcome

    outcome = TurnOutcome(question="hi")
    async with UsageLedger(None) as ledger:
        watching = UsageMiddleware(ledger, max_records=2)
        for key in ("one", "two", "three", "two"):
            await watching(an_utterance("hi"), Conversation(key, "you@x"), answered)

    assert [watching.last(key) is None for key in ("one", "two", "three")] == [True, False, False]


async def test_usage_is_counted_per_user() -> None:
    model = ScriptedProvider([a_call("lamp", room="kitchen"), "on", "hi"])
    async with a_watched_assistant(model, toolboxes=[LocalToolbox([lamp])]) as assistant:
        await assistant.say("Is the kitchen lamp on?")
        usage = await assistant.say("/usage")
        others = await assistant.say("/usage", peer="bob@x")

    assert "Today – answers: 1, model calls: 2 (" in usage
    assert "tool calls: 1," in usage
    assert "of them estimated" in usage
    assert "Last 30 days – answers: 0," in others
