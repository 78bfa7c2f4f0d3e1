"""Memory tools for language models."""
