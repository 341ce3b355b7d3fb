"""Rule simulate_power: the smallest lead of an LM over another that 80 % of studies detect."""

from recency.simulation.repeats import use_one_thread
from recency.workflow.engine.job import run

if __name__ == "__main__":
    use_one_thread()
    from recency.evaluations.power.simulate import main

    run(
        main,
        snakemake,
        name=f"power, {snakemake.wildcards.power}",
    )
