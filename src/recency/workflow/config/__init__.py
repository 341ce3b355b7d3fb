"""The config: loading, and checks before anything runs."""
