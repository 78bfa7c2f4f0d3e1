"""A file of spade_llm 0.2 or 0.3 where ours is to be: ours is made beside it, from what it holds.

The old file is only read, and stays. Knows no program.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError, InvalidArguments
from spade_llm.memory.sqlite.direct import DirectMemory
from spade_llm.memory.transfer.spade_llm_files import Target, is_table, records_in
from spade_llm.memory.transfer.transfer_file import import_old

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

SUFFIX = ".memory"
"""Behind the name of the old file."""


def adopted(path: Path) -> Path:
    """The file of ours for `path`: itself, unless spade_llm made it. Reads and writes files.

    Raises ConfigurationError: the old file cannot be read.
    """
    return adopt(path, path.with_name(path.name + SUFFIX)) if is_table(path) else path


def adopt(old: Path, ours: Path) -> Path:
    """`ours`, filled from the old file when it is made; what is wrong there is logged.

    Raises ConfigurationError: the old file cannot be read.
    """
    if ours.exists() or not old.exists():
        return ours
    unfinished = ours.with_name(f".{ours.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        _fill(unfinished, old)
        unfinished.rename(ours)
    except (InvalidArguments, OSError) as error:
        raise ConfigurationError(
            f"{str(old)!r} cannot be taken over: {error}; move it away to begin without it"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return ours


def _fill(path: Path, old: Path) -> None:
    DirectMemory(path).run(lambda _transaction: None)
    records = records_in(old, Target())
    if records is None:
        raise InvalidArguments("it is no file of spade_llm 0.2 or 0.3")
    done = import_old(path, records)
    logger.info("%s: %d memories taken over into %s", old, done.added, path.name)
    for fault in done.faults:
        logger.warning("%s: left out: %s", old, fault)
