"""Other packages that tests compare with: `make test-peers` installs them and requires these tests."""

import importlib.util

import pytest


def peer(*modules):
    """Mark a test that compares with other packages; without these it is skipped."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"not installed: {', '.join(absent)}; make test-peers installs and runs it"
    return lambda test: pytest.mark.peer(pytest.mark.skipif(bool(absent), reason=reason)(test))
