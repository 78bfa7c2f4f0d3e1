"""The examples of the Agent Lab API's appendices, as given, with curl, on `up --processes`; and
that what is told over HTTP is the same memory that the person has over XMPP.

appendices.md is a copy of appendices A and B.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from asyncio.subprocess import PIPE
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio

from tests.cli.program import program_in
from tests.recording.session import log_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.server,
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH"),
]

APPENDICES = (Path(__file__).parent / "appendices.md").read_text(encoding="utf-8")
URL_OF_SPECS = "http://localhost:8000"
ANSWER_S = 60.0
CURLRC = 'silent\nshow-error\nnoproxy = "*"\nmax-time = 60\nwrite-out = "\\n%{http_code}"\n'
FASTAPI = "Documentación de FastAPI: es un framework web rápido para construir APIs con Python."
Json = dict[str, Any]


def commands() -> list[str]:
    """Each `curl` of the appendices, in order."""
    blocks = re.findall(r"```bash\n(.*?)```", APPENDICES, re.DOTALL)
    found = [part for block in blocks for part in re.split(r"\n\n(?=#)", block.strip())]
    return [command[command.index("curl ") :] for command in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    url: str
    data: Path
    home: Path
    """Where curl finds its settings."""
    answers: list[Json] = field(default_factory=list)

    async def curl(self, command: str) -> Json:
        """What the command of the Agent Lab API prints, at our address; its status must be 200."""
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", command.replace(URL_OF_SPECS, self.url)),
            stdout=PIPE,
            stderr=PIPE,
            env={"CURL_HOME": str(self.home), "PATH": "/usr/bin:/bin:/usr/local/bin"},
        )
        output, errors = await asyncio.wait_for(process.communicate(), ANSWER_S)
        body, _, status = output.decode().rpartition("\n")
        assert status == "200", (command, body, errors.decode())
        answer: Json = json.loads(body)
        return answer

    async def post(self, path: str, body: Json) -> httpx.Response:
        async with httpx.AsyncClient(
            base_url=self.url, trust_env=False, timeout=ANSWER_S
        ) as client:
            answer = await client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer

    async def chat(self, session: str, text: str) -> str:
        body = {"messages": [{"role": "user", "content": text}], "session_id": session}
        return str((await self.post("/llm/chat", {**body, "use_tools": True})).json()["response"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(
    tmp_path_factory: pytest.TempPathFactory, unused_tcp_port_factory: Any
) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("specs")
    program = program_in(folder, has_prosody=True, port=unused_tcp_port_factory())
    documents = program.data / "documents" / "docs"
    documents.mkdir(parents=True)
    (documents / "fastapi.md").write_text(FASTAPI, encoding="utf-8")
    (folder / ".curlrc").write_text(CURLRC, encoding="utf-8")
    async with program.up("--processes") as up:
        await up.ready()
        (url,) = json.loads((program.data / "run.json").read_text())["web"]
        yield Served(url=url, data=program.data, home=folder)


async def test_the_appendices_of_the_specification_give_what_they_say(served: Served) -> None:
    plain, remembering, unread, timed, everything, *typical = [
        await served.curl(command) for command in commands()
    ]

    assert plain["response"]
    assert plain["session_id"]
    assert (plain["context_tokens"], plain["rag_sources"], plain["tools_used"]) == (0, [], False)
    assert remembering["session_id"] == everything["session_id"] == "mi-sesion-123"
    assert unread["rag_sources"] == []
    assert (timed["tools_used"], timed["tool_calls"][0]["name"]) == (True, "get_current_datetime")
    assert "Nueva York" in timed["response"]
    assert everything["response"]
    check_typical(*typical)


def check_typical(
    status: Json,
    added: Json,
    listed: Json,
    first: Json,
    second: Json,
    third: Json,
    stats: Json,
    history: Json,
    reset: Json,
) -> None:
    assert [one["available"] for one in status["services"].values()] == [True] * 4
    assert (added["success"], added["documents_added"]) == (True, 1)
    assert [(one["name"], one["document_count"]) for one in listed["namespaces"]] == [("docs", 1)]
    assert first["session_id"] == second["session_id"] == "juan-session-1"
    assert "Python" in second["response"]
    assert "## " in second["context_text"]
    (source,) = third["rag_sources"]
    assert (source["content"], source["metadata"]["namespace"]) == (FASTAPI, "docs")
    assert FASTAPI in third["context_text"]
    assert 0 < third["context_tokens"] <= 4000
    assert stats["short_term"]["message_count"] == 6
    assert history["total_count"] == 6
    said = [one["content"] for one in history["messages"] if one["role"] == "user"]
    assert said[:2] == ["Hola, soy Juan y me gusta Python", "¿Cuál es mi lenguaje favorito?"]
    assert reset["success"]
    assert reset["new_session_id"] not in {"juan-session-1", ""}


async def test_facts_of_one_session_are_known_in_others_and_over_xmpp(
    served: Served,
) -> None:
    await served.chat("kitchen", "Remember that my cat is called Mycroft.")

    elsewhere = await served.chat("garden", "What is my cat called?")
    found = await served.post("/llm/memory/search", {"query": "the cat's name"})
    markdown = await served.post("/api/v0/retrieve_memory", {"query": "the cat's name"})
    phone = await log_in(served.data)
    phone.send("assistant@localhost", "What is my cat called?")
    over_xmpp = await asyncio.wait_for(phone.messages.get(), ANSWER_S)
    await phone.close()

    assert "Mycroft" in elsewhere
    assert any("Mycroft" in one["content"] for one in found.json()["results"])
    assert "Mycroft" in markdown.text
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert "Mycroft" in str(over_xmpp["body"])
