"""What Snakemake asks anew for every job and has one answer in a run, asked once.

Which rule makes a file, for each job that takes it, by trying the patterns of all that could; and
what arguments a rule's function has, for each call. In a plan of 10,000 jobs that is a sixth of the
time.
"""

from __future__ import annotations

import functools


@functools.cache
def ask_once() -> None:
    """Let this process's Snakemake remember both."""
    from snakemake import common, rules
    from snakemake.output_index import OutputIndex

    find, arguments = OutputIndex.match_producers, functools.cache(common.get_function_params)

    def match_producers(index, path):
        known = vars(index).setdefault("_known", {})
        if (name := str(path)) not in known:
            known[name] = find(index, path)
        return known[name]

    OutputIndex.match_producers = match_producers  # the names are Snakemake's
    common.get_function_params = rules.get_function_params = arguments
