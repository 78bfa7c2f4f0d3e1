"""Where a program's agent keeps which tools of MCP servers it accepted."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from spade_llm.tools.mcp.pins import FILE, Pins


def pins_in(data: Path | None) -> Pins:
    """Without a folder of data: for as long as these pins are used, and no longer."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        return Pins(data / FILE)
    folder = tempfile.mkdtemp(prefix="spade-llm-mcp-")
    pins = Pins(Path(folder) / FILE)
    weakref.finalize(pins, shutil.rmtree, folder, ignore_errors=True)
    return pins
