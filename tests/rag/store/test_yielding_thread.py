"""Long work leaves others their share."""

from __future__ import annotations

import time

from spade_llm.rag.store.chroma_index import YIELD_SHARE, YieldingThread


def worked_and_took(rest: YieldingThread) -> tuple[float, float]:
    began = time.monotonic()
    while time.monotonic() < began + 0.01:
        pass
    worked = time.monotonic()
    rest.take()
    return worked - began, time.monotonic() - began


def test_longer_work_is_followed_by_longer_pauses() -> None:
    worked, took = worked_and_took(YieldingThread(after_s=0))

    assert took >= (1 + YIELD_SHARE) * worked * 0.99


def test_short_work_needs_no_rest() -> None:
    rest = YieldingThread(after_s=1000)

    assert all(took < 1 for _, took in (worked_and_took(rest) for _ in range(3)))
