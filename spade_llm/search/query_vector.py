"""Query vector that the caller computed, so that services with the same model need not."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import InvalidArguments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_LENGTH_ERROR = 0.01
"""Maximum deviation of a vector's length from 1: numbers of 16 bits deviate by less than 0.001."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """Vector of a query's text. A service with an embedder of another model ignores it.

    It comes from another party: it is checked, and used for nothing but what that party asks and
    owns.
    """

    model: str
    """Name of the model and its version (`Embedder.name`)."""
    data: str
    """Numbers of 16 bits (IEEE 754 binary16, little-endian) in Base64; the vector's length is 1."""

    @classmethod
    def of(cls, model: str, vector: NDArray[np.float32]) -> Self:
        """Pack a vector of length 1."""
        return cls(model=model, data=base64.b64encode(vector.astype("<f2").tobytes()).decode())

    def unpack(self, model: str, dimension: int | None) -> NDArray[np.float32] | None:
        """The vector, of length 1; None: it is of another model, or this one's dimension is not
        known yet. Raises InvalidArguments."""
        if self.model != model or dimension is None:
            return None
        # Imported here: a query is a record that programs without vectors use, too.
        import numpy as np

        try:
            packed = base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidArguments("vector.data must be Base64") from None
        if len(packed) != 2 * dimension:
            raise InvalidArguments(
                f"vector.data has {len(packed)} bytes; {self.model!r} has {dimension} numbers of 2"
            )
        vector = np.frombuffer(packed, "<f2").astype(np.float32)
        length = float(np.sqrt(np.vecdot(vector, vector)))
        # NaN and infinity are not within the bound, either.
        if not abs(length - 1) <= MAX_LENGTH_ERROR:
            raise InvalidArguments(f"vector.data must be a vector of length 1, not {length:g}")
        return vector / np.float32(length)
