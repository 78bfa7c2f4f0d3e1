"""Core building blocks that every other package may use."""
