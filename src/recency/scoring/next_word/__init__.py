"""Entropy of the next word, not of the next token (docs/surprisal.md)."""
