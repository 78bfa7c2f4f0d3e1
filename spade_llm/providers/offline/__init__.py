"""Offline provider: answers by rules, without any language model."""
