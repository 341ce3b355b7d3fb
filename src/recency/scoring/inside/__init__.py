"""Measures of what happens inside a network (docs/internals.md)."""
