"""Tests of the memory file."""
