"""What Snakemake asks anew for every job and has one answer in a run, asked once.

Which rule makes a file, for each job that takes it, by trying all patterns of every rule that could;
whether a rule's script is there; and what arguments a rule's function has, for each call. In a plan
of 10,000 jobs that is a quarter of the time.
"""

import functools
import re


@functools.cache
def ask_once() -> None:
    """Let this process's Snakemake remember all three."""
    from snakemake import common, rules
    from snakemake.common.prefix_lookup import PrefixLookup
    from snakemake.dag import ScriptProcessor
    from snakemake.output_index import OutputIndex

    make, find = OutputIndex.__init__, OutputIndex.match_producers
    look, arguments = ScriptProcessor.process_job, functools.cache(common.get_function_params)

    def __init__(index, rules):
        make(index, rules)
        patterns = ((rule, pattern) for rule in rules for pattern in rule.products())
        index.known = {}
        index.patterns = PrefixLookup(
            entries=[
                (str(pattern.constant_prefix()), (rule, pattern, str(pattern.constant_suffix())))
                for rule, pattern in patterns
            ]
        )

    def match_producers(index, path):
        if (name := str(path)) not in index.known:
            found = (each for _, each in index.patterns.match_iter(name))
            try:
                index.known[name] = {
                    rule
                    for rule, pattern, end in found
                    if name.endswith(end) and pattern.match(name)
                }
            except (re.error, ValueError):
                return find(index, path)  # which says what is wrong with a pattern
        return index.known[name]

    def process_job(processor, job):
        looked = vars(processor).setdefault("looked", set())
        if job.rule not in looked:
            look(processor, job)
            if "{" not in str(getattr(job.rule, processor.script_type)):
                looked.add(job.rule)

    OutputIndex.__init__, OutputIndex.match_producers = __init__, match_producers
    ScriptProcessor.process_job = process_job  # the names are Snakemake's
    common.get_function_params = rules.get_function_params = arguments
