"""Key that signs the memory passports of replicas: one for all, in their database."""

from __future__ import annotations

from pathlib import Path

from spade_llm.core.database import DatabaseServer, StoreTables
from spade_llm.memory.transfer.passport import KEY_FILE, PassportKey, read_key_file, write_key_file

PASSPORT_KEY_TABLES = StoreTables(
    name="passport_key",
    what="the key of memory passports",
    schema="""
CREATE TABLE IF NOT EXISTS passport_key (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    pem TEXT NOT NULL
);
""",
)
_ADD = "INSERT INTO passport_key(number, pem) VALUES (1, ?) ON CONFLICT DO NOTHING"
_READ = "SELECT pem FROM passport_key"


async def shared_passport_key(server: DatabaseServer, directory: Path) -> PassportKey:
    """The key in the database. The first replica puts it there: that of its directory, with which
    the agent signed as a single process, or a new one. A directory without a key gets a copy, for
    the command line.

    Raises:
        ConfigurationError: the file cannot be read or written, or is no such key; the database
            cannot be used.
        StorageFailed: the database does not answer.
    """
    path = directory / KEY_FILE  # Small, and read once at the start.
    own = read_key_file(path) if path.exists() else PassportKey.generate()
    database = PASSPORT_KEY_TABLES.at(server)
    await database.open()
    try:
        await database.execute(_ADD, own.pem)
        ((pem,),) = await database.execute(_READ)
    finally:
        await database.close()
    key = PassportKey.from_pem(str(pem), place="the table passport_key of the database")
    if not path.exists():
        write_key_file(path, key)
    return key
