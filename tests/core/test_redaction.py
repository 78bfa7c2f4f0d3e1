"""What is written down about a call shows no secret."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.redaction import is_secret_name, redact, redact_text

SECRET = "hunter2-correct-horse"


@pytest.mark.parametrize(
    "key",
    [
        *("password", "Password", "db_password", "userPassword", "passwd", "PWD", "passphrase"),
        *("token", "access_token", "accessToken", "refresh-token", "secret", "client_secret"),
        *("api_key", "apiKey", "API-KEY", "x-api-key", "access_key", "private_key", "key"),
        *("authorization", "Authorization", "auth", "credentials", "cookie", "Set-Cookie", "pin"),
    ],
)
def test_a_key_that_names_a_secret_hides_its_value(key: str) -> None:
    shown = json.dumps(redact({"a": [{"b": {key: SECRET}}], key: {"deep": [SECRET]}}))

    assert SECRET not in shown
    assert key in shown


@pytest.mark.parametrize("key", ["city", "keyboard", "monkey", "author", "passage", "pinned"])
def test_other_keys_hide_nothing(key: str) -> None:
    assert not is_secret_name(key)
    assert redact({key: "Oslo", "n": 3, "flag": True, "none": None, "x": 1.5}) == {
        key: "Oslo",
        "n": 3,
        "flag": True,
        "none": None,
        "x": 1.5,
    }


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef123456789", "abcdef123456789"),
        ("curl -H 'authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
        ("sk-proj-abcdefghijklmnop", "abcdefghijklmnop"),
        ("use ghp_abcdefghijklmnopqrstuvwxyz now", "abcdefghijklmnop"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("xoxb-123456789012-abcdef", "123456789012"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "eyJzdWIi"),
        ("password=hunter2&user=ada", "hunter2"),
        ("my password is hunter2", "hunter2"),
        ('{"api_key": "hunter2"}', "hunter2"),
        ("postgres://ada:hunter2@db/x", "hunter2"),
        ("d41d8cd98f00b204e9800998ecf8427e", "98f00b204"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", "b3Blbn"),
    ],
)
def test_a_value_that_looks_like_a_secret_is_hidden_wherever_it_stands(
    text: str, secret: str
) -> None:
    assert secret not in json.dumps(redact({"note": [f"before {text}"]}))


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of Norway?",
        "2026-11-21T16:10:23+00:00",
        "(17.5 - 3) * 2 ** 10",
        "/home/ada/documents/report-of-the-long-journey.txt",
        "https://example.org/a/page?q=boats",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert redact_text(text) == text


def test_large_values_are_truncated_with_their_size() -> None:
    shown = redact({"long": "word " * 1000, "many": list(range(100)), "deep": _nested(50)})

    text = json.dumps(shown)
    assert "(5000 characters)" in text
    assert "(100 items)" in text
    assert len(text) < 1000


def test_a_secret_at_the_cut_is_not_halved_into_view() -> None:
    assert "hunter2" not in redact_text("x " * 95 + "password=hunter2hunter2hunter2")


def _nested(depth: int) -> object:
    return {"a": _nested(depth - 1)} if depth else "end"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_anything_can_be_written_down(value: object) -> None:
    json.dumps(redact(value))


@given(st.text(max_size=2000))
def test_any_text_is_bounded(text: str) -> None:
    assert len(redact_text(text)) < 300
