"""Tests of the memory in a database."""
