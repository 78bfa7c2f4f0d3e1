"""The only place that reads the environment.

SPADE_LLM_DATA, SPADE_LLM_SERVER, SPADE_LLM_DOMAIN and SPADE_LLM_CA are the defaults of --data,
--server, --domain and --ca, and say to agents that were told no server where theirs is;
SPADE_LLM_REGISTER lets those make their account; OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL
say which model `kind = "auto"` takes; LLM_MEMORY_BATCH_MAX_SIZE bounds the batches of the memory
tools; OTEL_EXPORTER_OTLP_ENDPOINT is the default of telemetry.endpoint (the exporter reads its
other variables itself); password_env, api_key_env, env and headers_env name variables of your own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def _checked_collector(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is no http:// or https:// address of a collector")
    if parts.username or parts.password:
        raise ValueError("no secrets in addresses: use OTEL_EXPORTER_OTLP_HEADERS")
    return url


CollectorUrl = Annotated[str, AfterValidator(_checked_collector)]


def variable(name: str, *, named_in: str) -> str:
    """An environment variable that the settings name.

    Raises:
        ConfigurationError: it is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        raise ConfigurationError(f"{named_in}: the environment variable {name} is not set: set it")
    return value


def found_variable(name: str) -> str | None:
    """An environment variable that a program's libraries name; empty counts as not set."""
    return os.environ.get(name) or None


class Environment(BaseModel):
    """The environment variables that we read ourselves."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    data: str = "spade-llm-data"
    server: str = "auto"
    domain: str | None = None
    ca: str | None = None
    register_accounts: bool = Field(default=False, strict=False)
    openai_api_key: str | None = Field(default=None, repr=False)
    openai_base_url: str | None = None
    openai_model: str | None = None
    memory_batch_max_size: int = Field(default=100, ge=1, le=1000, strict=False)
    collector: CollectorUrl | None = None


_VARIABLES = {
    "data": "SPADE_LLM_DATA",
    "server": "SPADE_LLM_SERVER",
    "domain": "SPADE_LLM_DOMAIN",
    "ca": "SPADE_LLM_CA",
    "register_accounts": "SPADE_LLM_REGISTER",
    "openai_api_key": "OPENAI_API_KEY",
    "openai_base_url": "OPENAI_BASE_URL",
    "openai_model": "OPENAI_MODEL",
    "memory_batch_max_size": "LLM_MEMORY_BATCH_MAX_SIZE",
    "collector": "OTEL_EXPORTER_OTLP_ENDPOINT",
}


def read_environment() -> Environment:
    """What is set now; an empty variable counts as not set.

    Raises:
        ConfigurationError: a variable's value is wrong.
    """
    found = {field: os.environ.get(name) for field, name in _VARIABLES.items()}
    try:
        return Environment.model_validate({field: value for field, value in found.items() if value})
    except ValidationError as error:
        raise ConfigurationError("; ".join(map(_complaint, error.errors()))) from None


def _complaint(error: ErrorDetails) -> str:
    return f"the environment variable {_VARIABLES[str(error['loc'][0])]}: {error['msg']}"
