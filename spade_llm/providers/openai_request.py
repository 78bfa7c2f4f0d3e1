"""Writing a request in the OpenAI protocol. Pure; knows no HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.providers.openai_schema import response_format, strict_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import Sampling, ToolSpec

RequestBody = dict[str, object]
BOUND = "max_tokens"
"""What the protocol calls the bound on an answer's tokens, unless a server calls it otherwise."""


def build_request(
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    settings: RequestBody,
    tool_choice: str,
    response_schema: Mapping[str, object] | None = None,
    sampling: Sampling | None = None,
    bound: str = BOUND,
) -> RequestBody:
    """`settings` holds the model and whatever else is the same in every request."""
    body: RequestBody = {**settings, **_sampled(settings, sampling, bound)}
    body["messages"] = list(messages)
    if tools:
        body["tools"] = [_tool(spec) for spec in tools]
        body["tool_choice"] = _choice(tool_choice)
    if response_schema is not None:
        body["response_format"] = response_format(response_schema)
    return body


def with_stream(body: RequestBody) -> RequestBody:
    """Ask for the answer as a stream, with the token counts at its end."""
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


def _sampled(settings: RequestBody, sampling: Sampling | None, bound: str) -> RequestBody:
    """What this one request asks for otherwise. Whoever set the provider up decides how long an
    answer may become: a request can only ask for less."""
    if sampling is None:
        return {}
    fields: RequestBody = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.max_tokens is not None:
        most = settings.get(bound)
        wanted = sampling.max_tokens
        fields[bound] = min(wanted, most) if isinstance(most, int) else wanted
    return fields


def _tool(spec: ToolSpec) -> RequestBody:
    function: RequestBody = {
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }
    if spec.is_strict and (form := strict_form(spec.parameters)) is not None:
        function |= {"parameters": form, "strict": True}
    return {"type": "function", "function": function}


def _choice(tool_choice: str) -> object:
    if tool_choice in {"auto", "none", "required"}:
        return tool_choice
    return {"type": "function", "function": {"name": tool_choice}}
