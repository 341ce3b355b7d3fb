"""Rule simulate_endpoint: bias, size, power and coverage of candidate endpoints of ΔLogLik."""

from recency.simulation.repeats import use_one_thread
from recency.workflow.engine.job import run

if __name__ == "__main__":
    use_one_thread()
    from recency.evaluations.endpoint.simulate import main

    run(main, snakemake)
