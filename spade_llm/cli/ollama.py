"""Ollama's own API: list of models, context window, download of a model (`pull`) with progress."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from spade_llm.cli.terminal import progress_bar
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import read_environment
from spade_llm.core.text import host_in_url

logger = logging.getLogger(__name__)

DEFAULT_PORT = 11434
# Short, as on the loopback a closed port refuses at once.
LOOKUP_TIMEOUT_S = 0.3
PULL_SILENCE_S = 60.0
"""Maximum time in seconds between two lines of a download's progress."""
MAX_ANSWER_BYTES = 1_000_000
SUGGESTED_MODEL = "qwen3:4b"
"""Small model with tools that runs on a laptop."""


class _NamedModel(BaseModel):
    name: str
    context_length: int | None = None
    """Loaded models only."""


class _ModelList(BaseModel):
    models: list[_NamedModel] = []


class _PullProgress(BaseModel):
    status: str = ""
    error: str = ""
    digest: str = ""
    total: int = Field(default=0, ge=0)
    completed: int = Field(default=0, ge=0)


class _Pull(BaseModel):
    model: str
    stream: bool = True


def ollama_url() -> str:
    """Address of the Ollama of this machine, without a path: OLLAMA_HOST, which may be a host, a
    `:PORT` or a URL, else the usual one. Raises ConfigurationError: the variable holds no
    address."""
    given = read_environment().ollama_host or ""
    try:
        url = urlsplit(given if "://" in given else f"http://{given}")
        host, port = url.hostname or "localhost", url.port or DEFAULT_PORT
    except ValueError as error:
        raise ConfigurationError(
            f"the environment variable OLLAMA_HOST: {error}: write HOST:PORT"
        ) from None
    # The server's own variable: what it listens on is not what clients connect to.
    host = "localhost" if host in {"0.0.0.0", "::"} else host
    return f"{url.scheme}://{host_in_url(host)}:{port}"


def list_models(url: str) -> tuple[str, ...] | None:
    """Names of the models that can chat; None if no Ollama answers there. Uses no proxy."""
    try:
        with _request(url, "GET", "/api/tags", timeout_s=LOOKUP_TIMEOUT_S) as answer:
            tags = _ModelList.model_validate_json(answer.read(MAX_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValidationError) as error:
        logger.info("no Ollama at %s: %s", url, type(error).__name__)
        return None
    return tuple(one.name for one in tags.models if "embed" not in one.name)


def has_model(models: tuple[str, ...], name: str) -> bool:
    """True if the model is there; a name without a tag means `latest`."""
    return (name if ":" in name else f"{name}:latest") in models


def loaded_context(url: str, name: str) -> int | None:
    """Context window in tokens with which Ollama has loaded the model, which is smaller than the
    model's own unless OLLAMA_CONTEXT_LENGTH says otherwise; None if it does not say."""
    try:
        with _request(url, "GET", "/api/ps", timeout_s=LOOKUP_TIMEOUT_S) as answer:
            loaded = _ModelList.model_validate_json(answer.read(MAX_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValidationError):
        return None
    return next((one.context_length for one in loaded.models if has_model((one.name,), name)), None)


def pull_model(url: str, name: str, *, show: Callable[[int, int], None]) -> None:
    """Download a model. A download that was interrupted continues. `show` is called with the bytes
    done and their total. Raises ConfigurationError: Ollama refuses, or is lost."""
    done: dict[str, int] = {}
    total: dict[str, int] = {}
    try:
        body = _Pull(model=name).model_dump_json()
        with _request(url, "POST", "/api/pull", body, timeout_s=PULL_SILENCE_S) as answer:
            while line := answer.readline(MAX_ANSWER_BYTES):
                progress = _PullProgress.model_validate_json(line)
                if progress.error:
                    raise _pull_failed(name, progress.error)
                if progress.status == "success":
                    return
                if progress.digest:
                    total[progress.digest] = progress.total
                    done[progress.digest] = progress.completed
                    show(sum(done.values()), sum(total.values()))
    except (OSError, http.client.HTTPException) as error:
        raise _pull_failed(name, f"the connection was lost ({type(error).__name__})") from None
    except ValidationError:
        raise _pull_failed(name, "Ollama sent a line that is no progress") from None
    raise _pull_failed(name, "Ollama ended the download early")


def offer_pull(url: str, name: str) -> None:
    """Ask in the terminal whether to download the model if this Ollama does not have it; show the
    progress. Raises ConfigurationError: the download fails."""
    models = list_models(url)
    if models is None or has_model(models, name):
        return
    try:
        answer = input(f"{name} is not on the Ollama at {url} yet. Download it now? [Y/n] ")
    except EOFError:
        return
    if answer.strip().lower() in {"", "y", "yes"}:
        print(f"download    {name}: Ctrl-C stops it, a repeated command continues it")
        with progress_bar("download", is_bytes=True) as show:
            pull_model(url, name, show=show)


def _pull_failed(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"the model {name!r} was not downloaded: {why}; repeat the command")


@contextmanager
def _request(
    url: str, method: str, path: str, body: str = "", *, timeout_s: float
) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body=body or None, headers=headers)
        yield connection.getresponse()
    finally:
        connection.close()
