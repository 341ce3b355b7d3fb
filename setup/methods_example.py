"""Store a run's methods section in docs/, with what it says of the run's files, so that a test can compare them.

    python setup/methods_example.py EXPERIMENT docs/methods/demo --configfile config/demo.yaml …

OUT.md is the section, OUT.json the parts of counts, fits and verdict that it was made from, and the config.
"""

import argparse
import json
from pathlib import Path

from recency.workflow.config import loading
from recency.workflow.plan import methods
from recency.workflow.plan.study import Study

FIT = ("formula", "converged", "singular", "note", "n")
VERDICT = ("brief", "described", "smallest_effect", "baseline", "rule")


def of_fit(record: dict) -> dict:
    """Return what a section says of a fit: its formula, sizes and faults, by what it was confirmed."""
    kept = {key: record[key] for key in FIT if key in record}
    kept["fixed"] = [{"term": row["term"]} for row in record.get("fixed", ())]
    return kept | {"checks": [{"by": check["by"]} for check in record.get("checks", ())]}


def of_verdict(content: dict) -> dict:
    """Return what a section says of a verdict: its sentences, kinds of intervals and tests."""
    return {key: content[key] for key in VERDICT} | {
        "pairs": [pair and {key: pair[key] for key in ("by", "p")} for pair in content["pairs"]],
        "ranking": [
            {"delta_loglik": row["delta_loglik"] and {"by": row["delta_loglik"]["by"]}}
            for row in content["ranking"]
        ],
    }


def main() -> None:
    """Store the section of an experiment whose run is done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment")
    parser.add_argument("out", type=Path)
    parser.add_argument("--configfile", nargs="+", required=True)
    arguments = parser.parse_args()
    study = Study(loading.load(Path(), *arguments.configfile), Path(), [], True)
    results = Path("results") / study.config["study"] / study.config["scale"]
    files = methods.inputs(study, arguments.experiment)

    def place(path: str) -> Path:
        return Path(path.replace("<results>", str(results)))

    content = {
        "configfile": arguments.configfile,
        "experiment": arguments.experiment,
        "counts": {place(path).parent.name: place(path).read_text() for path in files["counts"]},
        "fits": [of_fit(json.loads(place(path).read_text())) for path in files["fits"]],
        "verdict": of_verdict(json.loads(place(files["verdict"]).read_text())),
    }
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.with_suffix(".json").write_text(json.dumps(content, ensure_ascii=False) + "\n")
    made = results / "experiments" / arguments.experiment / "methods.md"
    arguments.out.with_suffix(".md").write_text(made.read_text())


if __name__ == "__main__":
    main()
