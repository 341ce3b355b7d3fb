"""Import what runs and tests import, so that its byte code is written once and no other.

pip is told to compile nothing, since of 100 packages a run imports a third of the modules. Python
writes byte code when it first imports a module; where the environment forbids it
(PYTHONDONTWRITEBYTECODE), `setup.sh` runs this once without that variable.
"""

import importlib
import pkgutil
import sys

sys.path[:0] = ["src", "packages/crosslmm/src", "packages/readingtimes/src"]
import crosslmm
import readingtimes
import recency

LATE = (  # imported within functions, or by the tools
    "hypothesis",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "openpyxl",
    "optuna",
    "pandas",
    "pyarrow.parquet",
    "pytest",
    "rpy2.robjects",
    "scipy.stats",
    "snakefmt.snakefmt",
    "snakemake.cli",
    "snakemake.dag",
    "snakemake.executors.local",
    "snakemake.script",
    "statsmodels.api",
    "tokenizers",
    "torch",
    "transformers",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.gpt_neox.modeling_gpt_neox",
    "transformers.models.roberta.modeling_roberta",
    "xdist.plugin",
)

own = [
    module.name
    for package in (crosslmm, readingtimes, recency)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
for name in [*LATE, *own]:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except ImportError as error:  # reported by the run that needs it
            print(f"{name}: {error}", file=sys.stderr)
