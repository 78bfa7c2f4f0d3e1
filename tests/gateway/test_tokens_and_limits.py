"""Tokens, names and limits, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import Busy, ConfigurationError, InvalidArguments
from spade_llm.core.limits import ConcurrencyQuota
from spade_llm.gateway.gateway import RequestRateLimiter
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.gateway.options import HttpOptions, OriginPolicy
from spade_llm.gateway.tokens import USED_EVERY_S, Principal, TokenStore
from tests.conftest import bytes_in, modes_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import PlaceOf


async def test_a_token_is_kept_as_a_hash_ends_in_time_and_can_be_revoked(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    now = [1000.0]
    database = GATEWAY_TABLES.at(place_of("gateway.db"))
    await database.open()
    tokens = TokenStore(database, clock=lambda: now[0])
    token = await tokens.create("phone", "Ada@x.org", is_admin=True, expires=2000.0)

    found = await tokens.principal(token)
    now[0] += USED_EVERY_S + 1
    await tokens.principal(token)
    (listed,) = await tokens.all()
    now[0] = 2000.0

    assert found == Principal(jid="ada@x.org", is_admin=True, token="phone")
    assert listed.used == pytest.approx(1301.0)
    assert await tokens.principal(token) is None
    assert token.encode() not in bytes_in(tmp_path)
    assert modes_in(tmp_path) <= {0o600}
    with pytest.raises(InvalidArguments, match="there is a token 'phone'"):
        await tokens.create("phone", "ada@x.org")
    assert await tokens.revoke("phone") and not await tokens.revoke("phone")
    await database.close()


def test_host_names_must_be_configured_on_public_addresses() -> None:
    with pytest.raises(ConfigurationError, match=r"\[http\] hosts"):
        HttpOptions(host="0.0.0.0").check()

    doors = OriginPolicy(HttpOptions(host="0.0.0.0", hosts=("chat.example.org",)))

    assert doors.allows_host("chat.example.org:443") and doors.allows_host("10.0.0.7:8000")
    assert not doors.allows_host("localhost:8000") and not doors.allows_host("evil.example")


def test_one_principal_leaves_half_of_the_room_to_others() -> None:
    """One token must not keep everybody else from streams, uploads and RAM."""
    quota = ConcurrencyQuota(4, message="{} at once")

    with quota.hold("ada@x.org", 1), quota.hold("ada@x.org") as add:
        add(1)
        with pytest.raises(Busy, match="2 at once"), quota.hold("ada@x.org", 1):
            pass
        with quota.hold("bob@x.org", 2), pytest.raises(Busy), quota.hold("eve@x.org", 1):
            pass

    assert quota.held == 0
    with quota.hold("ada@x.org", 2):
        assert quota.held == 2
    assert RequestRateLimiter(0).take("ada@x.org")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "http://["),
        ("localhost:8000", "http://localhost:8000, https://evil.example"),
        ("localhost:8000", "http://evil@localhost:8000"),
        ("evil@localhost:8000", "http://localhost:8000"),
    ],
)
def test_host_and_origin_headers_that_no_browser_sends_are_refused(host: str, origin: str) -> None:
    doors = OriginPolicy(HttpOptions())

    assert not (doors.allows_host(host) and doors.allows_origin(origin, host))
