"""Tests of export, import and migration of memory files."""
