"""ΔLogLik of LMs trained from several seeds, and the contribution of seeds to its uncertainty."""

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_seeds", "ΔLogLik by seed")},
        "reads": ["seeds"],
        "settings": ["lms=lms_but_for_seed", "responses"],
        "when": "seeds",
    }
}

FIGURES = {
    "seeds": "Seeds",
    "delta_loglik": "ΔLogLik",
    "sd_seed": "SD between seeds",
    "se_seeds": "SE of seeds",
    "se_sentences": "SE of sentences",
    "se": "SE",
}


def main(
    *,
    seeds: File,
    out: Files,
    lms: Described,
    responses: Described,
    title: str = "ΔLogLik over seeds",
) -> None:
    """Write the table to `out` (.csv, .html, .tex) from seeds.csv; `lms` are without their seeds."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    names = comparison.response_labels(measured)
    rows = comparison.table(seeds, ["lm", "against", "dataset", "measure", *FIGURES])
    rows["against"] = rows.against.fillna("")
    grid, rules, before = [], [], None
    for row in rows.itertuples(index=False):
        kind = (row.dataset, row.measure, row.against != "")
        if before not in (None, kind):
            rules.append(len(grid))
        before = kind
        name = labels.get(row.lm, row.lm)
        if row.against:
            name += f" \N{MINUS SIGN} {labels.get(row.against, row.against)}"
        sure, ends = row.low > 0 or row.high < 0, (style.interval(row.low, row.high),)
        line = [names[row.dataset, row.measure], name, f"{row.seeds}"]
        line.append(Cell(style.number(row.delta_loglik), ends, bold=bool(sure)))
        grid.append(line + [style.number(getattr(row, key)) for key in list(FIGURES)[2:]])
    header = ["Response", "LM or pair", *FIGURES.values()]
    notes = [
        (
            "ΔLogLik in nats on the exploratory partition, the mean over seeds, with its 95 % interval "
            "beneath; bold where the interval excludes zero"
        ),
        (
            "95 %: a normal distribution for the sentences plus Student's t with S − 1 degrees of "
            "freedom for the S seeds, as for every interval over seeds, hence wider than 1.96 SE"
        ),
        (
            "SD between seeds: of the sum over sentences, for one seed. Standard errors are of the mean "
            "over seeds, by source; SE includes both and the residual's"
        ),
        "for pairs of LMs: the difference, over the seeds that both have",
    ]
    tables.write(out, Table(title, header, grid, notes, tuple(rules), left=2), rows)
