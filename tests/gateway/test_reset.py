"""Agent Lab API §7: a principal's messages deleted, and everything of everybody."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import httpx

    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORDS = "The boat is called Zephyr."


async def chat(client: httpx.AsyncClient, session: str, text: str) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": text}], "session_id": session}
    answer = await client.post("/llm/chat", json=body)
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def count(client: httpx.AsyncClient, session: str) -> int:
    history = (await client.get(f"/llm/memory/history/{session}")).json()
    return int(history["total_count"])


async def test_a_reset_deletes_messages_of_one_principal_and_begins_anew(web: Web) -> None:
    ada, bob = web.client(await web.token("ada")), web.client(await web.token("bob"))
    await chat(ada, "one", WORDS)
    await chat(ada, "two", "Hello")
    await chat(bob, "one", "Hello")
    await ada.post("/config/session", json={"session_id": "one", "rag": {"top_k": 9}})

    reset = await ada.post("/session/reset")
    again = await ada.post("/session/reset", content=b"not json", headers={"X-Any": "body"})

    new = reset.json()["new_session_id"]
    assert reset.json() == {
        "success": True,
        "new_session_id": str(uuid.UUID(new)),
        "message": "Session reset successfully. Chat history cleared (4 messages).",
    }
    assert "(0 messages)" in again.json()["message"]
    assert [await count(ada, "one"), await count(ada, "two"), await count(bob, "one")] == [0, 0, 2]
    kept = (await ada.get("/config/session/one")).json()
    assert kept["rag"]["top_k"] == 9
    assert (await ada.get(f"/config/session/{new}")).json()["created_at"] is not None


async def test_a_full_reset_deletes_all_data_and_counts_it(web: Web) -> None:
    ada, admin = (
        web.client(await web.token("ada")),
        web.client(await web.token("root", is_admin=True)),
    )
    await chat(ada, "one", WORDS)
    await ada.post("/config/session", json={"session_id": "one", "rag": {"top_k": 9}})
    await ada.post("/llm/rag/documents", json={"documents": [WORDS]})

    await admin.post("/session/reset")
    done = await admin.post("/session/reset-all", json={"confirmation": "DELETE"})

    assert done.status_code == 200, done.text
    said = done.json()
    deleted = said["deleted"]
    assert (said["success"], said["message"]) == (True, "System reset completed successfully")
    assert deleted["sessions"] >= 1 and deleted["messages"] >= 2
    assert deleted["rag_documents"] == 1 and deleted["vector_count"] >= 1
    assert await count(ada, "one") == 0
    assert (await ada.get("/config/session/one")).json()["created_at"] is None
    assert (await ada.get("/llm/rag/namespaces")).json()["namespaces"] == []
