"""What no message carries goes by way of a real server's uploads (XEP-0363)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.gateway.web import started

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Provisioner


@pytest.mark.server
async def test_long_files_and_texts_are_taken_by_the_servers_uploads(
    prosody: Provisioner, tmp_path: Path
) -> None:
    long = "\n\n".join(f"Heron number {n} eats frogs at dawn." for n in range(5000))

    async with started(prosody, tmp_path) as web:
        uploaded = await web.http.post(
            "/api/v0/documents",
            params={"name": "herons.txt", "namespace": "long"},
            content=long.encode(),
        )
        added = await web.http.post(
            "/llm/rag/documents", json={"documents": [long + "\n\nThe end."], "namespace": "long"}
        )
        stats = (await web.http.get("/llm/rag/namespaces")).json()["namespaces"]
        folder = web.agent.options.data
        assert folder is not None
        held = list((folder / "uploads").iterdir())

    last = json.loads(uploaded.text.splitlines()[-1])
    assert last["success"], last
    assert last["chunks"] > 100
    assert added.json()["documents_added"] == 1
    assert [(one["name"], one["document_count"]) for one in stats] == [("long", 2)]
    assert held == []
