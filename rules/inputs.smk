# Input functions of the rules, by the rule file that they serve.


# The machine


def require_machine():
    """Refuse a run whose planned jobs need more than this machine has, with what else it can do."""
    if not config.get("check_machine", True) or not workflow.local_exec or workflow.touch:
        return
    jobs = list(workflow.dag.needrun_jobs())

    def planned(rule, wildcard):
        return [job.wildcards[wildcard] for job in jobs if job.rule.name == rule]

    study = workflow.pathvars.apply("<results>")
    kept = [workflow.pathvars.apply(path) for path in FILES]
    needed = machine.needs(
        config,
        trained={lm: LMS[lm]["recipe"] for lm in LMS if lm in planned("train", "lm")},
        unigrams=planned("estimate_ngrams", "unigram"),
        downloads=[FILES[f"<resources>/downloads/{file}"] for file in planned("download", "file")],
        present=machine.used([study, *kept]),
    )
    try:
        machine.check(config, needed, machine.here(study), workflow.basedir)
    except InputError as error:
        raise WorkflowError(str(error)) from None


# Text and tokens


def corpus_files(wildcards):
    """Return the originals that a corpus is made from."""
    corpus = config["corpora"][wildcards.corpus]
    if "sources" in corpus:
        return [downloaded(row["url"]) for row in sources(corpus)]
    files = sorted(path for pattern in corpus["files"] for path in glob.glob(pattern))
    if not files:
        raise WorkflowError(
            f"corpora → {wildcards.corpus} → files: nothing matches {corpus['files']}"
        )
    return files


def tokenizer_file(tokenizer):
    """Return the tokenizer.json of a tokenizer that was trained here or is given."""
    if "file" in config["tokenizers"][tokenizer]:
        return downloaded(config["tokenizers"][tokenizer]["file"]["url"])
    return f"<results>/tokenizers/{tokenizer}/tokenizer.json"


def pretokenized_file(corpus):
    """Return the token file of a corpus that is published as tokens."""
    file = config["corpora"][corpus]["pretokenized"]
    return downloaded(file["url"], file.get("byte_range"))


def token_stream(corpus, tokenizer):
    """Return the token file and its description, tokenised here or published as tokens."""
    if "pretokenized" in config["corpora"][corpus]:
        return (
            pretokenized_file(corpus),
            f"<results>/corpora/{corpus}/pretokenized/{tokenizer}.json",
        )
    tokens = f"<results>/corpora/{corpus}/tokens/{tokenizer}"
    return f"{tokens}.bin", f"{tokens}.json"


# Simulated readers


def simulated(dataset):
    """Return how a dataset is simulated."""
    return config["datasets"][dataset]["simulate"]


def recovered(wildcards):
    """Return the LMs whose effects are set beside the truth: the experiment's and the readers' own."""
    reader = simulated(wildcards.dataset)["reader"]
    others = [lm for lm in lms_of(wildcards.experiment) if lm["lm"] != reader]
    return [*others, described(reader)]


# Reading-time corpora


def partitioned(dataset):
    """Say whether a dataset's observations are parted in three, or all fitted."""
    return config["datasets"][dataset].get("partitioned", True)


def filter_steps(wildcards):
    """Return the filters of a measure, in order, as name and query."""
    dataset = config["datasets"][wildcards.dataset]
    steps = dataset["measures"][wildcards.measure]["filters"]
    return [{"name": step, "keep": dataset["filters"][step]} for step in steps]


# Language models


def inference_bias(lm):
    """Return the bias that is put on an LM when it is used, if it was not trained with it."""
    return LMS[lm]["bias"] if LMS[lm]["applied"] == "inference" else None


def uses_gpu(lm):
    """Say how many GPUs an LM's training asks for."""
    cuda = config["recipes"][LMS[lm]["recipe"]]["device"] == "cuda"
    return config.get("gpus", 1) if cuda else 0


def trained(wildcards):
    """Return the weights behind an LM: its own, its base's, or none for a checkpoint from elsewhere."""
    return weights_of(wildcards.lm)


def weights_of(name):
    """Return the weights behind the LM of this name, as `trained` does."""
    lm = LMS[name]
    if "checkpoint" in lm:
        return []
    folder = f"<results>/lms/{lm.get('base') or lm.get('weights', name)}"
    return [f"{folder}/config.json", f"{folder}/model.safetensors", f"{folder}/tokenizer.json"]


# Attention, structural probes and minimal pairs


def attention_files(experiment, ending):
    """Return what is known of the attention of each of an experiment's LMs, by distance."""
    settings = config["experiments"][experiment]
    return [f"<results>/attention/{lm}/{settings['attention']}.{ending}" for lm in settings["lms"]]


def attention_map_files(lms, experiment):
    """Return what is known of LMs' attention over the experiment's sentence."""
    sentence = config["experiments"][experiment]["attention_maps"]["sentence"]
    return [f"<results>/attention_maps/{lm}/{sentence}.parquet" for lm in lms]


def probe_files(experiment):
    """Return the structural probes of an experiment's LMs."""
    settings = config["experiments"][experiment]
    return [f"<results>/probe/{lm}/{settings['probe']}.csv" for lm in settings["lms"]]


def pairs_files(pairs):
    """Return the files that a table of minimal pairs is made from."""
    entry = config["minimal_pairs"][pairs]
    if "sources" in entry:
        return [downloaded(row["url"]) for row in sources(entry)]
    return [material_file("minimal_pairs", pairs, "table")]


