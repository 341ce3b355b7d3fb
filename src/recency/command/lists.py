"""Listings: `recency biases | extensions | models | corpora | datasets | targets | timings`.

None of these imports PyTorch.
"""

import contextlib
import importlib.util
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from recency import config as configuration
from recency import plugins
from recency.errors import InputError

#: Files that identify a checkout.
CHECKOUT = ("config.yaml", "config.schema.yaml", "Snakefile")


def biases() -> list[str]:
    """Return the forms of bias with descriptions and parameters."""
    lines = []
    for form in configuration.forms():
        about = plugins.docstring(configuration.BIASES, form).partition("\n")[0]
        lines.append(f"{form}: {about}")
        parameters = configuration.bias_parameters(form)
        described = [
            (_with_default(name, parameter), parameter["description"])
            for name, parameter in parameters.items()
        ]
        lines += [f"    {line}" for line in _align_columns(described)]
    return [*lines, "each: layers=all, last or a list of numbers from 0"]


def extensions() -> list[str]:
    """Return the plugins of each kind with descriptions, and their packages if external.

    Plugins that cannot be read have the reason in place of a description.
    """
    from recency import endpoints
    from recency.evaluations import registry
    from recency.scoring import measures
    from recency.workflow import lint

    endpoints.ENDPOINTS, registry.evaluations(), measures.declared()  # these set some aside
    lines = []
    for group, kind in plugins.KINDS.items():
        others = plugins.provided(kind.package)
        rows = []
        listed = {name: (name, _about(kind.package, name)) for name in plugins.names(kind.package)}
        if kind.package == lint.PACKAGE:  # a module has several
            listed = {name: (rule.module, rule.warns) for name, rule in lint.rules().items()}
        for name, (module, text) in listed.items():
            origin = f" ({others[module]})" if module in others else ""
            rows.append((f"    {name}", text + origin))
        rows += [(f"    {n}", problem) for n, problem in plugins.unreadable(kind.package).items()]
        lines += [f"{group}: {kind.package}", *_align_columns(rows)]
    return lines


def _about(package: str, name: str) -> str:
    """Return the first line of a plugin's docstring; for an evaluation, of its spec.py."""
    is_folder = plugins.file(package, name).name == "__init__.py"
    return plugins.docstring(package, f"{name}.spec" if is_folder else name).partition("\n")[0]


def models(configfile: Sequence[str] = ()) -> list[str]:
    """Return the language models of a study with training text and bias."""
    config = _study(configfile)
    return _align_columns((name, _model(config, name)) for name in config.get("lms", {}))


def corpora(
    configfile: Sequence[str] = (),
    tables: Sequence[str] = (),
    language: str = "",
    task: str = "",
    markdown: bool = False,
) -> list[str]:
    """Return the corpora of a study by kind: reading times, text, and data of evaluations.

    Parameters
    ----------
    configfile : sequence of str
        Overlays on config.yaml.
    tables : sequence of str
        Tables of the config; default all of these.
    language, task : str
        Select corpora in this language (ISO 639 code or name), and reading-time corpora with this
        task.
    markdown : bool
        Return the reading-time corpora as a page of the documentation.

    Raises
    ------
    InputError
        If no corpus has the language or task.
    """
    from recency.command import corpus_lists
    from recency.evaluations import registry

    config = _study(configfile)
    kinds = {"datasets": "responses", "corpora": "text"}
    kinds |= {data.table: data.table.replace("_", " ") for data in registry.data().values()}
    records = [
        corpus_lists.record(config, table, kinds[table], name)
        for table in tables or kinds
        for name in config.get(table, {})
    ]
    records = corpus_lists.selected(records, language, task)
    if markdown:
        return corpus_lists.page(records)
    return _align_columns(corpus_lists.row(record) for record in records)


def datasets(
    configfile: Sequence[str] = (), language: str = "", task: str = "", markdown: bool = False
) -> list[str]:
    """Return the reading-time corpora of a study; see `corpora`."""
    return corpora(configfile, ["datasets"], language, task, markdown)


