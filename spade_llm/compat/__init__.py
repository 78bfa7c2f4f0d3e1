"""Compatibility with programs written for spade_llm 0.2 and 0.3."""
