"""Agent Lab API §4 over a real port: documents, and every field that takes a path."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.gateway.web import started

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "the heron's nest is under the bridge"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Web]:
    folder = tmp_path_factory.mktemp("documents")
    root = make_root(folder)
    async with started(embedded, folder, roots=[root]) as web:
        yield web


def make_root(folder: Path) -> Path:
    root = folder / "root"
    (root / "birds").mkdir(parents=True)
    (root / "birds" / "heron.md").write_text("# Herons\n\nA heron eats frogs at dawn.")
    (root / "birds" / "photo.png").write_text("no text")
    (root / "birds" / "deep").mkdir()
    (root / "birds" / "deep" / "owl.txt").write_text("An owl hunts mice by night.")
    (folder / "secret.txt").write_text(SECRET)
    (root / "link.txt").symlink_to(folder / "secret.txt")
    (root / "out").symlink_to(folder)
    return root


async def test_texts_and_files_are_added_listed_asked_and_deleted(web: Web) -> None:
    http = web.http
    documents = ["The flamingo is pink because of shrimps.", "./birds/heron.md", "birds"]

    added = await http.post("/llm/rag/documents", json={"documents": documents, "namespace": "zoo"})
    listed = (await http.get("/llm/rag/documents", params={"namespace": "zoo"})).json()
    (space,) = (await http.get("/llm/rag/namespaces")).json()["namespaces"]
    stats = (await http.get("/llm/rag/namespace/zoo/stats")).json()
    asked = await http.post("/llm/rag/query", json={"query": "heron frogs", "namespace": "zoo"})
    deleted = await http.delete("/llm/rag/namespace/zoo")

    assert added.json() == {
        "success": True,
        "message": "Documents added successfully",
        "documents_added": 3,
        "left_out": [],
    }
    sources = {one["source"] for one in listed["documents"]}
    assert "birds/heron.md" in sources
    assert len(sources) == listed["total_count"] == 3
    assert not listed["has_more"]
    assert (space["name"], space["document_count"], space["chunk_count"]) == ("zoo", 3, 3)
    assert stats == {
        "success": True,
        "namespace": "zoo",
        "vector_count": 3,
        "dimension": 256,
        "exists": True,
    }
    best = asked.json()["sources"][0]
    assert best["metadata"]["source"] == "birds/heron.md"
    assert best["metadata"]["namespace"] == "zoo"
    assert best["metadata"]["chunk_index"] == best["chunk_index"] == 0
    assert deleted.json()["message"] == "Namespace 'zoo' deleted successfully"
    assert (await http.delete("/llm/rag/namespace/zoo")).status_code == 404
    assert not (await http.get("/llm/rag/namespace/zoo/stats")).json()["exists"]


@pytest.mark.parametrize("namespace", ["never-seen", "default"])
async def test_a_filter_by_a_namespace_without_documents_finds_none(
    web: Web, namespace: str
) -> None:
    newcomer = web.client(await web.token("newcomer"))

    answer = await newcomer.get("/llm/rag/documents", params={"namespace": namespace, "limit": 50})

    assert (answer.status_code, answer.json()) == (
        200,
        {"documents": [], "total_count": 0, "limit": 50, "offset": 0, "has_more": False},
    )


async def test_a_folder_is_read_with_what_is_below_it_if_wanted(web: Web) -> None:
    http, body = web.http, {"directory": "./birds", "namespace": "folder"}

    flat = await http.post("/llm/rag/directory", json={**body, "recursive": False})
    deep = await http.post("/llm/rag/directory", json=body)

    assert flat.json()["documents_added"] == 1
    assert deep.json()["documents_added"] == 2
    assert deep.json()["message"] == "Directory processed successfully"
    assert [one["source"] for one in deep.json()["left_out"]] == ["birds/photo.png"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "birds/../../secret.txt",
        "link.txt",
        "out/secret.txt",
        "/etc/hostname.txt",
        "/etc/passwd",
        "file:///etc/passwd.txt",
        "birds/../birds/absent.txt",
        "absent.txt",
        "a\0.txt",
        "~/secret.txt",
        "x" * 5000 + ".txt",
    ],
)
async def test_nothing_outside_the_root_is_read_or_told_of(web: Web, path: str) -> None:
    http = web.client(await web.token("mallory"))
    body = {"documents": [path], "namespace": "probe"}

    added = await http.post("/llm/rag/documents", json=body)
    found = await http.post(
        "/api/v0/retrieve", json={"query": "heron nest bridge root", "namespaces": ["probe"]}
    )
    folder = await http.post("/llm/rag/directory", json={"directory": path[:1000]})

    assert (added.status_code, added.json()["documents_added"]) == (200, 1)
    assert SECRET not in found.text
    assert folder.status_code == 404
    assert folder.json()["detail"] == "directory: no such folder below the document root"


async def test_a_file_that_is_there_and_cannot_be_read_is_named(web: Web) -> None:
    body = {"documents": ["A text.", "birds/photo.png"], "namespace": "broken"}

    answer = await web.http.post("/llm/rag/documents", json=body)

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("documents.1: 'birds/photo.png' cannot be read")


@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"chunk_size": 100, "chunk_overlap": 100}, 400, "chunk_overlap: 100 must be less than"),
        ({"chunk_size": 99}, 422, "chunk_size"),
        ({"chunk_overlap": 1001}, 422, "chunk_overlap"),
        ({"namespace": "you@localhost/zoo"}, 422, "namespace"),
        ({"namespace": ".."}, 422, "namespace"),
        ({"documents": []}, 422, "documents"),
        ({"documents": [" "]}, 422, "documents"),
        ({"chunk_size": 100}, 200, "success"),
    ],
)
async def test_a_field_that_is_wrong_is_named(
    web: Web, fields: dict[str, object], status: int, named: str
) -> None:
    body = {"documents": ["A text."], "namespace": "fields", **fields}

    answer = await web.http.post("/llm/rag/documents", json=body)

    assert answer.status_code == status
    assert named in answer.text


@pytest.mark.parametrize("limit", [0, 1001, -1, 10**20])
async def test_a_limit_out_of_range_is_refused_with_a_sentence(web: Web, limit: int) -> None:
    answer = await web.http.get("/llm/rag/documents", params={"limit": limit})

    assert answer.status_code == 400
    assert answer.json()["detail"] == f"limit: {limit} is out of range; use 1 to 1000"


async def test_documents_are_quoted_to_their_owner_only(
    web: Web,
) -> None:
    ada, eve = web.client(await web.token("ada")), web.client(await web.token("eve"))
    text = "Ada's heron is called Archimedes."
    await ada.post("/llm/rag/documents", json={"documents": [text], "namespace": "pets"})
    question = {
        "messages": [{"role": "user", "content": "What is the heron called?"}],
        "use_rag": True,
        "rag_namespaces": ["pets"],
    }

    hers = (await ada.post("/llm/chat", json=question)).json()
    others = [
        await eve.post("/llm/chat", json=question),
        await eve.post("/llm/chat", json={**question, "rag_namespaces": None}),
        await eve.post("/llm/rag/query", json={"query": "heron", "namespace": "pets"}),
        await eve.post("/api/v0/retrieve", json={"query": "heron"}),
        await eve.get("/llm/rag/namespaces"),
        await eve.get("/llm/rag/namespace/pets/stats"),
    ]

    assert [one["content"] for one in hers["rag_sources"]] == [text]
    assert hers["rag_sources"][0]["metadata"]["namespace"] == "pets"
    assert text in hers["context_text"]
    assert {answer.status_code for answer in others} == {200}
    assert "Archimedes" not in "".join(answer.text for answer in others)
    assert (await eve.delete("/llm/rag/namespace/pets")).status_code == 404
    (document,) = (await ada.get("/llm/rag/documents")).json()["documents"]
    gone = {"source": document["source"], "namespace": "pets"}
    assert (await eve.delete("/api/v0/documents", params=gone)).status_code == 404
    assert (await ada.delete("/api/v0/documents", params=gone)).status_code == 200


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/notes.md", "notes.md"),
        ("C:\\Users\\ada\\notes.md", "notes.md"),
        ("..\x00notes\n.md", "notes.md"),
    ],
)
async def test_a_file_is_uploaded_under_the_last_part_of_its_name(
    web: Web, name: str, source: str
) -> None:
    content = b"# Notes\n\nThe kingfisher dives at noon."

    answer = await web.http.post(
        "/api/v0/documents", params={"name": name, "namespace": "files"}, content=content
    )

    lines = [json.loads(line) for line in answer.text.splitlines() if line]
    assert lines[0] == {"done": 0, "total": 1, "chunks": 0}
    assert lines[-1]["success"]
    assert (lines[-1]["source"], lines[-1]["chunks"]) == (source, 1)
    assert held(web) == []


async def test_refused_uploads_leave_no_files(web: Web) -> None:
    http, params = web.http, {"name": "big.pdf", "namespace": "files"}

    refused = [
        await http.post("/api/v0/documents", params={**params, "name": "a.exe"}, content=b"x"),
        await http.post("/api/v0/documents", params={**params, "name": "..."}, content=b"x"),
        await http.post("/api/v0/documents", params=params, content=b""),
    ]
    unreadable = await http.post(
        "/api/v0/documents", params={**params, "name": "a.txt"}, content=b"caf\xe9 au lait"
    )
    no_uploads = await http.post("/api/v0/documents", params=params, content=b"%PDF-1.7")

    assert [answer.status_code for answer in refused] == [400, 400, 400]
    last = [json.loads(one.text.splitlines()[-1]) for one in (unreadable, no_uploads)]
    assert [(one["success"], one["status"]) for one in last] == [(False, 400), (False, 409)]
    assert "UTF-8" in last[0]["detail"]
    assert "takes no uploads" in last[1]["detail"]
    assert held(web) == []


def held(web: Web) -> list[str]:
    folder = web.agent.options.data
    assert folder is not None
    return [one.name for one in (folder / "uploads").iterdir()]
