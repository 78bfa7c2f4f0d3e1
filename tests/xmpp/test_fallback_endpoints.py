"""Which address a link tries next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.xmpp.connection.settings import MAX_REDIRECTS, ConnectionSettings, FallbackEndpoints

TWO = ConnectionSettings(host="a.example", port=1, others=(("b.example", 2),))
A, B = ("a.example", 1), ("b.example", 2)


def test_addresses_are_tried_in_turn_and_the_end_of_a_round_is_told() -> None:
    endpoints = FallbackEndpoints(TWO)

    tried = [(endpoints.now, endpoints.move_on()) for _ in range(4)]

    assert tried == [(A, False), (B, True), (A, False), (B, True)]


def test_after_a_redirection_the_named_host_is_tried_once_and_then_the_next() -> None:
    endpoints = FallbackEndpoints(TWO)

    assert endpoints.redirect("c.example:3", is_verified=True)
    endpoints.move_on()
    first = endpoints.now
    endpoints.move_on()

    assert (first, endpoints.now) == (("c.example", 3), B)


def test_servers_without_a_certificate_cannot_redirect_us() -> None:
    endpoints = FallbackEndpoints(TWO)

    assert not endpoints.redirect("evil.example", is_verified=False)
    assert endpoints.now == A


def test_redirects_are_followed_a_limited_number_of_times() -> None:
    endpoints = FallbackEndpoints(TWO)
    followed = [endpoints.redirect("c.example", is_verified=True) for _ in range(MAX_REDIRECTS + 1)]

    assert followed == [True] * MAX_REDIRECTS + [False]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("c.example", ("c.example", 5222)),
        ("c.example:1", ("c.example", 1)),
        ("[::1]", ("::1", 5222)),
        ("[::1]:7", ("::1", 7)),
        ("", None),
        (":5222", None),
        ("c.example:0", None),
        ("c.example:99999", None),
        ("c.example:x", None),
    ],
)
def test_redirections_are_read_strictly(text: str, address: tuple[str, int] | None) -> None:
    endpoints = FallbackEndpoints(ConnectionSettings(host="a.example", port=1))

    assert endpoints.redirect(text, is_verified=True) is (address is not None)
    assert endpoints.now == (address or A)


@given(st.text(max_size=40))
def test_any_redirect_address_is_parsed_without_an_error(text: str) -> None:
    FallbackEndpoints(TWO).redirect(text, is_verified=True)
