"""Rule figure_power: the smallest detectable lead by subjects, sentences and training seeds."""

import pandas as pd
from matplotlib.figure import Figure

from recency.figures import style
from recency.figures.paths import File, Files

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vp"


def main(sizes: File, out: Files) -> None:
    """Draw simulate_power's table, and write it with the figure."""
    table = pd.read_csv(sizes)
    style.write(out, table, draw, table)


def draw(rows: pd.DataFrame) -> Figure:
    """Draw detectable leads by number of subjects: a line per number of sentences, a panel by seeds.

    Parameters
    ----------
    rows
        Columns of recency.evaluations.power.simulate.COLUMNS.
    """
    seeds = sorted(set(rows.seeds))
    figure = style.figure(2.8)
    panels = figure.subplots(1, len(seeds), sharey=True, squeeze=False)[0]
    for axes, many in zip(panels, seeds, strict=True):
        lines = rows[rows.seeds == many].groupby("sentences", sort=True)
        for index, (sentences, line) in enumerate(lines):
            ordered = line.sort_values("subjects")
            axes.plot(
                ordered.subjects, ordered.detectable_per_1000,
                color=COLOURS[index % len(COLOURS)], marker=MARKERS[index % len(MARKERS)],
                label=f"{sentences} sentences",
            )  # fmt: skip
        leads = rows[rows.seeds == many]
        axes.axhline(
            leads.lead_per_1000.mean(),
            color=style.GREY,
            lw=0.8,
            ls=(0, (4, 2)),
            label="simulated lead",
        )
        axes.set_title(f"{many} training seed{'s' if many > 1 else ''}", loc="left")
        axes.set_xlabel("subjects")
        axes.set_xscale("log")
        axes.set_xticks(sorted(set(rows.subjects)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
        axes.minorticks_off()
        axes.set_ylim(0, 1.08 * max(rows.detectable_per_1000.max(), rows.lead_per_1000.max()))
        axes.grid(axis="y")
    panels[0].set_ylabel("smallest detectable lead\n(nats per 1,000 observations)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), 4))
    responses, repeats = int(rows.responses.max()), int(rows.repeats.max())
    text = (
        f"smallest lead in ΔLogLik of one LM over another that 80 % of studies would detect, with "
        f"{responses} response{'s' if responses > 1 else ''} with these numbers of subjects and sentences "
        f"each; mean of {repeats} simulated studies per point"
    )
    style.notes(figure, [text])
    return figure
