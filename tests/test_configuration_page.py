"""The configuration page names every key and variable that exists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.core import settings
from tests.cli.program import ROOT

if TYPE_CHECKING:
    from pydantic import BaseModel

PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def test_every_key_of_an_agent_toml_is_on_the_page() -> None:
    tables: dict[str, type[BaseModel]] = {
        "admission": settings.AdmissionTable,
        "rooms": settings.RoomTable,
        "server": settings.ServerTable,
        "identity": settings.IdentityTable,
        "manners": settings.MannersTable,
        "provider": settings.ProviderTable,
        "fallback": settings.FallbackTable,
        "context": settings.ContextTable,
        "services": settings.ServicesTable,
        "ending": settings.EndingTable,
        "learning": settings.LearningTable,
        "learning.reflection": settings.ReflectionTable,
        "memory": settings.MemoryTable,
        "documents": settings.DocumentsTable,
        "files": settings.FilesTable,
        "upload": settings.UploadTable,
        "storage": settings.StorageTable,
        "embeddings": settings.EmbeddingsTable,
        "limits": settings.LimitsTable,
        "limits.peer": settings.PeerLimitsTable,
        "telemetry": settings.TelemetryTable,
        "guardrails": settings.GuardrailTable,
        "calls": settings.TermsTable,
        "python": settings.PythonTable,
        "human": settings.HumanTable,
        "mcp": settings.McpTable,
        "http": settings.HttpTable,
        "network": settings.NetworkTable,
    }
    named = set(re.findall(r"`\[*(\w+)\]*`", PAGE))
    expected = set(settings.AgentSettings.model_fields).union(
        *(table.model_fields for table in tables.values())
    )

    assert expected - named == set()


def test_every_variable_that_we_read_is_on_the_page() -> None:
    source = (ROOT / "spade_llm" / "core" / "settings" / "environment.py").read_text(
        encoding="utf-8"
    )

    for name in set(re.findall(r"\b(?:SPADE_LLM|OPENAI|LLM_MEMORY|OTEL)_[A-Z_]+\b", source)):
        assert name in PAGE
