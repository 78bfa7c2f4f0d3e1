"""specs/4 §2, and what every answer has, on a running gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_gateway_is_healthy_and_ready(web: Web) -> None:
    health = await web.http.get("/health")
    ready = await web.http.get("/ready")

    assert (health.status_code, health.json()) == (200, {"status": "healthy"})
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "away": []})
