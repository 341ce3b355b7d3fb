"""File formats for parsers: Excel, R, and formats of individual corpora."""
