"""Whatever JSON a model sends, an entry tool answers with one JSON object and raises nothing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.tools.entry_tool import SubjectScope
from spade_llm.memory.tools.toolset import entry_tools, further_tools, owner_tools

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory.tools.entry_tool import EntryTool

NAMES = [
    "id", "ids", "content", "content_type", "memory_tier", "tags", "metadata", "ttl_seconds",
    "agent_id", "query", "top_k", "limit", "offset", "min_similarity", "search_mode", "sort_by",
    "items", "updates", "on_error", "score", "reason", "memory_ids", "summary_strategy", "to",
    "older_than", "created_after", "source_id", "target_id", "dry_run", "enabled", "memory_tiers",
    "self", "",
]  # fmt: skip
WORDS = [
    "long_term", "short_term", "text", "code", "keyword", "hybrid", "continue", "stop", "tea",
    "2024-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
    "00000000-0000-4000-8000-000000000000", "\ud800", "\x00", "ada@localhost",
]  # fmt: skip

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -(10**30), 10**400, 0, 1, 5])
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text()
)
names = st.sampled_from(NAMES) | st.text()
any_json = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5)
)
arguments = st.dictionaries(names, any_json, max_size=6)


@pytest.mark.thorough
def test_any_json_gives_one_json_object(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        backend = SQLiteMemoryBackend(tmp_path / "memory.db")
        runner.run(backend.open())
        store = backend.for_owner("assistant@localhost")
        scopes = [SubjectScope(store=store, owner="assistant@localhost", subject=one) for one in
                  (None, "ada@localhost")]  # fmt: skip
        tools = [*owner_tools(store)]
        for scope in scopes:
            tools += [*entry_tools(scope), *further_tools(scope, store)]

        @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
        @given(tool=st.sampled_from(tools), sent=arguments | any_json)
        def answers(tool: EntryTool, sent: object) -> None:
            answer = runner.run(tool.answer(sent))
            assert isinstance(json.loads(json.dumps(answer).encode()), dict)
            if isinstance(sent, dict):
                text = runner.run(tool.execute(**sent))
                assert isinstance(json.loads(text.encode()), dict)

        try:
            answers()
        finally:
            runner.run(backend.close())
