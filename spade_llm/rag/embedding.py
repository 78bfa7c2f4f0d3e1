"""Asks the embedder, with a deadline and in batches; an embedder that is away is an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, ModelError, ModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.registry import Namespace

REINDEX = "spade-llm rag reindex"
BATCH = 256
"""Texts per call: with so many of similar length together, little is padded; a query that comes in
between does not wait for them."""
QUERY_TIMEOUT_S = 5.0
"""Whoever asks waits 10 s in all (services/service.py), and is to hear what was missing."""
BATCH_TIMEOUT_S = 120.0


async def embedded_batch(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """One row per text, of BATCH at the most.

    Raises:
        ModelUnavailable: whatever is wrong with it; also after BATCH_TIMEOUT_S.
    """
    return await _within(embedder, texts, BATCH_TIMEOUT_S)


async def embedded_query(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Raises ModelUnavailable, after QUERY_TIMEOUT_S at the latest."""
    vectors = await _within(embedder, [query], QUERY_TIMEOUT_S)
    return vectors.reshape(-1)


def to_embed(heading: str, text: str) -> str:
    """The headings say what a passage is about when it does not say it itself."""
    return f"{heading}\n{text}" if heading else text


def is_of(embedder: Embedder, namespace: Namespace) -> bool:
    """Whether its vectors, if there are any, were made by this embedder."""
    dimension = embedder.dimension or namespace.dimension
    its = (namespace.model, namespace.dimension)
    return namespace.model is None or its == (embedder.name, dimension)


def check_model(namespace: Namespace, embedder: Embedder) -> None:
    """Vectors of different models must not meet.

    Raises:
        InvalidArguments: the namespace was embedded with another model.
    """
    if not is_of(embedder, namespace):
        raise InvalidArguments(
            f"namespace {namespace.name!r} was embedded with {namespace.model!r}, and this agent "
            f"uses {embedder.name!r}: run `{REINDEX}`, or delete it and add its documents again"
        )


async def _within(
    embedder: Embedder, texts: Sequence[str], timeout_s: float
) -> NDArray[np.float32]:
    try:
        async with asyncio.timeout(timeout_s):
            rows = await embedder.embed(texts)
    except TimeoutError as error:
        raise ModelUnavailable(f"no vectors from {embedder.name!r} in {timeout_s:g} s") from error
    except ModelError as error:
        raise ModelUnavailable(f"no vectors from {embedder.name!r}: {error}") from error
    if rows.ndim != 2 or len(rows) != len(texts):
        raise ModelUnavailable(f"{embedder.name!r} gave {rows.shape} for {len(texts)} texts")
    return rows
