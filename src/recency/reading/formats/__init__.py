"""Formats of files that parsers read: Excel's, R's, and those of one corpus."""
