"""What may stand before a stream's root element: no document type (RFC 6120 §11.1), whose entities
make gigabytes of a kilobyte. Knows no stanza.
"""

from __future__ import annotations

from xml.parsers.expat import ExpatError, ParserCreate


class _Forbidden(Exception):
    pass


class Prologue:
    """Of one connection. Fed what the real parser is fed, before it, until the root has begun."""

    def __init__(self) -> None:
        self._parser = ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._forbid

    def is_forbidden(self, data: bytes) -> bool:
        """What is no XML at all is left to the real parser to complain of."""
        try:
            self._parser.Parse(data, False)
        except _Forbidden:
            return True
        except ExpatError:
            return False
        return False

    def _forbid(self, *_: object) -> None:
        raise _Forbidden
