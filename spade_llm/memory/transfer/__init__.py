"""A memory out of its file, into another, and looked through for faults."""
