"""Tests of document loading."""
