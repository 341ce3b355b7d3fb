"""Expected surprisal when context words are erased at random (docs/lossy.md)."""
