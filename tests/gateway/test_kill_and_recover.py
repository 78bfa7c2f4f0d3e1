"""A gateway whose agents, server or self are killed: it says what is missing, and comes back.

Every agent in a process of its own, on Prosody.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from tests.openai_server import Hang
from tests.processes.deployment import WITH_GATEWAY, running_deployment
from tests.processes.test_kill_and_cut import messages_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.processes.deployment import Deployment

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.server,
    pytest.mark.timeout(240),
]

ANSWER_S = 60.0
BACK_S = 20.0
PAUSE_S = 0.1
WHAT_NEEDS_IT = {
    "memory": ("POST", "/llm/memory/search", {"query": "cats", "session_id": "s"}),
    "rag": ("POST", "/llm/rag/query", {"query": "cats"}),
    "tools": ("GET", "/mpc/tools/calculator", None),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    folder = tmp_path_factory.mktemp("faults")
    async with running_deployment(folder, names=WITH_GATEWAY) as running:
        yield running


async def ask(
    deployment: Deployment, method: str, path: str, body: object = None, key: str = ""
) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    async with httpx.AsyncClient(
        base_url=deployment.url, trust_env=False, timeout=ANSWER_S
    ) as client:
        return await client.request(method, path, json=body, headers=headers)


async def chat(
    deployment: Deployment, text: str, session: str = "faults", key: str = ""
) -> httpx.Response:
    body = {
        "messages": [{"role": "user", "content": text}],
        "session_id": session,
        "use_memory": True,
        "use_rag": True,
        "use_tools": True,
    }
    return await ask(deployment, "POST", "/llm/chat", body, key)


async def whole(deployment: Deployment) -> httpx.Response:
    """The first answer to which nothing was missing."""
    async with asyncio.timeout(BACK_S):
        while True:
            answer = await chat(deployment, "are all of you there?")
            if answer.status_code == 200 and not answer.json()["degraded"]:
                return answer
            await asyncio.sleep(PAUSE_S)


def is_unavailable(answer: httpx.Response) -> bool:
    return answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0


async def test_an_answer_names_unavailable_services_until_they_are_back(
    deployment: Deployment,
) -> None:
    await whole(deployment)

    # The assistant too: what it listed a minute ago would do for a turn that calls no tool.
    await asyncio.gather(*map(deployment.kill, (*WHAT_NEEDS_IT, "assistant")))
    await deployment.start("assistant")
    answer, *without = await asyncio.gather(
        chat(deployment, "who is away?"),
        *(ask(deployment, *needing) for needing in WHAT_NEEDS_IT.values()),
    )
    await asyncio.gather(*map(deployment.start, WHAT_NEEDS_IT))
    again = await whole(deployment)
    back = [await ask(deployment, *needing) for needing in WHAT_NEEDS_IT.values()]

    assert answer.status_code == 200
    assert sorted(answer.json()["degraded"]) == ["documents", "memory", "tools"]
    assert "You said: who is away?" in answer.json()["response"]
    assert all(map(is_unavailable, without)), [one.text for one in without]
    assert again.status_code == 200
    assert [one.status_code for one in back] == [200, 200, 200]


async def test_without_an_assistant_there_is_no_chat_and_everything_else(
    deployment: Deployment,
) -> None:
    await whole(deployment)

    await deployment.kill("assistant")
    answer, documents = await asyncio.gather(
        chat(deployment, "anybody?"), ask(deployment, "GET", "/llm/rag/namespaces")
    )
    await deployment.start("assistant")

    assert is_unavailable(answer), answer.text
    assert documents.status_code == 200
    assert (await whole(deployment)).status_code == 200


async def test_without_its_server_a_gateway_says_so_and_comes_back(deployment: Deployment) -> None:
    await whole(deployment)

    await deployment.kill_server()
    answer = await chat(deployment, "anybody?")
    health = await ask(deployment, "GET", "/health")
    ready = await ask(deployment, "GET", "/ready")
    await deployment.server.start()

    assert is_unavailable(answer), answer.text
    assert (health.status_code, ready.status_code) == (200, 503)
    assert (await whole(deployment)).status_code == 200


async def test_a_chat_that_is_repeated_after_its_gateway_was_killed_has_one_answer(
    deployment: Deployment,
) -> None:
    await whole(deployment)
    session, question = "killed", "what is the code of the safe?"
    deployment.model.delay_s = 2.0
    first = asyncio.create_task(chat(deployment, question, session, key="k-1"))
    await deployment.asked(1)

    await deployment.kill("gateway")
    with pytest.raises(httpx.TransportError):
        await first
    deployment.model.delay_s = 0.0
    await deployment.start("gateway")
    second = await chat(deployment, question, session, key="k-1")
    third = await chat(deployment, question, session, key="k-1")
    history = (await ask(deployment, "GET", f"/llm/memory/history/{session}")).json()

    assert second.status_code == 200, second.text
    assert second.json()["response"] == f"You said: {question}"
    assert third.json() == second.json()
    assert [one["content"] for one in history["messages"]] == [question, f"You said: {question}"]
    assert times_asked(deployment, question) == 1


async def test_a_gateway_that_is_told_to_stop_ends_what_runs_as_promised(
    deployment: Deployment,
) -> None:
    await whole(deployment)
    said = {"messages": [{"role": "user", "content": "think"}], "model": "assistant"}
    paths = ("/llm/chat", "/llm/chat/stream", "/v1/chat/completions")
    deployment.model.enqueue(*(Hang() for _ in paths))
    running = [asyncio.create_task(ask(deployment, "POST", path, said)) for path in paths]
    await deployment.asked(len(paths))
    gateway = deployment.processes.pop("gateway")

    gateway.terminate()
    refused = await eventually_refused(deployment)
    chat_answer, stream, openai = await asyncio.gather(*running)
    status = await asyncio.wait_for(gateway.wait(), ANSWER_S)
    log = (deployment.directory / "gateway.log").read_text()
    await deployment.start("gateway")

    assert is_unavailable(refused) and "stopping" in refused.json()["detail"], refused.text
    assert is_unavailable(chat_answer) and "stopping" in chat_answer.json()["detail"]
    assert chat_answer.headers["X-Request-ID"]
    assert is_unavailable(openai) and "stopping" in openai.json()["error"]["message"]
    assert stream.status_code == 200
    assert stream.text.split("event: ")[-1].startswith("error\n")
    assert '"status": 503' in stream.text
    assert status == 0
    assert "Traceback" not in log
    assert (await whole(deployment)).status_code == 200


async def eventually_refused(deployment: Deployment) -> httpx.Response:
    """The first answer of a gateway that takes no more requests."""
    async with asyncio.timeout(BACK_S):
        while (answer := await ask(deployment, "GET", "/health")).status_code == 200:
            continue
    return answer


def times_asked(deployment: Deployment, question: str) -> int:
    """How often the model was asked this."""
    last = [messages_of(request)[-1] for request in deployment.model.requests]
    return sum(question in str(message["content"]) for message in last)
