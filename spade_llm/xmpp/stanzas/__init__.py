"""Stanza codecs: one file per group of XEPs; they read and write XML and send nothing."""
