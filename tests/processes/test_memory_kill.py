"""A memory's answers survive a kill −9: the same request again gets the same answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.remote_endpoint import ONTOLOGY
from spade_llm.messaging import OutgoingRequest, new_id
from spade_llm.search.memory_query import Origin
from tests.processes.deployment import running_deployment

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agents import ChatAgent

pytestmark = pytest.mark.server
MEMORY = "memory@localhost"
SAID = {"id": "1", "role": "user", "content": "hello", "at": "2026-03-01T12:00:00Z"}


async def ask(program: ChatAgent, id: str, body: str) -> str:
    question = OutgoingRequest(peer=MEMORY, ontology=ONTOLOGY, content=body, id=id)
    return (await program.node.requester.ask(question, timeout_s=30)).content


def writes(ids: list[str]) -> list[dict[str, object]]:
    """Every op that changes something, on entries of its own."""
    draft = {"content": "tea"}
    return [
        {"op": "add", "draft": draft, "merge": False},
        {"op": "add_many", "drafts": [draft, draft]},
        {"op": "update", "change": {"id": ids[0], "content": "milk"}},
        {"op": "update_many", "changes": [{"id": ids[1], "content": "oats"}]},
        {"op": "set_importance", "id": ids[0], "score": 0.9, "reason": "because"},
        {"op": "replace", "ids": [ids[2], ids[3]], "draft": draft, "keep": False},
        {"op": "merge", "into": ids[4], "others": [ids[5]]},
        {"op": "delete", "which": {}, "ids": [ids[6]]},
        {"op": "forget", "ids": [ids[7]]},
        {"op": "forget_subject", "subject": "bob@localhost"},
        {"op": "observe", "conversation": "c", "messages": [SAID]},
        {"op": "link", "source": ids[0], "target": ids[1]},
        {"op": "unlink", "source": ids[0], "target": ids[1]},
        {"op": "grant", "to": "bob@localhost"},
        {"op": "configure_decay", "policy": {"is_enabled": True}},
    ]


async def told(client: MemoryClient) -> list[str]:
    """Ids of what was stored; episodes come by themselves."""
    entries = (await client.list(limit=100)).entries
    return [entry.id for entry in entries if entry.origin is not Origin.EPISODE]


async def test_the_same_request_after_a_kill_gets_the_same_answer(tmp_path: Path) -> None:
    async with running_deployment(tmp_path) as deployment:
        program = await deployment.program("program")
        client = MemoryClient(program.node.requester, MEMORY)
        drafts = [MemoryDraft(content=f"drink {n}") for n in range(8)]
        ids = list((await client.add_many(drafts)).ids)
        requests = {new_id(): json.dumps(body) for body in writes(ids)}

        before = {id: await ask(program, id, body) for id, body in requests.items()}
        kept = await told(client)
        await deployment.kill("memory")
        await deployment.start("memory")
        after = {id: await ask(program, id, body) for id, body in requests.items()}

        assert after == before
        assert await told(client) == kept
        assert len(await client.history("c")) == 1
