"""Embedder of an OpenAI-compatible server: batching, truncation, retries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    ConfigurationError,
    ContextTooLong,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.providers.model import QueryVectorCache
from spade_llm.providers.openai.model import NO_KEY, server_name
from spade_llm.providers.retry import Attempts, ModelLimits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.openai.request_body import RequestBody

BATCH_TEXTS = 64
BATCH_CHARS = 64_000
"""Maximum number of characters of one request, unless a single text is longer."""
MAX_CHARS = 16_000
"""Read of one text: the usual windows end at 512 to 8192 tokens."""
MIN_TRUNCATED_CHARS = 200
"""Length in characters below which a text is not cut: no usable model has a smaller window."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""64 vectors of 4096 numbers, written out."""
TIMEOUT_S = 30.0
LIMITS = ModelLimits(deadline_s=90.0, attempts=3, max_concurrency=4)


class OpenAIEmbedder:
    """An Embedder. Close it with `aclose()`.

    Texts that the model finds too long are cut, so that one of them never stops the others. A call
    is repeated after 429, 5xx, a lost connection or a timeout.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout_s: float = TIMEOUT_S,
        limits: ModelLimits = LIMITS,
    ) -> None:
        """`dimension`: the length to ask for, of a model that can shorten its vectors. None: the
        model's own, which the first answer tells."""
        from spade_llm.providers.openai.endpoint import OpenAIEndpoint

        if not model:
            raise ConfigurationError("An embedder needs the name of a model.")
        self._model, self._requested_dimension, self._dimension = model, dimension, dimension
        self._server = server_name(base_url)
        self._timeout_s, self._limits = timeout_s, limits
        self._endpoint = OpenAIEndpoint(
            base_url=base_url,
            api_key=api_key or NO_KEY,
            timeout_s=timeout_s,
            server=self._server,
        )
        self._slots = asyncio.Semaphore(limits.max_concurrency)
        self._queries = QueryVectorCache(self._embed_query)

    def __repr__(self) -> str:
        return f"OpenAIEmbedder(model={self._model!r}, server={self._server!r})"

    @property
    def name(self) -> str:
        wanted = self._requested_dimension
        return f"{self._model}/{wanted}" if wanted else self._model

    @property
    def dimension(self) -> int | None:
        return self._dimension

    async def __aenter__(self) -> OpenAIEmbedder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; calls that still run fail with ModelUnavailable."""
        await self._endpoint.aclose()
        await self._queries.aclose()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            if len(texts) == 1:
                return await self._queries.get(texts[0])
            return await self._queries.embed_missing(texts, self._embed_all)
        except ModelUnavailable:
            raise
        except ModelError as error:
            # A refused key, an exhausted quota: for those who need vectors it is all one.
            raise ModelUnavailable(str(error)) from error

    async def _embed_all(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        parts = [await self._embed_batch(batch) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension or 0), np.float32)

    async def _embed_query(self, text: str) -> NDArray[np.float32]:
        return await self._embed_batch([_sendable(text)])

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Half of a text is tried where all of it is too long."""
        chars = max(map(len, texts))
        while True:
            try:
                return await self._request([text[:chars] for text in texts])
            except ContextTooLong:
                if chars <= MIN_TRUNCATED_CHARS:
                    raise
                chars //= 2

    async def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        attempts = Attempts(self._limits, server=self._server)
        async with self._slots:
            while True:
                try:
                    return await self._attempt(texts, attempts)
                except (ModelUnavailable, RateLimited) as error:
                    await attempts.pause_after(error)

    async def _attempt(self, texts: Sequence[str], attempts: Attempts) -> NDArray[np.float32]:
        from spade_llm.providers.openai.answer import parse_vectors
        from spade_llm.providers.openai.endpoint import EMBEDDINGS

        # Base64 is a quarter of the bytes; servers that do not know it send numbers.
        body: RequestBody = {"model": self._model, "input": texts, "encoding_format": "base64"}
        if self._requested_dimension:
            body["dimensions"] = self._requested_dimension
        async with attempts.timeout(self._timeout_s):
            raw = await self._endpoint.answer(body, max_bytes=MAX_ANSWER_BYTES, path=EMBEDDINGS)
        vectors = parse_vectors(raw, count=len(texts), dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors


def _sendable(text: str) -> str:
    """The protocol refuses empty texts."""
    return text[:MAX_CHARS] if text and not text.isspace() else "."


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in map(_sendable, texts):
        if len(batch) == BATCH_TEXTS or sum(map(len, batch)) + len(text) > BATCH_CHARS:
            if batch:
                yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
