# What experiments come to: their figures and tables, and which of them a run covers.


def published(experiment, table):
    """Return the CSV of the paper's own table of `observations` or `delta_loglik`, if there is one."""
    name = config["experiments"][experiment].get("published", {}).get(table)
    return {"published": f"data/published/{name}.csv"} if name else {}


def response_counts(experiment):
    """Return the counts of observations of an experiment's responses."""
    return [
        "<results>/observations/{dataset}.{measure}/counts.csv".format(**r)
        for r in responses(experiment)
    ]


def sloped(experiment):
    """Return the experiment's LMs, described, with the slope of each that has one for all heads."""
    return [lm | {"slope": configuration.slope(LMS[lm["lm"]]["bias"])} for lm in lms_of(experiment)]


def whole(experiment):
    """Say whether an experiment's observations are all fitted, and its LMs compared by AIC."""
    asked = all_responses(experiment)
    return bool(asked) and not any(partitioned(r["dataset"]) for r in asked)


def has_material(experiment, key):
    """Say whether an experiment names something by one of configuration.MATERIALS that is here."""
    name = config["experiments"][experiment].get(key)
    return name is not None and (key, name) not in NO_MATERIAL


def network_outputs(experiment):
    """Return an experiment's figures and tables of its networks, as far as their files are here."""
    where = f"<results>/experiments/{experiment}"
    settings = config["experiments"][experiment]
    outputs = []
    if has_material(experiment, "dependencies"):
        outputs += [f"{where}/figure_attention_heads.svg", f"{where}/table_dependencies.html"]
    if settings.get("attention") and settings["attention"] not in NOT_RUN:
        outputs.append(f"{where}/figure_attention_by_distance.svg")
    if "attention_maps" in settings:
        outputs += [
            f"{where}/figure_attention_maps.svg",
            *attention_map_files(settings["lms"], experiment),
        ]
    if has_material(experiment, "probe"):
        outputs += [f"{where}/figure_probe.svg", f"{where}/table_probe.html"]
    if has_material(experiment, "minimal_pairs"):
        outputs += [
            f"{where}/figure_minimal_pairs.svg",
            f"{where}/figure_minimal_pairs_by_phenomenon.svg",
            f"{where}/table_minimal_pairs.html",
        ]
    return outputs


def least_squares_outputs(experiment):
    """Return the figures and tables of an experiment whose LMs are compared by AIC."""
    where = f"<results>/experiments/{experiment}"
    outputs = [f"{where}/figure_delta_aic.svg", f"{where}/table_delta_aic.html"]
    search = config["experiments"][experiment].get("search")
    if search and not any(
        r["dataset"] in NOT_RUN for r in configuration.responses(config, search, "searches")
    ):
        outputs.append(f"<results>/searches/{search}/figure_bias_search.svg")
    return outputs


def experiment_outputs(experiment):
    """Return what the reader of an experiment looks at."""
    where = f"<results>/experiments/{experiment}"
    if not config["experiments"][experiment].get("responses"):
        return network_outputs(experiment)
    if "sensitivity" in config["experiments"][experiment]:
        return [f"{where}/figure_sensitivity.svg", f"{where}/table_sensitivity.html"]
    if whole(experiment):
        return network_outputs(experiment) + least_squares_outputs(experiment)
    outputs = network_outputs(experiment) + [
        f"{where}/figure_delta_loglik.svg",
        f"{where}/figure_perplexity.svg",
        f"{where}/table_delta_loglik.html",
        f"{where}/table_observations.html",
    ]
    if sum(lm["slope"] is not None for lm in sloped(experiment)) > 2:
        outputs.append(f"{where}/figure_slopes.svg")
    if config["experiments"][experiment].get("compare"):
        outputs.append(f"{where}/table_significance.html")
    if "seeds" in config["experiments"][experiment]:
        outputs.append(f"{where}/table_seeds.html")
    if config["experiments"][experiment].get("recovery"):
        outputs += [
            f"{where}/recovery.{r['dataset']}.{r['measure']}.svg" for r in responses(experiment)
        ]
    return outputs


def check_pages(experiment):
    """Return the check pages of an experiment's datasets, for those that are here."""
    return sorted({f"<results>/datasets/{r['dataset']}/check.html" for r in responses(experiment)})


def target_files(target):
    """Return the files of a numbered table or figure."""
    where = f"<results>/experiments/{TARGETS[target]['experiment']}"
    ends = {"figure": "svg", "table": "html"}
    return [f"{where}/{stem}.{ends[stem.split('_')[0]]}" for stem in TARGETS[target]["of"]]


def covered(target):
    """Say whether a numbered table or figure needs no LM and no reading times beyond those of `run`."""

    def used(names):
        settings = [config["experiments"][name] for name in names]
        lms = {lm for each in settings for lm in each["lms"]}
        times = {(r["dataset"], r["measure"]) for name in names for r in all_responses(name)}
        keys = configuration.MATERIALS
        return lms | times | {(key, each[key]) for each in settings for key in keys if key in each}

    return used([TARGETS[target]["experiment"]]) <= used(config["run"]) - NO_MATERIAL.keys()
