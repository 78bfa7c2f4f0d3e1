"""Memory exam: dialogues that show whether an assistant remembers what a person tells it."""
