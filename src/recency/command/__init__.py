"""The command `recency`: surprisal of texts, mixed models of tables, and listings.

Each subcommand is a module here, imported when it is called, so that `--help` and lists need no PyTorch.
"""
