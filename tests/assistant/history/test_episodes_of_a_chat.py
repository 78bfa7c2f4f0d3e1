"""Episodes of a chat: what the person said, without what the program itself says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.learning.learner import Learner
from spade_llm.providers import OfflineProvider
from spade_llm.search.memory_query import MemoryFilter, MemoryType
from tests.assistant.turn.test_turn_failures import an_assistant, an_utterance
from tests.memory.talks import ANA


async def test_commands_help_and_answers_by_rules_are_in_no_episode() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        store = backend.for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)
        said = (
            "/help",
            "I work in Madrid as a nurse.",
            "/memories",
            "what can you do?",
            "I have a dog.",
            "forget that I have a dog",
        )
        for number, text in enumerate(said):
            await assistant.answer(an_utterance(text, peer=ANA, id=str(number)))
        await memory.hand_over(ANA)

        def tomorrow() -> datetime:
            return datetime.now(UTC) + timedelta(days=1)

        await Learner(backend.learning(), backend, clock=tomorrow).learn()
        page = await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)))

    (episode,) = page.entries
    assert (
        episode.content.partition(": ")[2] == "user: I work in Madrid as a nurse. what can you do?"
    )
