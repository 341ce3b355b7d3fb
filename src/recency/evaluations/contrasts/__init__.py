"""Contrasts between words, in any measure and in surprisal."""