def targets(
    configfile: Sequence[str] = (),
    config: Sequence[str] = (),
    cores: int | None = None,
    everything: bool = False,
) -> list[str]:
    """Return the targets of `./run` and the remaining cost of each on a number of cores.

    Costs are omitted if Snakemake is not installed.
    """
    from recency.workflow.plan import costs

    if importlib.util.find_spec("snakemake") is None:
        return costs.plain_lines(_study(configfile))
    root, named = _checkout(configfile)
    cores = cores or os.cpu_count() or 1
    return costs.lines(root, named, config, cores, everything)


def timings(configfile: Sequence[str] = (), config: Sequence[str] = ()) -> list[str]:
    """Return the timings of a study by kind of job."""
    from recency.workflow.plan import costs

    root, named = _checkout(configfile)
    return costs.of_study(root, named, config)


def results(configfile: Sequence[str] = (), config: Sequence[str] = ()) -> list[str]:
    """Return the folder of results of a study; of all studies of the checkout if none is named."""
    from recency.workflow.plan import costs

    root, named = _checkout(configfile)
    if not configfile and not config:
        return [os.path.relpath(root / "results")]
    with costs.opened(root, named, config) as workflow:
        return [os.path.relpath(root / workflow.pathvars.apply("<results>"))]


def _with_default(name: str, schema: Mapping) -> str:
    """Format a parameter with its default, in the syntax of --bias."""
    return f"{name}={_format_value(schema['default'])}" if "default" in schema else f"{name}=…"


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _model(config: dict, name: str) -> str:
    """Describe an LM in one line."""
    settings = configuration.language_model(config, name)
    if "languages" in settings:
        return ", ".join(f"{code}: {lm}" for code, lm in settings["languages"].items())
    parameters = dict(settings["bias"])
    form = parameters.pop("form")
    given = ", ".join(f"{key}={_format_value(value)}" for key, value in parameters.items())
    biased = f"{form} ({given})" if given else form
    if "surprisals" in settings:
        return "surprisals from a table"
    if "interpolate" in settings:
        cache = settings.get("cache")
        cache_parts = [] if cache is None else [f"a cache of {cache.get('words', 500)} words"]
        return f"mix of {', '.join([*settings['interpolate'], *cache_parts])}"
    if "ngram" in settings:
        entry = settings["ngram"]
        if "cdlm" in entry:
            return f"CDLM of span {entry['cdlm']['span']} over {entry['cdlm']['of']}"
        of = (
            f"{entry.get('order', 5)}-grams of {entry['corpus']}"
            if "corpus" in entry
            else "n-grams"
        )
        return ", ".join(filter(None, [of, entry.get("text_rule")]))
    if settings["applied"] == "inference":
        on = config["lms"][name].get("weights", settings.get("checkpoint"))
        return f"{on} with {biased} at inference only"
    if "checkpoint" in settings:
        return f"checkpoint {settings['checkpoint']}"
    if "checkpoint_of" in config["lms"][name]:
        return f"{settings['checkpoint_of']} after step {settings['step']} of its training"
    trained = f"{settings['architecture']} trained on {settings['corpus']}"
    if "memory" in settings:
        trained = f"{settings['memory']['form']} in {trained}"
    return trained if form == "none" else f"{trained} with {biased}"


def _study(overlays: Sequence[str]) -> dict:
    """Return the checked config of the checkout that contains the working directory, with overlays."""
    from recency.workflow.config import checks, loading

    root, named = _checkout(overlays)
    config = loading.load(root, *named)
    with contextlib.chdir(root):  # the user's paths are relative to the checkout
        checks.check(config, root / "config.schema.yaml")
    return config


def _checkout(overlays: Sequence[str]) -> tuple[Path, list[str | Path]]:
    """Return the checkout that contains the working directory, and overlays relative to it."""
    paths = [Path(name).resolve() for name in overlays]
    for name, path in zip(overlays, paths):
        if not path.is_file():
            raise InputError(f"--configfile {name}: file not found")
    here = Path.cwd()
    for root in (here, *here.parents):
        if all((root / name).is_file() for name in CHECKOUT):
            named = [  # as given, or relative to the root
                path if os.path.isabs(name) else os.path.relpath(path, root)
                for name, path in zip(overlays, paths)
            ]
            return root, named
    raise InputError("listings of a study need a checkout of the workflow: change into its folder")


def _align_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows with all but the last column padded."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths)), row[-1]]).rstrip()
        for row in rows
    ]
