"""Write down, when a job of Snakemake ends, which modules of the package it loaded and is tracked by.

Projects that tests copy have this as src/sitecustomize.py, which Python imports when a job starts;
a job may go on as a fork of a server (job_server.py).
"""

import atexit
import json
import os
import sys

import job_server

job_server.ask()


def write():
    job = getattr(sys.modules["__main__"], "snakemake", None)
    if job is None:
        return
    modules = sorted(name for name in sys.modules if name.split(".")[0] == "recency")
    tracked = [
        each for value in job.params for each in (value if isinstance(value, list) else [value])
    ]
    facts = {"rule": job.rule, "wildcards": dict(job.wildcards.items()), "modules": modules}
    facts |= {
        "outputs": list(job.output),
        "params": [each for each in tracked if type(each) is str],
    }
    with open(os.path.join(".snakemake", "loaded.jsonl"), "a") as file:
        file.write(json.dumps(facts) + "\n")


atexit.register(write)
