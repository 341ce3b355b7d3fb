"""Expected surprisal when words of context are erased at random (docs/lossy.md)."""
