"""Entropy of the next word, as opposed to the next token (docs/surprisal.md)."""
