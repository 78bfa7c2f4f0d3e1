"""Python's garbage collector and what a start makes: modules, classes, models, which all stay.

A look at all of it stops the event loop for 0.1 s, and a start is looked at several times: a tenth
to a fifth of its processor time. Knows no agent.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def starting() -> Iterator[None]:
    """Nothing is collected until `settle`, or the end of the block. What a start drops in cycles
    is little: 2000 objects, all agents imported."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """All is here: none of it is looked at again. What comes from now on is collected as ever."""
    gc.freeze()
    gc.enable()
