"""Files of `NAME=value`, whose values become environment variables."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.settings.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASSIGNMENT = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^#]*?))\s*(?:\#.*)?""",
    re.VERBOSE,
)


def load_env_vars(env_file: str = ".env") -> dict[str, str]:
    """What this file sets, by lines of `NAME=value`; what is set already stays as it is.

    Raises:
        ConfigurationError: the file cannot be read, or a line of it is something else.
    """
    path = Path(env_file)
    found = dict(_assignments(path)) if path.is_file() else {}
    for name, value in found.items():
        os.environ.setdefault(name, value)
    return found


def _assignments(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        said = _ASSIGNMENT.fullmatch(line)
        if said is None:
            raise ConfigurationError(f"{path}, line {number}: write NAME=value")
        yield said["name"], said["double"] or said["single"] or said["bare"] or ""
