"""The SQLite file of a transcript: opening it, its tables, and its failures by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exactattn.exceptions import TranscriptError

__all__ = ["named_errors", "open_database"]

APPLICATION_ID = 0x45584154  # "EXAT": tells a transcript from other SQLite files
SCHEMA_VERSION = 1
LOCK_SECONDS = 1.0

TABLES = (
    "CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE queries (key TEXT NOT NULL PRIMARY KEY, length INTEGER NOT NULL, "
    "sent INTEGER NOT NULL, refined INTEGER NOT NULL, precision INTEGER, answer TEXT)",
)

# By the beginning of SQLite's name of the error.
MENDS = {
    "SQLITE_FULL": "the disk is full; every answer so far is kept: free some space and run again",
    "SQLITE_BUSY": "another running process uses it; wait for that one, or use another --transcript file",
    "SQLITE_NOTADB": "it is not a transcript; use another --transcript file",
    "SQLITE_CORRUPT": "it is damaged; restore a copy, or use another --transcript file",
    "SQLITE_READONLY": "it cannot be written; make it writable, or use another --transcript file",
    "SQLITE_CANTOPEN": "it cannot be opened or created; check that its folder exists and is writable",
}


@contextmanager
def named_errors(file: str) -> Iterator[None]:
    """Turns an SQLite error into a TranscriptError that names the file and the mend."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        mend = next((text for start, text in MENDS.items() if name.startswith(start)), None)
        raise TranscriptError(f"{file}: {mend or f'it cannot be used ({error}); check the disk'}") from error


def open_database(path: Path | None) -> sqlite3.Connection:
    """A connection that alone holds the transcript file, created if it does not exist; in memory for None.

    Every statement is its own transaction. A killed process loses nothing that was written; after
    ``PRAGMA wal_checkpoint`` a loss of power does not either. Raises TranscriptError if the file is something
    else, damaged, of another version, or in use.
    """
    file = ":memory:" if path is None else str(path)
    with named_errors(file):
        connection = sqlite3.connect(file, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            _prepare(connection, file)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, file: str) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for table in TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise TranscriptError(f"{file}: {MENDS['SQLITE_NOTADB']}")
    elif (version := connection.execute("PRAGMA user_version").fetchone()[0]) != SCHEMA_VERSION:
        raise TranscriptError(
            f"{file}: the transcript has format version {version}, but this program reads version "
            f"{SCHEMA_VERSION}; use another --transcript file"
        )
    elif connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise TranscriptError(f"{file}: {MENDS['SQLITE_CORRUPT']}")
    connection.execute("COMMIT")
    # A write-ahead log makes a commit for each answer cheap, and safe against a kill without a disk flush.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
