"""Building blocks that every other package may use."""
