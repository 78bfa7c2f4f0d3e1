"""The names that Agent Lab's own programs send and read, where its API says nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

TYPES = ("semantic", "episodic", "profile", "procedural")


def toggles(*on: str) -> dict[str, bool]:
    return {f"enable_{name}": name in on for name in ("short_term", *TYPES)}


def asking(text: str, session: str, **fields: object) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "session_id": session, **fields}


async def test_each_toggle_of_memory_is_set_read_and_kept(web: Web) -> None:
    http, session = web.http, {"session_id": "toggles"}
    rag = {"enabled": False, "namespaces": [], "top_k": 5}

    made = await http.post(
        "/config/session", json={**session, "memory": toggles("short_term"), "rag": rag}
    )
    for on in TYPES:
        body = {**session, "memory": toggles("short_term", on)}
        told = (await http.post("/config/session", json=body)).json()["config"]["memory"]
        assert told == {
            "enabled": True,
            "types": [on],
            "enable_memory": True,
            **toggles("short_term", on),
        }
    one_less = {**session, "memory": {"enable_procedural": False}}
    less = (await http.post("/config/session", json=one_less)).json()["config"]["memory"]
    off = (await http.post("/config/session", json={**session, "memory": toggles()})).json()
    read = (await http.get("/config/session/toggles")).json()

    assert made.json()["config"]["memory"]["enable_short_term"] is True
    assert made.json()["config"]["rag"] == {**rag, "enable_rag": False}
    assert (less["enabled"], less["types"]) == (True, [])
    assert off["config"]["memory"]["enabled"] is False
    assert read["config"] == off["config"]
    assert read["memory"] == read["config"]["memory"]


async def test_documents_and_tools_have_toggles_too(web: Web) -> None:
    http = web.http
    rag = {"enable_rag": True, "namespaces": ["docs"]}
    mcp = {"enabled": True, "available_tools": ["calculator"]}

    told = await http.post("/config/session", json={"session_id": "two", "rag": rag, "mcp": mcp})
    all_tools = {"session_id": "two", "mcp": {"enabled": True, "available_tools": None}}
    widened = await http.post("/config/session", json=all_tools)
    for_all = await web.client(await web.token("toggler")).put(
        "/config/rag", json={"enable_rag": True}
    )

    assert told.json()["config"]["rag"]["enabled"] is True
    assert told.json()["config"]["mcp"] == {**mcp, "enable_tools": True}
    assert widened.json()["config"]["mcp"]["available_tools"] == []
    assert for_all.json()["config"]["enabled"] is True


async def test_disabled_history_is_kept_but_not_read(web: Web) -> None:
    http, session = web.http, "amnesia"
    await http.post("/llm/chat", json=asking("My parrot is called Polly.", session))
    before = (await http.post("/llm/chat", json=asking("Hello", session))).json()

    body = {"session_id": session, "memory": {"enable_short_term": False}}
    await http.post("/config/session", json=body)
    chat = asking("Hello again", session, memory_types=[])
    after = (await http.post("/llm/chat", json=chat)).json()
    history = (await http.get(f"/llm/memory/history/{session}")).json()

    assert "Polly" in before["context_text"]
    assert "Polly" not in after["context_text"]
    assert history["total_count"] == 6


async def test_a_chat_takes_the_toggles_and_tells_of_tools_by_both_names(web: Web) -> None:
    question = "What time is it in Asia/Tokyo?"
    mcp = {"session_id": "timely", "mcp": {"enable_tools": True}}
    await web.http.post("/config/session", json=mcp)

    by_session = (await web.http.post("/llm/chat", json=asking(question, "timely"))).json()
    by_toggle = (
        await web.http.post("/llm/chat", json=asking(question, "other", enable_tools=True))
    ).json()
    without = (
        await web.http.post("/llm/chat", json=asking(question, "timely", use_tools=False))
    ).json()

    assert by_session["tools_used"] and by_toggle["tools_used"] and not without["tools_used"]
    (call,), (result,) = by_toggle["tool_calls"], by_toggle["tool_results"]
    step = by_toggle["agent_steps"][0]
    assert call["args"] == call["arguments"]
    assert (result["tool_call_id"], result["tool_name"]) == (call["id"], call["name"])
    assert result["output"] == result["result"]
    assert (step["step_number"], step["action"]) == (1, "tool_call")
    assert (step["tool_call"], step["tool_result"]) == (call, result)


async def test_documents_and_statistics_are_told_by_both_names(web: Web) -> None:
    http = web.client(await web.token("reader"))
    text = "The lighthouse keeper feeds forty cats. " * 20

    await http.post("/llm/rag/documents", json={"documents": [text], "namespace": "sea"})
    (document,) = (await http.get("/llm/rag/documents")).json()["documents"]
    (space,) = (await http.get("/llm/rag/namespaces")).json()["namespaces"]
    await http.post("/llm/chat", json=asking("Hello", "counted"))
    stats = (await http.get("/llm/memory/stats/counted")).json()

    assert document["filename"] == document["source"]
    assert document["total_chunks"] == document["chunk_count"] == space["total_chunks"]
    assert text.startswith(document["content_preview"]) and document["content_preview"]
    assert stats["message_count"] == stats["short_term"]["message_count"] == 2
    assert stats["token_count"] == stats["buffer_tokens"] == stats["short_term"]["token_count"]
    assert stats["long_term"].items() <= stats.items()


@pytest.mark.parametrize("path", ["/llm/memory/{}", "/llm/memory/history/{}"])
async def test_a_session_is_cleared_by_its_shorter_addresses(web: Web, path: str) -> None:
    session = path.count("/") * "s"
    await web.http.post("/llm/chat", json=asking("Hello", session))

    cleared = await web.http.delete(path.format(session))
    history = (await web.http.get(f"/llm/memory/history/{session}")).json()

    assert cleared.json()["deleted"]["messages"] == 2
    assert "deleted" in cleared.json()["message"]
    assert history["messages"] == []


async def test_operations_are_no_sessions_to_be_cleared(web: Web) -> None:
    answers = [await web.http.delete(f"/llm/memory/{name}") for name in ("context", "search")]

    assert [(one.status_code, one.headers["Allow"]) for one in answers] == [(405, "POST")] * 2
