"""LLMProvider when the model's server misbehaves: one clean error, within the deadline."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    ContextTooLong,
    EmptyModelOutput,
    InvalidModelOutput,
    ModelDenied,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.providers import LLMProvider
from spade_llm.providers.model import Completion, TextDelta
from spade_llm.providers.retry import ModelLimits, retry_after_s
from tests.openai_server import Answer, Call, Hang, Raw, Reset, Say, Status
from tests.providers.conftest import API_KEY
from tests.providers.model_calls import CLOCK, HELLO, open_stream, read_stream

if TYPE_CHECKING:
    from tests.openai_server import OpenAIServer
    from tests.providers.conftest import Connect

ONCE = ModelLimits(deadline_s=4.0, attempts=1)
TOO_LONG = '{"error": {"message": "This model\'s maximum context length is 8192 tokens"}}'
CODE_TOO_LONG = '{"error": {"message": "no", "code": "context_length_exceeded"}}'
NO_QUOTA = '{"error": {"message": "no", "code": "insufficient_quota"}}'
TEXT_EVENT = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
ERROR_EVENT = b'data: {"error": {"message": "CUDA out of memory"}}\n\n'


async def ask(provider: LLMProvider, *, is_stream: bool) -> Completion:
    return (await read_stream(provider))[1] if is_stream else await provider.complete(HELLO)


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        Status(status=429),
        Status(status=429, headers={"Retry-After": "0"}),
        Status(status=500),
        Status(status=503, headers={"Retry-After": "0.01"}),
        Status(status=502, body="<html>bad gateway</html>"),
        Reset(),
        Say(text=""),
    ],
    ids=str,
)
async def test_a_passing_fault_is_survived(
    provider: LLMProvider, server: OpenAIServer, fault: Answer, is_stream: bool
) -> None:
    server.enqueue(fault, fault)

    completion = await ask(provider, is_stream=is_stream)

    assert completion.text == "You said: hello"
    assert len(server.requests) == 3


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Status(status=429), RateLimited),
        (Status(status=500), ModelUnavailable),
        (Status(status=400, body=TOO_LONG), ContextTooLong),
        (Status(status=400, body=CODE_TOO_LONG), ContextTooLong),
        (Status(status=413), ContextTooLong),
        (Status(status=400), ModelError),
        (Status(status=401), ModelDenied),
        (Status(status=404), ModelDenied),
        (Status(status=429, body=NO_QUOTA), ModelDenied),
        (Reset(), ModelUnavailable),
        (Say(text=""), EmptyModelOutput),
        (Say(text="", finish_reason="length"), InvalidModelOutput),
        (Say(text="", finish_reason="content_filter"), InvalidModelOutput),
        (Say(text="x" * 3_000_000), InvalidModelOutput),
        (Raw(b"<html>hi</html>", "text/html"), InvalidModelOutput),
        (Raw(b"{'not': 'json'"), InvalidModelOutput),
        (Raw(b"\xff\xfe"), InvalidModelOutput),
        (Raw(b"[]"), InvalidModelOutput),
        (Raw(b'{"choices": []}'), EmptyModelOutput),
        (Raw(b'{"choices": null}'), EmptyModelOutput),
        (Raw(b'{"choices": "no"}'), InvalidModelOutput),
        (Raw(b'{"error": {"message": "overloaded"}}'), ModelUnavailable),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_a_lasting_fault_is_one_clean_error(
    connect: Connect,
    server: OpenAIServer,
    fault: Answer,
    expected: type[ModelError],
    is_stream: bool,
) -> None:
    server.enqueue(fault)

    with pytest.raises(ModelError) as caught:
        await ask(connect(limits=ONCE), is_stream=is_stream)

    assert type(caught.value) is expected


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_server_that_hangs_costs_no_more_than_the_deadline(
    connect: Connect, server: OpenAIServer, is_stream: bool
) -> None:
    server.enqueue(*[Hang()] * 9)
    limits = ModelLimits(deadline_s=0.5, first_pause_s=0.01, attempts=9)
    started = time.monotonic()

    with pytest.raises(ModelUnavailable, match="in time"):
        await ask(connect(limits=limits, timeout=0.15), is_stream=is_stream)

    assert 0.4 < time.monotonic() - started < 5
    assert 1 < len(server.requests) < 6


async def test_one_attempt_that_hangs_is_followed_by_another(
    connect: Connect, server: OpenAIServer
) -> None:
    server.enqueue(Hang())

    completion = await connect(timeout=0.1).complete(HELLO)

    assert completion.text == "You said: hello"


@pytest.mark.parametrize("fault", [Reset(after="Half an"), Hang(after="Half an")], ids=str)
async def test_a_stream_that_breaks_off_is_never_begun_again(
    connect: Connect, server: OpenAIServer, fault: Answer
) -> None:
    server.enqueue(fault)
    seen: list[object] = []

    with pytest.raises(ModelUnavailable):
        async with open_stream(connect(timeout=0.1)) as parts:
            async for part in parts:
                seen.append(part)

    assert seen == [TextDelta("Half an")]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "events",
    [
        b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n' + tail
        for tail in (b"", ERROR_EVENT)
    ],
    ids=["no end", "an error"],
)
async def test_a_stream_without_its_end_is_not_taken_for_a_whole_answer(
    connect: Connect, server: OpenAIServer, events: bytes
) -> None:
    server.enqueue(Raw(events, "text/event-stream"))

    with pytest.raises(ModelUnavailable):
        await read_stream(connect(limits=ONCE))


async def test_a_server_that_cannot_stream_is_understood(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Raw(b'{"choices": [{"message": {"content": "All at once"}}]}'))

    deltas, completion = await read_stream(provider)

    assert deltas == ["All at once"]
    assert completion.text == "All at once"


async def test_a_line_without_end_is_cut_off(connect: Connect, server: OpenAIServer) -> None:
    server.enqueue(Raw(b"data: " + b"x" * 3_000_000, "text/event-stream"))

    with pytest.raises(InvalidModelOutput, match="larger"):
        await read_stream(connect(limits=ONCE))


async def test_invalid_arguments_and_unknown_tools_are_passed_on_as_they_are(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Say(calls=(Call(name="no_such_tool", arguments='{"a": '),)))

    (call,) = (await provider.complete(HELLO, [CLOCK])).tool_calls

    assert (call.name, call.arguments) == ("no_such_tool", '{"a": ')


async def test_arguments_sent_as_an_object_become_json_text(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    call = b'{"function": {"name": "f", "arguments": {"a": 1}}}'
    server.enqueue(Raw(b'{"choices": [{"message": {"tool_calls": [' + call + b"]}}]}"))

    (made,) = (await provider.complete(HELLO, [CLOCK])).tool_calls

    assert made.arguments == '{"a": 1}'


async def test_a_pause_longer_than_the_deadline_is_reported_at_once(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Status(status=429, headers={"Retry-After": "3600"}))

    with pytest.raises(RateLimited) as caught:
        async with asyncio.timeout(1):
            await provider.complete(HELLO)

    assert caught.value.retry_after == 3600


async def test_a_pause_is_respected(connect: Connect, server: OpenAIServer) -> None:
    server.enqueue(Status(status=429, headers={"Retry-After": "0.3"}))
    started = time.monotonic()

    await connect().complete(HELLO)

    assert 0.3 <= time.monotonic() - started < 5


async def test_waiting_for_a_free_place_counts(connect: Connect, server: OpenAIServer) -> None:
    server.enqueue(Hang(), Hang())
    provider = connect(limits=ModelLimits(deadline_s=0.2, max_concurrency=1, attempts=1))

    outcomes = await asyncio.gather(
        provider.complete(HELLO), provider.complete(HELLO), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [ModelUnavailable, ModelUnavailable]


async def test_a_refused_connection_is_model_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        async with LLMProvider.create_vllm(
            "m", f"http://127.0.0.1:{port}/v1", limits=ONCE
        ) as provider:
            with pytest.raises(ModelUnavailable, match="base_url"):
                await provider.complete(HELLO)


async def test_a_server_that_does_not_speak_http_is_model_unavailable() -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as greeter:
        port = greeter.sockets[0].getsockname()[1]
        async with LLMProvider.create_vllm(
            "m", f"http://127.0.0.1:{port}/v1", limits=ONCE
        ) as provider:
            with pytest.raises(ModelUnavailable, match="base_url"):
                await provider.complete(HELLO)


async def test_a_closed_provider_fails_cleanly(provider: LLMProvider) -> None:
    await provider.aclose()

    with pytest.raises(ModelError):
        await provider.complete(HELLO)


async def test_a_cancelled_call_stops_at_once(provider: LLMProvider, server: OpenAIServer) -> None:
    server.enqueue(Hang())
    call = asyncio.create_task(provider.complete(HELLO))
    await asyncio.wait_for(server.was_asked.wait(), 5)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call


NO_MODEL = '{"error": {"message": "no such model", "code": "model_not_found"}}'


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Status(status=401), "SERVER does not accept the API key: check it (HTTP 401)."),
        (Status(status=403), "SERVER does not allow this API key to use 'm' (HTTP 403)."),
        (Status(status=404, body=NO_MODEL), "SERVER has no model 'm'"),
        (Status(status=429, body=NO_QUOTA), "SERVER: the account's quota is used up"),
        (Status(status=429, headers={"Retry-After": "3600"}), "asks for a pause of 3600 s"),
        (Status(status=500), "SERVER reports an internal error (HTTP 500)."),
        (Reset(), "The connection to SERVER was lost"),
    ],
    ids=str,
)
async def test_the_operator_is_told_what_is_wrong_and_where(
    server: OpenAIServer, answer: Answer, why: str
) -> None:
    server.enqueue(*[answer] * ONCE.attempts)
    async with LLMProvider.create_openai(
        API_KEY, "m", base_url=server.base_url, limits=ONCE
    ) as provider:
        with pytest.raises(ModelError) as caught:
            await provider.complete(HELLO)

    where = server.base_url.removeprefix("http://").removesuffix("/v1")
    assert why.replace("SERVER", where) in str(caught.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:9/v1", "127.0.0.1:9 refuses connections"),
        ("http://no-such-host.invalid/v1", "no-such-host.invalid: this host name is unknown"),
    ],
)
async def test_a_server_that_is_not_there_is_told_from_a_name_that_is_not_known(
    url: str, why: str
) -> None:
    async with LLMProvider.create_openai(API_KEY, "m", base_url=url, limits=ONCE) as provider:
        with pytest.raises(ModelUnavailable, match=why):
            await provider.complete(HELLO)


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("status", [200, 400])
async def test_a_server_that_quotes_the_key_does_not_pass_it_on(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture, status: int, is_stream: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"error": {"message": f"What is {API_KEY}?", "code": "odd"}})
    server.enqueue(Status(status=status, body=body))
    async with LLMProvider.create_openai(
        API_KEY, "m", base_url=server.base_url, limits=ONCE
    ) as provider:
        with pytest.raises(ModelError, match="What is .API key.") as caught:
            await ask(provider, is_stream=is_stream)

    assert API_KEY not in f"{caught.value!r} {caplog.text}"


async def test_a_rejected_key_appears_in_no_error_and_no_log(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.api_key = "another"
    async with LLMProvider.create_openai(API_KEY, "m", base_url=server.base_url) as provider:
        with pytest.raises(ModelError, match="API key") as caught:
            await provider.complete(HELLO)

    assert API_KEY not in f"{caught.value!r} {provider!r} {caplog.text}"


NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "-7"}, 0),
        ({"retry-after": "1e99"}, 86_400),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers, now=NOW) == seconds