def pairs_of(experiment, lm=None):
    """Return where an experiment's minimal pairs are, or an LM's surprisal of them."""
    pairs = config["experiments"][experiment]["minimal_pairs"]
    return f"<results>/minimal_pairs/{f'{lm}/' if lm else ''}{pairs}.parquet"


def training_words(experiment):
    """Return how the papers tell the amount of text: the end of its name, babylm-10M's 10M."""
    return LMS[config["experiments"][experiment]["baseline"]]["corpus"].rpartition("-")[2]


# Regressions and comparisons


def base_of(response, lm):
    """Return which fit is an LM's base: its own, or the one that all LMs share."""
    common = config["designs"][response["design"]]["base"] == "all"
    return fit_file(response, "none" if common else lm, "base")


def fit_file(response, lm, model):
    """Return where a fit is kept."""
    where = "<results>/regression/{design}/{dataset}.{measure}".format(**response)
    return f"{where}/{lm}.{model}.json"


def observations_of(fit):
    """Return where the exploratory observations' part of a fit's log-likelihood is kept."""
    return fit.removesuffix(".json") + ".parquet"


def but_for_seed(lm):
    """Return the first LM in the config that is this one but for its seed and its name."""

    def settings(name):
        entry = {k: v for k, v in LMS[name].items() if k not in ("label", "seed", "weights")}
        base = entry.pop("base", None)
        return entry, base and settings(base)

    return next(name for name in LMS if settings(name) == settings(lm))


def predictor_files(dataset, lm):
    """Return the tables that a regression's predictors come from."""
    files = {
        "words": f"<results>/datasets/{dataset}/words.parquet",
        "unigram": f"<results>/surprisal/{SCALE['unigram']}/{dataset}.parquet",
    }
    if lm != "none":
        files["surprisal"] = f"<results>/surprisal/{lm}/{dataset}.parquet"
    return files


def names_unigram(design):
    """Say whether a design's formula has the unigram surprisal of a word or of the one before."""
    return re.search(r"\b(previous_)?unigram\b", config["designs"][design]["formula"]) is not None


def regression_files(wildcards):
    """Return a regression's tables of predictors, and the exploratory partition if there is one.

    A unigram model is asked for by the designs that name it alone: some corpora have a frequency
    of their own.
    """
    files = predictor_files(wildcards.dataset, wildcards.lm)
    if not names_unigram(wildcards.design):
        del files["unigram"]
    if partitioned(wildcards.dataset):
        where = f"<results>/observations/{wildcards.dataset}.{wildcards.measure}"
        files["exploratory"] = f"{where}/exploratory.parquet"
    return files


def frequency_files(pairs):
    """Return the unigram surprisal of each response (of response, LM), where a design names it."""
    asked = [r for r, _ in pairs]
    if not any(names_unigram(r["design"]) for r in asked):
        return {}
    return {"unigram": [predictor_files(r["dataset"], "none")["unigram"] for r in asked]}


def fitted_observations(response):
    """Return the partition of a response that models are fitted to."""
    return "<results>/observations/{dataset}.{measure}/fit.parquet".format(**response)


def search_responses(search):
    """Return the responses of a search; a WorkflowError where one is not here."""
    found = configuration.responses(config, search, "searches")
    for response in found:
        if response["dataset"] in NOT_RUN:
            raise WorkflowError(f"searches → {search}: {NOT_RUN[response['dataset']]}")
    return found


def cells(experiment):
    """Return every response × LM of an experiment."""
    return [(r, lm) for r in responses(experiment) for lm in lms_of(experiment)]


def comparisons(experiment):
    """Return every comparison × response of an experiment: (response, LM a, LM b)."""
    pairs = config["experiments"][experiment].get("compare", [])
    return [(r, a, b) for a, b in pairs for r in responses(experiment)]


# Checks of reading-time corpora


def check_unigram(wildcards):
    """Return the dataset's unigram surprisal, if it is there or will be made for the regressions anyway.

    Asked for a check alone, nobody wants to wait for a unigram model.
    """
    path = f"<results>/surprisal/{SCALE['unigram']}/{wildcards.dataset}.parquet"
    targets = workflow.dag_settings.targets
    alone = targets and all(str(target).startswith("check_") for target in targets)
    named = any(
        names_unigram(r["design"])
        for name in config["run"]
        for r in configuration.responses(config, name)
        if r["dataset"] == wildcards.dataset
    )
    made = workflow.is_main_process and named and not alone
    return [path] if made or os.path.exists(workflow.pathvars.apply(path)) else []


def origins_of_files(dataset):
    """Return where each file of a dataset is from: role, from, checksum."""
    files = []
    for part in ("words", "responses"):
        for role, file in config["datasets"][dataset][part].items():
            source = (
                file.get("url") or file.get("placed") or file.get("local") or "made by the workflow"
            )
            checksum = file.get("sha256") or file.get("git_blob") or ""
            files.append({"role": f"{part}: {role}", "from": source, "checksum": checksum})
            if "stand_in" in file:
                known = {"role": f"{part}: {role}, stand-in", "from": file["stand_in"]["path"]}
                files.append(known | {"checksum": file["stand_in"].get("sha256", "")})
    return files


def origin_of(dataset):
    """Return what the config says of a dataset's origin."""
    entry = config["datasets"][dataset]
    known = {"cite": "Cite", "licence": "Licence", "parser": "Parser"}
    said = {title: str(entry[key]) for key, title in known.items() if key in entry}
    return {"Licence": "not stated in the config"} | said
