"""Writer of a model's settings: `[provider]` of agent.toml or DATA/model.toml, and API keys."""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings.tables import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODEL_FILE = "model.toml"
KEYS_FOLDER = "keys"
PROVIDER = "provider"
OWNED_KEYS = ("kind", "model", "base_url", "api_key_env", "api_key_file")
"""Keys that are replaced; others of the table, such as `timeout_s`, stay."""

_HEADER = """\
# The model of this network, written by `spade-llm model set`. Agents use it if their agent.toml
# says kind = "auto" in [provider], or has no such table.
"""


def write_provider(path: Path, values: Mapping[str, str]) -> None:
    """Replace the model in the table `[provider]` of a toml; comments and the order of the file
    stay. The file is created if it does not exist.

    Raises:
        ConfigurationError: the file is not valid TOML, or cannot be read.
    """
    # 30 ms, and needed by this command only.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from spade_llm.xmpp.servers.certificates import write_file

    text = read_text(path) if path.exists() else _HEADER
    try:
        document = tomlkit.parse(text)
        if PROVIDER not in document:
            document[PROVIDER] = tomlkit.table()
        table = document[PROVIDER]
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {PROVIDER}: it is not a table: remove it")
        for key in OWNED_KEYS:
            if key in values:
                table[key] = values[key]
            elif key in table:
                del table[key]
        text = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from None
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    write_file(path, text.encode(), mode=mode)


def key_path(data: Path, url: str) -> Path:
    """File in which the key for the server of this URL is kept: one per host."""
    return data / KEYS_FOLDER / (urlsplit(url).hostname or "model")


def keep_key(data: Path, url: str, key: str) -> Path:
    """Store the key in a file that only its owner can read; return its path."""
    from spade_llm.xmpp.servers.certificates import write_file

    path = key_path(data, url)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(path, key.encode() + b"\n", mode=0o600)
    return path


def close_to_others(path: Path) -> str:
    """Make a file with a key readable by its owner only; return a warning if it was not."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & 0o077:
        return ""
    with suppress(PermissionError):  # It is not ours, as secrets of containers.
        path.chmod(0o600)
    return (
        f"{str(path)!r} had mode {mode:03o}, 600 is right: other users of this machine may have"
        " read the key"
    )
