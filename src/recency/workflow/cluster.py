"""On a cluster: what each job asks for, more at every retry; what runs here; jobs that a killed run left there."""

import subprocess
import time

from snakemake.logging import logger
from snakemake.resources import Resources

from recency.evaluations import registry
from recency.workflow import batches

#: What a job does → megabytes and minutes that it asks for at first; docs/scaling.md has what jobs took.
#: A training that its time ends saves its state first, and goes on at the next attempt.
ASKED = {
    "train": (16_000, 24 * 60),
    "train_cdlm": (16_000, 24 * 60),
    "fine_tune": (16_000, 24 * 60),
    "surprisal": (12_000, 4 * 60),
    "corpus_surprisal": (12_000, 4 * 60),
    "text_perplexity": (12_000, 4 * 60),
    "length_perplexity": (12_000, 4 * 60),
    "rank_metrics": (12_000, 4 * 60),
    "score_pairs": (12_000, 4 * 60),
    "attention_by_distance": (12_000, 4 * 60),
    "attention_heads": (12_000, 4 * 60),
    "attention_map": (12_000, 60),
    "nearest_words": (12_000, 60),
    "rare_words_by_lm": (12_000, 60),
    "measured_memory": (12_000, 8 * 60),
    "temporal_correlation": (12_000, 8 * 60),
    "ngram_rank_metrics": (8_000, 4 * 60),
    "regression": (12_000, 4 * 60),
    "nested_regression": (12_000, 4 * 60),
    "refits": (12_000, 8 * 60),
    "crossed_bootstrap": (12_000, 8 * 60),
    "cross_validation": (12_000, 8 * 60),
    "bias_search": (16_000, 24 * 60),
    "structural_probe": (16_000, 8 * 60),
    "simulate_power": (8_000, 12 * 60),
    "simulate_endpoint": (8_000, 12 * 60),
    "tokenize_text": (8_000, 4 * 60),
    "train_tokenizer": (16_000, 4 * 60),
    "estimate_ngrams": (8_000, 2 * 60),
    "estimate_ngram_lm": (8_000, 2 * 60),
}
OTHERS = (4_000, 60)
#: Seconds for a job to save its state and go, beyond Slurm's own patience (KillWait, 30 by default).
PATIENCE = 120.0
#: States in which a job of Slurm's may still write.
ALIVE = "PENDING,RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED,REQUEUED,RESIZING"


def asks(rules, overwritten) -> None:
    """Let every rule with a script ask for memory and time, `attempt` times as much at each attempt.

    What the command line or a profile sets for a rule (`overwritten`, its --set-resources) stays; memory
    that a rule states itself is the least it asks for.
    """
    for rule in rules:
        if rule.script:
            memory, minutes = ASKED.get(batches.kind_of(rule.name), OTHERS)
            own = rule.resources.get("mem_mb")
            if own is not None and not own.is_evaluable():
                memory = max(memory, own.value or 0)
            asked = {"mem_mb": _growing(memory), "runtime": _growing(minutes)}
            fixed = overwritten.get(rule.name, {})
            mine = {name: value for name, value in asked.items() if name not in fixed}
            rule.resources.update(Resources.from_mapping(mine))


def _growing(first: int):
    return lambda wildcards, attempt: first * attempt


def seconds_long(rules) -> list[str]:
    """Return which of the rules are those whose jobs take a second: figures, tables and pages, made where the run is.

    To queue each would take longer than all of them.
    """
    pages = {"verdict", "report_page", "summary", "perplexity", "not_run"}
    pages |= {product.rule for product in registry.products()}
    return [rule.name for rule in rules if rule.name in pages]


def end_orphans(workflow) -> None:
    """End the jobs that an earlier run of this folder, which was killed, left in Slurm's queue.

    They would write what this run's jobs write. A training saves its state; what else was done is kept.
    """
    jobs = list(workflow.dag.needrun_jobs())
    known = {id for job in jobs for id in workflow.persistence.external_jobids(job)}
    left = _alive(known)
    if not left:
        return
    logger.info(f"Ending {len(left)} jobs that a killed run left in the queue: {', '.join(left)}")
    subprocess.run(["scancel", *left], check=False)
    deadline = time.monotonic() + PATIENCE
    while _alive(left) and time.monotonic() < deadline:
        time.sleep(1)


def _alive(known) -> list[str]:
    """Return which of Slurm's jobs are waiting or at work."""
    if not known:
        return []
    words = ["squeue", "--noheader", "--format=%i", f"--states={ALIVE}"]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return sorted(set(listed.split()) & {str(each) for each in known})
