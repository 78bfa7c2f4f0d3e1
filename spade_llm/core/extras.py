"""Optional dependencies (extras of the distribution), and the error for a missing one."""

from __future__ import annotations

from importlib.util import find_spec

from spade_llm.core.errors import ConfigurationError

PACKAGES = {
    "documents": ("chromadb", "pypdf", "docx", "lxml"),
    "gateway": ("fastapi", "uvicorn", "httptools", "prometheus_client"),
    "mcp": ("mcp", "uvicorn"),
    "local-embeddings": ("onnxruntime", "tokenizers"),
    "telemetry": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "tokens": ("bpe_openai", "tokenizers"),
}
"""The packages that each extra of pyproject.toml installs, by the names they are imported by."""


def require_extra(extra: str, *packages: str) -> None:
    """Check that the packages of an extra (all of them, by default) are installed.

    Call it before the first import of one. It imports none, so it costs less than a millisecond.

    Raises:
        ConfigurationError: names the extra and the command that installs it.
    """
    missing = missing_packages(extra, *packages)
    if missing:
        raise ConfigurationError(
            f"the extra {extra!r} is not installed ({', '.join(missing)} not found):"
            f" {install_command(extra)}"
        )


def missing_packages(extra: str, *packages: str) -> list[str]:
    return [name for name in packages or PACKAGES[extra] if not _is_installed(name)]


def install_command(*extras: str) -> str:
    return f"pip install 'spade-llm-agents[{','.join(extras)}]'"


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # a package that it is a part of
        return False
