"""Rule simulate_power: the smallest lead of an LM over another that 80 % of studies detect."""

from recency.simulation.repeats import use_one_thread
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    use_one_thread()
    from recency.evaluations.power.simulate import main

    with logged(snakemake.log[0]):
        main(
            snakemake.output[0],
            name=f"power, {snakemake.wildcards.power}",
            seed=snakemake.params.seed,
            processes=snakemake.threads,
            code=code_of(snakemake.params),
            **snakemake.params.settings,
        )
