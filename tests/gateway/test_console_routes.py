"""/api/v0 over a real port: what the console asks for beyond the Agent Lab API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")


def asking(text: str, **fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}], **fields}


async def test_the_gateway_reports_the_principal_of_a_request(web: Web) -> None:
    admin = (await web.http.get("/api/v0/me")).json()
    ada = (await web.client(await web.token("ada")).get("/api/v0/me")).json()

    assert (admin["principal"], admin["is_admin"], admin["token"]) == (web.principal, True, "")
    assert ada["principal"].startswith("ada@")
    assert (ada["is_admin"], ada["token"][:4]) == (False, "ada-")
    assert ada["models"] == [web.agent.gateway.addresses.assistants[0].partition("@")[0]]


async def test_only_its_owner_corrects_and_forgets_a_memory(web: Web) -> None:
    ada, eve = web.client(await web.token("ada")), web.client(await web.token("eve"))
    await ada.post(
        "/llm/chat", json=asking("Remember that I like green tea", use_tools=True, session_id="tea")
    )
    page = (await ada.get("/api/v0/memories", params={"text": "tea"})).json()
    memory = next(one for one in page["memories"] if one["origin"] == "told")
    path, body = f"/api/v0/memories/{memory['id']}", {"content": "Likes black tea"}

    foreign = [await eve.patch(path, json=body), await eve.delete(path)]
    corrected = await ada.patch(path, json=body)
    found = await ada.post("/llm/memory/search", json={"query": "tea"})
    forgotten = [await ada.delete(path), await ada.delete(path)]

    assert "green tea" in memory["content"]
    assert [answer.status_code for answer in foreign] == [404, 404]
    assert corrected.json()["content"] == "Likes black tea"
    assert "Likes black tea" in {one["content"] for one in found.json()["results"]}
    assert [answer.status_code for answer in forgotten] == [200, 404]


async def test_a_deleted_session_is_gone_with_all_it_had(web: Web) -> None:
    http = web.client(await web.token("deleter"))
    await http.post("/llm/chat", json=asking("Hello", session_id="old"))
    await http.put("/config/memory", json={"session_id": "old", "enabled": False})

    why = await http.get("/api/v0/why/old")
    deleted = await http.delete("/api/v0/sessions/old")

    assert "took" in why.json()["text"]
    assert deleted.json()["deleted"]["messages"] == 2
    assert (await http.get("/api/v0/sessions")).json() == {"sessions": [], "total_count": 0}
    assert (await http.delete("/config/session/old")).status_code == 404
    assert (await http.get("/llm/memory/history/old")).json()["messages"] == []


async def test_tools_are_listed_and_called_by_hand(web: Web) -> None:
    http = web.http

    names = (await http.get("/mpc/tools/names")).json()
    tools = (await http.get("/mpc/tools")).json()
    one = (await http.get("/mpc/tools/calculator")).json()
    body = {"arguments": {"expression": "6 * 7"}}
    good = (await http.post("/api/v0/tools/calculator/call", json=body)).json()
    bad = (await http.post("/api/v0/tools/calculator/call", json={"arguments": {}})).json()

    assert names["count"] == tools["count"] == len(names["tool_names"])
    assert [tool["name"] for tool in tools["tools"]] == names["tool_names"]
    assert one["input_schema"]["required"] == ["expression"]
    assert one["examples"][0] == {
        "input": {"expression": "(17.5 - 3) * 2 ** 10"},
        "output": "14848",
    }
    assert (good["success"], good["result"], good["error"]) == (True, "42", None)
    assert (bad["success"], bad["result"]) == (False, None)
    assert "expression" in bad["error"]
    assert (await http.get("/mpc/tools/nothing")).status_code == 404
    assert (await http.post("/api/v0/tools/nothing/call", json={})).status_code == 404


async def test_only_admins_see_all_agents_and_requests(web: Web) -> None:
    ada = web.client(await web.token("watcher"))
    await ada.post("/llm/chat", json=asking("Hello"))
    await web.http.post("/llm/chat", json=asking("Hello"))

    seen = {one["kind"]: one for one in (await web.http.get("/api/v0/agents")).json()["agents"]}
    hers = (await ada.get("/api/v0/agents")).json()["agents"]
    requests = (await web.http.get("/api/v0/requests", params={"limit": 200})).json()["requests"]
    own = (await ada.get("/api/v0/requests")).json()["requests"]

    assert {"assistant", "memory", "rag", "tools"} <= set(seen)
    assert all(one["online"] for one in seen.values())
    assert seen["assistant"]["summary"]
    assert seen["assistant"]["answered"] >= 2
    assert not any(one["summary"] or one["answered"] for one in hers)
    assert {one["asker"].partition("@")[0] for one in own} == {"watcher"}
    assert len({one["asker"] for one in requests}) > 1
    assert [one["at"] for one in requests] == sorted((one["at"] for one in requests), reverse=True)
    assert any(one["op"] == "say" and one["outcome"] == "inform" for one in own)
    usage = (await ada.get("/api/v0/usage")).json()
    assert [day["turns"] for day in usage["days"]] == [1]


async def test_approving_an_unknown_call_is_answered_with_404(web: Web) -> None:
    answer = await web.http.post("/api/v0/approve", json={"id": "nothing", "is_approved": True})

    assert answer.status_code == 404
