"""Presentation of replies in chat clients: streaming, corrections, typing indicator, files."""
