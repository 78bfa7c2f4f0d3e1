"""Agent Lab API §6: how sessions are set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.gateway.schemas.configuration import (
    ConfigurationLayer,
    EffectiveConfiguration,
    effective_configuration,
    merge_layers,
)
from spade_llm.gateway.session_store import MAX_SESSIONS, MAX_TITLE_CHARS, GatewaySessions

if TYPE_CHECKING:
    from tests.conftest import PlaceOf
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = ["semantic", "episodic", "profile", "procedural"]
EXAMPLE = {
    "session_id": "mi-sesion-123",
    "memory": {"enabled": True, "types": ["semantic", "episodic"]},
    "rag": {"enabled": True, "namespaces": ["docs"], "top_k": 5},
    "preferences": {"context_priority": "balanced", "max_context_tokens": 4000},
}


async def test_the_status_says_what_the_agents_say_of_themselves(web: Web) -> None:
    answer = (await web.http.get("/config/status")).json()

    assert answer["system"] == {"version": "0.1.0", "environment": "development"}
    assert answer["services"] == {
        "llm": {"available": True, "provider": "Offline", "model": "offline"},
        "memory": {"available": True, "storage": "SQLite", "semantic_search": False},
        "rag": {"available": True, "vector_db": "Chroma", "embedding_model": "bag-of-words/1"},
        "mcp": {"available": True, "registered_tools": 3},
    }
    assert answer["defaults"] == {
        "memory": {"enabled": True, "types": ALL},
        "rag": {"enabled": False, "top_k": 5},
        "context": {"max_tokens": 4000, "priority": "balanced"},
    }


async def test_a_session_is_set_read_and_unset_word_for_word(web: Web) -> None:
    updated = await web.http.post("/config/session", json=EXAMPLE)
    nothing = dict.fromkeys(EXAMPLE, None) | {"session_id": "mi-sesion-123"}
    said_nothing = await web.http.post("/config/session", json=nothing)
    read = (await web.http.get("/config/session/mi-sesion-123")).json()
    deleted = await web.http.delete("/config/session/mi-sesion-123")
    again = await web.http.delete("/config/session/mi-sesion-123")

    assert updated.json() == {
        "success": True,
        "session_id": "mi-sesion-123",
        "message": "Session configuration updated successfully",
        "config": {"memory": EXAMPLE["memory"], "rag": EXAMPLE["rag"]},
    }
    assert said_nothing.json() == updated.json()
    times = read.pop("created_at"), read.pop("updated_at")
    assert read == EXAMPLE
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", one) for one in times)
    assert deleted.json() == {
        "success": True,
        "session_id": "mi-sesion-123",
        "message": "Session configuration deleted. Session will use default configuration.",
    }
    assert again.status_code == 404


async def test_an_unknown_session_has_the_defaults(web: Web) -> None:
    answer = await web.client(await web.token("nobody")).get("/config/session/never-seen")

    assert answer.status_code == 200
    assert answer.json() == {
        "session_id": "never-seen",
        "memory": {"enabled": True, "types": ALL},
        "rag": {"enabled": False, "namespaces": [], "top_k": 5},
        "preferences": {"context_priority": "balanced", "max_context_tokens": 4000},
        "created_at": None,
        "updated_at": None,
    }


async def test_global_configuration_applies_unless_a_session_overrides_it(web: Web) -> None:
    eve = web.client(await web.token("eve"))

    one = await eve.put("/config/memory", json={"session_id": "one", "enabled": False})
    every = await eve.put("/config/memory", json={"enabled": True, "types": ["profile"]})
    documents = await eve.put("/config/rag", json={"enabled": True, "top_k": 9})

    assert one.json() == {
        "success": True,
        "message": "Memory configuration updated",
        "config": {"enabled": False, "types": ALL},
    }
    assert every.json()["config"] == {"enabled": True, "types": ["profile"]}
    assert documents.json() == {
        "success": True,
        "message": "RAG configuration updated",
        "config": {"enabled": True, "namespaces": [], "top_k": 9},
    }
    status = (await eve.get("/config/status")).json()
    assert status["defaults"]["memory"] == {"enabled": True, "types": ["profile"]}
    assert status["defaults"]["rag"] == {"enabled": True, "top_k": 9}
    first = (await eve.get("/config/session/one")).json()
    assert first["memory"] == {"enabled": False, "types": ["profile"]}
    assert first["rag"]["top_k"] == 9


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("session", {"memory": {"enabled": True}}, "session_id"),
        ("session", {"session_id": "a/b"}, "session_id"),
        ("session", {"session_id": "s", "rag": {"top_k": 21}}, "top_k"),
        ("session", {"session_id": "s", "memory": {"types": ["other"]}}, "types"),
        ("session", {"session_id": "s", "preferences": {"max_context_tokens": 99}}, "max_cont"),
        ("session", {"session_id": "s", "rag": {"namespaces": ["ada@x/docs"]}}, "namespaces"),
    ],
)
async def test_what_is_wrong_is_named(
    web: Web, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await web.http.post(f"/config/{path}", json=body)

    assert answer.status_code == 422
    assert field in str(answer.json()["detail"][0]["loc"])
    assert "input" not in answer.json()["detail"][0]


async def test_layers_are_merged_field_by_field() -> None:
    request = ConfigurationLayer.model_validate({"rag": {"top_k": 3}})
    session = ConfigurationLayer.model_validate({"rag": {"top_k": 4, "enabled": True}})
    everywhere = ConfigurationLayer.model_validate({"memory": {"enabled": False}})

    holds = effective_configuration(request, session, everywhere)

    assert holds == EffectiveConfiguration(use_memory=False, use_rag=True, top_k=3)
    assert merge_layers(session, request).rag.enabled is True
    assert effective_configuration() == EffectiveConfiguration()


@pytest.mark.thorough
async def test_sessions_are_listed_latest_first_bounded_and_survive(place_of: PlaceOf) -> None:
    now = [0.0]
    database = GATEWAY_TABLES.at(place_of("gateway.db"))
    await database.open()
    state = GatewaySessions(database, clock=lambda: now[0])
    for number in range(MAX_SESSIONS + 5):
        now[0] += 1
        await state.use_session("ada@x", f"s{number}", question=f" question\n {number} {'x' * 99}")
    await state.use_session("ada@x", "s7", question="another")
    await state.configure("ada@x", ConfigurationLayer(), "s7")
    await state.use_session("bob@x", "s1")
    await database.close()

    await database.open()
    rows = await GatewaySessions(database).sessions("ada@x")

    assert len(rows) == MAX_SESSIONS
    assert rows[1].session_id == "s7"
    assert rows[1].title.startswith("question 7 xx") and len(rows[1].title) == MAX_TITLE_CHARS
    assert [row.title for row in await GatewaySessions(database).sessions("bob@x")] == [""]
    assert await GatewaySessions(database).delete_all(with_principals=True) == MAX_SESSIONS + 1
    assert await GatewaySessions(database).stored_configuration("ada@x", "s7") is None
    await database.close()
