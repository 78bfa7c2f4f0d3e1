"""Replicas of services under load, while one is killed: tool agent, memory agent, RAG agent."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import pytest_asyncio

from spade_llm.core.errors import RequestFailed
from spade_llm.memory import MemoryDraft
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.remote import MemoryClient
from spade_llm.messaging.agent_status import ask_status
from spade_llm.messaging.replicas import rendezvous_owner
from spade_llm.rag import Document, Progress, RetrievalOptions
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import MemoryFilter, MemoryType
from spade_llm.tools.call_log import read_calls
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import CallContext
from spade_llm.xmpp.connection.jids import resource_of
from tests.openai_server import Call, Say
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.postgres_server import PostgresProcess

pytestmark = [pytest.mark.server, pytest.mark.thorough, pytest.mark.timeout(180)]

OWN_TOOLS = Path(__file__).parent / "own_tools.py"
STORAGE = """
[storage]
database_url = "{url}"
"""
REPLICAS = (1, 2, 3)
PEOPLE = 12
TAKEOVER_S = 10.0
ANSWER_S = 45.0
DOCUMENTS = 400
REST = "Behind it is a corridor with a lamp, a chair and a window towards the harbour. \n\n" * 40


@pytest_asyncio.fixture
async def deployment(tmp_path: Path) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path, names=()) as running:
        yield running


async def start_replicas(deployment: Deployment, kind: str, more: str) -> None:
    await deployment.account(kind)
    deployment._write_file(kind, more)
    await asyncio.gather(*(start(deployment, kind, number) for number in REPLICAS))


async def start(deployment: Deployment, kind: str, number: int) -> None:
    await deployment.start(kind, "--replica", str(number), label=f"{kind}-{number}")


@dataclass
class Load:
    """People that ask one thing after another, until it is over."""

    ask: Callable[[str], Awaitable[None]]
    asked: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        people = [f"p{number}@localhost" for number in range(PEOPLE)]
        self.running = asyncio.gather(*map(self._talk, people))

    async def served(self, more: int) -> None:
        """Return after so many further answers."""
        wanted = self.asked.total() + more
        async with asyncio.timeout(ANSWER_S):
            while self.asked.total() < wanted:
                assert not self.running.done()
                await asyncio.sleep(0.02)

    async def end(self) -> None:
        self.is_over.set()
        await self.running

    async def _talk(self, person: str) -> None:
        while not self.is_over.is_set():
            since_s = asyncio.get_running_loop().time()
            await self.ask(person)
            self.slowest_s = max(self.slowest_s, asyncio.get_running_loop().time() - since_s)
            self.asked[person] += 1


async def test_tool_replicas_run_each_call_once_while_one_is_killed(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    more = '[python]\ntools = ["own.py"]\n' + STORAGE.format(url=own_postgres.url())
    await deployment.account("tools")
    path = deployment._write_file("tools", more)
    (path.parent / "own.py").write_text(OWN_TOOLS.read_text())
    await asyncio.gather(*(start(deployment, "tools", number) for number in REPLICAS))
    program = await deployment.program("calling")
    tools = ToolsClient(program.node.requester, "tools@localhost")
    lines, said = deployment.directory / "lines", [0]
    answered: list[str] = []
    interrupted: list[str] = []

    async def call(person: str) -> None:
        said[0] += 1
        line, context = f"{person} {said[0]}", CallContext(on_behalf_of=person)
        try:
            await tools.call("write_down", {"path": str(lines), "line": line}, context=context)
        except RequestFailed as error:
            assert error.wire_code == "interrupted"
            interrupted.append(line)
        else:
            answered.append(line)

    load = Load(call)
    load.begin()
    await load.served(3 * PEOPLE)
    await deployment.kill("tools-1")
    await load.served(3 * PEOPLE)
    await start(deployment, "tools", 1)
    await load.served(3 * PEOPLE)
    status = await ask_status(program.node.requester, "tools@localhost", timeout_s=5)
    await load.end()

    written = Counter(lines.read_text().splitlines())
    home = deployment.directory / "data" / "agents" / "tools@localhost" / "replicas"
    calls = [len(read_calls(home / str(one) / "calls", last=9999)) for one in REPLICAS]
    assert all(calls)
    assert {written[line] for line in answered} == {1}
    assert all(written[line] <= 1 for line in interrupted)
    assert len(interrupted) <= PEOPLE
    assert load.slowest_s < TAKEOVER_S
    assert len(status.replicas) == len(REPLICAS)
    assert sum(one.takeovers for one in status.replicas) > 0
    assert status.facts["answered_by"] in {one.name for one in status.replicas}


async def test_a_turn_that_another_replica_takes_over_runs_its_tool_once(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    storage = STORAGE.format(url=own_postgres.url())
    await deployment.account("tools")
    path = deployment._write_file("tools", f'[python]\ntools = ["own.py"]\n{storage}')
    (path.parent / "own.py").write_text(OWN_TOOLS.read_text())
    await asyncio.gather(*(start(deployment, "tools", number) for number in REPLICAS))
    await start_replicas(deployment, "assistant", storage)
    names = replica_names(deployment, "assistant@localhost")
    owner = rendezvous_owner("ada@localhost", tuple(names.values()))
    (number,) = (number for number, name in names.items() if name == owner)
    ada = await deployment.person("ada")
    ledger, receipt = deployment.directory / "ledger", deployment.directory / "ledger.receipt"
    pay = Call(name="pay", arguments=f'{{"ledger": "{ledger}", "to": "Bob", "amount": 10}}')
    deployment.model.enqueue(Say(calls=(pay,)))
    ada.send("assistant@localhost", "Pay Bob 10.")
    async with asyncio.timeout(ANSWER_S):
        while not ledger.exists():  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)

    deployment.model.enqueue(Say(calls=(pay,)), Say(text="It is paid."))
    is_taken_over = asyncio.create_task(deployment.asked(1))
    await deployment.kill(f"assistant-{number}")
    await is_taken_over
    receipt.write_text("receipt 4711", encoding="utf-8")
    answer = await asyncio.wait_for(ada.messages.get(), ANSWER_S)

    assert answer["from"].resource != owner
    assert answer["body"].startswith("It is paid.")
    assert "receipt 4711" in str(deployment.model.requests[-1]["messages"])
    assert ledger.read_text().splitlines() == ["Bob 10"]


async def job_holder(postgres: PostgresProcess, agent: str, *, other_than: str = "") -> str:
    """Name of the replica that runs the background jobs, once there is one (but not that)."""
    select = f"""SELECT holder FROM "{agent}".job_leases
        WHERE until > extract(epoch from clock_timestamp()) AND holder <> %s"""
    async with (
        await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True) as connection,
        asyncio.timeout(ANSWER_S),
    ):
        while not (  # noqa: ASYNC110 - written by another process
            row := await (await connection.execute(select, (other_than,))).fetchone()
        ):
            await asyncio.sleep(0.1)
    return str(row[0])


def replica_names(deployment: Deployment, agent: str) -> dict[int, str]:
    """Names of the replicas (resources) by number."""
    home = deployment.directory / "data" / "agents" / agent / "replicas"
    return {one: resource_of(home / str(one), agent.partition("@")[0]) for one in REPLICAS}


async def test_memory_replicas_keep_each_memory_and_learn_once_while_one_is_killed(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    agent = "memory@localhost"
    await start_replicas(deployment, "memory", STORAGE.format(url=own_postgres.url()))
    program = await deployment.program("assistant")
    memory = MemoryClient(program.node.requester, agent, timeout_s=20)
    kept: dict[str, str] = {}

    async def remember(person: str) -> None:
        text = f"{person} has {len(kept)} apples"
        kept[text] = ""
        draft = MemoryDraft(content=text, subject=person)
        entry = await memory.add(draft, key=text)
        kept[text] = entry.id
        # By its id: without a person a request goes to any replica.
        (found,) = await memory.peek([entry.id])
        assert found.content == text

    load = Load(remember)
    load.begin()
    await load.served(2 * PEOPLE)
    names = replica_names(deployment, agent)
    holder = await job_holder(own_postgres, agent)
    (killed,) = (number for number, name in names.items() if name == holder)
    await deployment.kill(f"memory-{killed}")
    since_s = time.monotonic()
    await job_holder(own_postgres, agent, other_than=holder)
    takeover_s = time.monotonic() - since_s
    await load.served(3 * PEOPLE)
    at = datetime.now(UTC) - timedelta(days=1)
    said = [
        ObservedMessage(id=str(n), role="user", content=f"I like apple {n}", at=at)
        for n in range(4)
    ]
    await memory.observe("talk", said, subject="ada@localhost")
    await start(deployment, "memory", killed)
    await load.served(3 * PEOPLE)
    episodes = MemoryFilter(session="talk", types=(MemoryType.EPISODIC,))
    async with asyncio.timeout(ANSWER_S):
        while not (await memory.list(episodes)).total:  # noqa: ASYNC110 - another process learns
            await asyncio.sleep(0.2)
    status = await ask_status(program.node.requester, agent, timeout_s=5)
    await load.end()

    # By id: facts that are learned meanwhile move entries to the next page.
    pages = range(0, len(kept) + 500, 500)
    entries = [one for n in pages for one in (await memory.list(limit=500, offset=n)).entries]
    stored = {one.id: one.content for one in entries if one.content in kept}
    assert stored == {id: text for text, id in kept.items()}
    assert (await memory.list(episodes)).total == 1
    assert max(load.slowest_s, takeover_s) < TAKEOVER_S
    assert len(status.replicas) == len(REPLICAS)
    # The one that is back has said nothing of its requests yet.
    assert sum(one.conversations > 0 for one in status.replicas) >= len(REPLICAS) - 1
    assert "background jobs at" in status.summary


async def ingestion_holder(
    postgres: PostgresProcess, agent: str, *, jobs: int, other_than: str = ""
) -> str:
    """Name of the replica that has so many ingestions, once it is another one than that."""
    select = f"""SELECT r.name
        FROM "{agent}".requests q JOIN "{agent}".replicas r ON r.token = q.owner
        WHERE q.question IS NOT NULL AND r.until > extract(epoch from clock_timestamp())
        AND q.question LIKE %s AND r.name <> %s GROUP BY r.name HAVING count(*) = %s"""
    values = (r"%ingest\_%", other_than, jobs)
    async with (
        await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True) as connection,
        asyncio.timeout(ANSWER_S),
    ):
        while not (  # noqa: ASYNC110 - written by another process
            row := await (await connection.execute(select, values)).fetchone()
        ):
            await asyncio.sleep(0.02)
    return str(row[0])


@asynccontextmanager
async def slow_file(text: str) -> AsyncIterator[tuple[str, asyncio.Event, list[int]]]:
    """URL of a file whose first download stalls, with an event for its start, and the number of
    downloads."""
    begun, downloads = asyncio.Event(), [0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        downloads[0] += 1
        body = text.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        if downloads[0] == 1:
            writer.write(body[:10])
            begun.set()
            await reader.read()  # Until the other side is gone.
        else:
            writer.write(body)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/chart.md", begun, downloads


async def kill_ingestion(
    deployment: Deployment, postgres: PostgresProcess, agent: str, *, jobs: int
) -> float:
    """Kill the replica that has so many ingestions, and start it again; returns the time until
    another one has taken them."""
    holder = await ingestion_holder(postgres, agent, jobs=jobs)
    names = replica_names(deployment, agent)
    (killed,) = (number for number, name in names.items() if name == holder)
    await deployment.kill(f"rag-{killed}")
    since_s = time.monotonic()
    await ingestion_holder(postgres, agent, jobs=jobs, other_than=holder)
    takeover_s = time.monotonic() - since_s
    await start(deployment, "rag", killed)
    return takeover_s


async def test_rag_replicas_finish_the_job_of_a_killed_one_and_find_what_others_store(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    agent, folder = "rag@localhost", deployment.directory / "data" / "documents" / "doors"
    folder.mkdir(parents=True)
    for number in range(DOCUMENTS):
        text = f"The code of door{number} is zulu{number}.\n\n" + REST
        (folder / f"{number}.md").write_text(text)
    await start_replicas(deployment, "rag", STORAGE.format(url=own_postgres.url()))
    program = await deployment.program("asking")
    documents = RagClient(program.node.requester, agent, timeout_s=20)
    stored: set[str] = set()
    done: list[int] = []
    has_begun = asyncio.Event()

    async def store_and_find(person: str) -> None:
        source = f"{person}{len(stored)}"
        stored.add(source)
        text = f"{source} has apples"
        await documents.ingest(Document(text=text, source=source, namespace="apples"))
        options = RetrievalOptions(namespaces=("apples",), where={"source": source})
        found = await documents.retrieve("apples", options=options)
        assert [one.chunk.text for one in found.chunks] == [text]

    async def tell(progress: Progress) -> None:
        done.append(progress.done)
        if progress.done:
            has_begun.set()

    load = Load(store_and_find)
    load.begin()
    await load.served(PEOPLE)
    adding = asyncio.create_task(documents.add_path("doors", on_progress=tell))
    async with asyncio.timeout(ANSWER_S):
        await has_begun.wait()
    # It waits in the queue of its owner, in the RAM of the same replica.
    waiting = asyncio.create_task(documents.add_path("doors/1.md", namespace="again"))
    takeover_s = await kill_ingestion(deployment, own_postgres, agent, jobs=2)
    report = await adding
    await load.served(PEOPLE)
    status = await ask_status(program.node.requester, agent, timeout_s=5)
    await load.end()

    page = await documents.documents(namespace="default", limit=DOCUMENTS)
    apples = await documents.documents(namespace="apples", limit=len(stored))
    # All documents once; those that the killed replica had stored were not stored again.
    assert (report.total, report.left_out) == (DOCUMENTS, 0)
    assert report.unchanged > 0
    assert (await waiting).added == 1
    assert [one.version for one in page.documents] == [1] * DOCUMENTS
    assert {one.source for one in apples.documents} == stored
    # Its asker saw the progress of both; the second begins anew.
    assert any(later < earlier for earlier, later in pairwise(done))
    assert done[-1] == DOCUMENTS
    assert takeover_s < TAKEOVER_S
    assert len(status.replicas) == len(REPLICAS)
    assert "background jobs at" in status.summary


async def test_an_uploaded_file_that_a_killed_replica_was_fetching_is_fetched_by_another_one(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    async with slow_file("The chart shows reefs near Bergen.") as (url, is_fetching, downloads):
        more = f'[upload]\nhosts = ["{url.split("/")[2]}"]\n'
        await start_replicas(deployment, "rag", more + STORAGE.format(url=own_postgres.url()))
        program = await deployment.program("asking")
        documents = RagClient(program.node.requester, "rag@localhost", timeout_s=20)
        fetching = asyncio.create_task(documents.ingest_url(url, source="chart.md"))
        async with asyncio.timeout(ANSWER_S):
            await is_fetching.wait()
        takeover_s = await kill_ingestion(deployment, own_postgres, "rag@localhost", jobs=1)
        chart = await fetching
        found = (await documents.retrieve("reefs Bergen", k=1)).chunks

    assert (downloads, chart.chunks, found[0].chunk.source) == ([2], 1, "chart.md")
    assert takeover_s < TAKEOVER_S
