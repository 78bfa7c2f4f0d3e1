"""One owner's memories in RAM, ranked. Knows no SQLite, no asyncio, and one owner at a time.

Import from the files: numpy is loaded with them, not with this package.
"""
