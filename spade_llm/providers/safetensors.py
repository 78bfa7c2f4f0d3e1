"""Reading a .safetensors file with numpy alone. Knows no model."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Weights = dict[str, "NDArray[np.float32]"]


def read_float_tensors(path: Path) -> Weights:
    """Every F32 tensor by name, mapped into memory rather than copied.

    Raises:
        ConfigurationError: not a safetensors file.
    """
    try:
        return _read(np.memmap(path, dtype=np.uint8, mode="r"))
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise ConfigurationError(
            f"{path.name} is not a safetensors file; fetch it anew."
        ) from error


def _read(file: NDArray[np.uint8]) -> Weights:
    (length,) = struct.unpack("<Q", file[:8].tobytes())
    header = json.loads(file[8 : 8 + length].tobytes())
    body = file[8 + length :]
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    return {
        name: body[slice(*entry["data_offsets"])].view(np.float32).reshape(entry["shape"])
        for name, entry in tensors.items()
        if entry["dtype"] == "F32"
    }
