"""What a start makes is looked at by the garbage collector neither meanwhile nor ever after."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from spade_llm.core.concurrency import freeze_gc, gc_paused
with gc_paused():
    during = gc.isenabled()
    freeze_gc()
    print(during, gc.isenabled(), gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000)
"""


def test_objects_of_the_start_are_excluded_from_garbage_collection() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True)

    assert done.stdout.decode().split() == ["False", "True", "True", "True"]
