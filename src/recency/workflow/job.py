"""What every script of a rule does around its work: the log, and errors that a person can act on."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recency.errors import InputError


@contextmanager
def logged(log: str | os.PathLike) -> Iterator[None]:
    """Send stderr and tracebacks to the rule's log; of an InputError, the message alone."""
    terminal = sys.stderr
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", buffering=1) as sys.stderr:
        try:
            yield
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            print(f"\nerror: {error}\n", file=terminal, flush=True)
            raise SystemExit(1) from None
        except Exception:  # noqa: BLE001, whatever it is belongs into the log
            traceback.print_exc()  # into the log, whose end Snakemake shows
            raise SystemExit(1) from None
        finally:
            sys.stderr = terminal


def code_of(params) -> dict[str, str]:
    """Return module → fingerprint of the code that a job depends on, of its `snakemake.params`.

    recency.workflow.code puts them behind the rule's own parameters, which have names.
    """
    named = len(dict(params.items()))
    unnamed = list(params)[named:]
    lines = [line for each in unnamed for line in ([each] if isinstance(each, str) else each)]
    return dict(line.rsplit(" ", 1) for line in lines)
