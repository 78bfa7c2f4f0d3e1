"""Tests of the storage of a document library."""
