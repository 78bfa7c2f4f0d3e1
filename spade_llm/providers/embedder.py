"""What turns text into vectors: the Embedder role. Knows no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Raises ModelUnavailable when vectors cannot be had now."""

    @property
    def name(self) -> str:
        """Identifies model and version; stored beside every vector it made."""

    @property
    def dimension(self) -> int | None:
        """None: not known before the first answer."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text: shape (len(texts), dimension). Off the event loop."""
        ...
