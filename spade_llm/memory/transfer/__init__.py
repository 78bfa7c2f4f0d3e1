"""Export, import, backup and verification of memory files."""
