"""OpenAIEmbedder against a strict server of the protocol, and against a server in trouble."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pytest

from spade_llm.core.errors import ConfigurationError, ModelUnavailable
from spade_llm.providers import OpenAIEmbedder
from spade_llm.providers.retry import ModelLimits
from tests.openai_embeddings import OWN_DIMENSION
from tests.openai_server import Answer, Hang, Raw, Reset, Status
from tests.providers.conftest import API_KEY, QUICK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.openai_server import OpenAIServer

TEXTS = ["the cat sleeps", "trains run late", "a cat that sleeps"]
NO_QUOTA = '{"error": {"message": "no", "code": "insufficient_quota"}}'


class Embedding(Protocol):
    def __call__(
        self,
        *,
        api_key: str = API_KEY,
        dimension: int | None = None,
        timeout_s: float = 4.0,
        limits: ModelLimits = QUICK,
    ) -> OpenAIEmbedder: ...


@pytest.fixture
async def connect_embedder(server: OpenAIServer) -> AsyncIterator[Embedding]:
    async with AsyncExitStack() as stack:

        def make(
            *,
            api_key: str = API_KEY,
            dimension: int | None = None,
            timeout_s: float = 4.0,
            limits: ModelLimits = QUICK,
        ) -> OpenAIEmbedder:
            embedder = OpenAIEmbedder(
                base_url=server.base_url,
                model="test-embedding",
                api_key=api_key,
                dimension=dimension,
                timeout_s=timeout_s,
                limits=limits,
            )
            stack.push_async_callback(embedder.aclose)
            return embedder

        yield make


@pytest.fixture
def embedder(connect_embedder: Embedding) -> OpenAIEmbedder:
    return connect_embedder()


@pytest.mark.parametrize("knows_base64", [True, False])
async def test_each_text_gets_its_own_normalised_vector(
    embedder: OpenAIEmbedder, server: OpenAIServer, knows_base64: bool
) -> None:
    server.embeddings.knows_base64 = knows_base64

    vectors = await embedder.embed(TEXTS)

    assert vectors.shape == (3, OWN_DIMENSION)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors[0] @ vectors[2] > 0.5 > vectors[0] @ vectors[1]


async def test_the_first_answer_tells_the_dimension(embedder: OpenAIEmbedder) -> None:
    assert embedder.dimension is None

    await embedder.embed(["one"])

    assert embedder.dimension == OWN_DIMENSION
    assert embedder.name == "test-embedding"


async def test_a_dimension_can_be_asked_for_and_is_part_of_the_name(
    connect_embedder: Embedding,
) -> None:
    embedder = connect_embedder(dimension=16)

    assert (await embedder.embed(TEXTS)).shape == (3, 16)
    assert embedder.name == "test-embedding/16"


@pytest.mark.thorough
async def test_many_texts_go_in_bounded_requests_and_come_back_in_order(
    embedder: OpenAIEmbedder, server: OpenAIServer
) -> None:
    texts = [f"w{number} " * (number % 7 * 200 + 1) for number in range(300)]

    vectors = await embedder.embed(texts)

    sizes = [request["input"] for request in server.requests]
    assert all(isinstance(size, list) and len(size) <= 64 for size in sizes)
    assert len(sizes) > 5
    for number in (0, 77, 299):
        alone = await embedder.embed([texts[number]])
        assert vectors[number] == pytest.approx(alone[0])


async def test_nothing_blank_texts_and_any_unicode_are_embedded_too(
    embedder: OpenAIEmbedder,
) -> None:
    vectors = await embedder.embed(["", " \n", "\x00\ud7ff🙂", "lone \ud800"])

    assert (await embedder.embed([])).shape == (0, OWN_DIMENSION)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


async def test_a_text_that_the_model_finds_too_long_is_cut(
    embedder: OpenAIEmbedder, server: OpenAIServer
) -> None:
    server.embeddings.window_words = 100

    vectors = await embedder.embed(["short one", "word " * 3000])

    assert vectors.shape == (2, OWN_DIMENSION)


async def test_a_question_asked_twice_at_once_and_again_is_sent_once(
    embedder: OpenAIEmbedder, server: OpenAIServer
) -> None:
    first, second = await asyncio.gather(embedder.embed(["why?"]), embedder.embed(["why?"]))
    first[0] = 0
    third = await embedder.embed(["why?"])

    assert len(server.requests) == 1
    assert third == pytest.approx(second)


async def test_cancelling_the_first_caller_does_not_cancel_a_shared_embedding(
    embedder: OpenAIEmbedder, server: OpenAIServer
) -> None:
    server.delay_s = 0.05
    first = asyncio.create_task(embedder.embed(["why?"]))
    second = asyncio.create_task(embedder.embed(["why?"]))
    await server.was_asked.wait()
    first.cancel()

    assert (await second).shape == (1, OWN_DIMENSION)


@pytest.mark.parametrize(
    "fault", [Status(status=429), Status(status=503), Status(status=500), Reset()], ids=str
)
async def test_a_passing_fault_is_survived(
    embedder: OpenAIEmbedder, server: OpenAIServer, fault: Answer
) -> None:
    server.enqueue(fault, fault)

    vectors = await embedder.embed(TEXTS)

    assert vectors.shape == (3, OWN_DIMENSION)


@pytest.mark.parametrize(
    "fault",
    [
        Status(status=400),
        Status(status=404),
        Status(status=429, body=NO_QUOTA),
        Raw(b"<html>hello</html>", "text/html"),
        Raw(b"{}"),
        Raw(b'{"error": {"message": "out of memory"}}'),
        Raw(b'{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}'),
        Raw(b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}'),
        Raw(b'{"data": [{"index": 0, "embedding": [0]}, {"index": 1, "embedding": [1]}]}'),
        Raw(b'{"data": [{"index": 0, "embedding": "?"}, {"index": 1, "embedding": "AAA"}]}'),
        Raw(b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}]}'),
        Raw(b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}'),
        Raw(b" " * (8 * 1024 * 1024 + 1)),
    ],
    ids=lambda fault: str(fault)[:60],
)
async def test_unusable_vectors_are_model_unavailable(
    connect_embedder: Embedding, server: OpenAIServer, fault: Answer
) -> None:
    embedder = connect_embedder(limits=ModelLimits(deadline_s=4.0, attempts=1))
    server.enqueue(fault)

    with pytest.raises(ModelUnavailable):
        await embedder.embed(["one", "two"])

    assert (await embedder.embed(["one", "two"])).shape[0] == 2


async def test_a_wrong_key_is_named_and_not_shown(connect_embedder: Embedding) -> None:
    with pytest.raises(ModelUnavailable, match="API key") as refused:
        await connect_embedder(api_key="sk-wrong").embed(TEXTS)

    assert "sk-wrong" not in str(refused.value)


async def test_a_server_that_hangs_ends_with_the_deadline(
    connect_embedder: Embedding, server: OpenAIServer
) -> None:
    embedder = connect_embedder(timeout_s=0.05, limits=ModelLimits(deadline_s=0.1, attempts=2))
    server.enqueue(Hang(), Hang())

    with pytest.raises(ModelUnavailable, match="in time"):
        await embedder.embed(TEXTS)


async def test_a_closed_embedder_is_unavailable(embedder: OpenAIEmbedder) -> None:
    await embedder.aclose()

    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.embed(TEXTS)


async def test_an_embedder_needs_a_model_and_an_address() -> None:
    with pytest.raises(ConfigurationError, match="model"):
        OpenAIEmbedder(base_url="http://localhost/v1", model="")
    with pytest.raises(ConfigurationError, match="base_url"):
        OpenAIEmbedder(base_url="localhost", model="m")
