"""Import and use the packages without what Windows lacks: `python tests/public_api.py`.

CI runs this on Windows; elsewhere, imports of POSIX's modules by the project's code fail here.
"""

import builtins
import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path

POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"}
PACKAGES = ("crosslmm", "readingtimes", "recency")
_import = builtins.__import__


def refuse_posix(name, names=None, *arguments, **more):
    """Import a module unless it is POSIX's and asked for by the project's code."""
    asks = str((names or {}).get("__name__", "")).partition(".")[0]
    if name.partition(".")[0] in POSIX and asks in PACKAGES:
        raise ModuleNotFoundError(f"{names['__name__']} imports {name}, which Windows lacks")
    return _import(name, names, *arguments, **more)


def main() -> None:
    """Raise an error if a part of the packages fails."""
    builtins.__import__ = refuse_posix
    modules = [importlib.import_module(name) for name in (*PACKAGES, "recency.command")]
    for package in modules:
        shown = [name for name in dir(package) if not name.startswith("_")]
        for name in shown:
            getattr(package, name)
        if package.__name__ != "recency":
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not module.name.endswith("__main__") and module.name not in OPTIONAL:
                    importlib.import_module(module.name)
    use()


#: Modules of extras.
OPTIONAL = ("crosslmm.lme4",)


def use() -> None:
    """Score a text, fit a model, apply a bias, and run commands."""
    import numpy as np
    import pandas as pd

    import readingtimes
    import recency
    from recency.command.main import main as command

    text = "The old man went down to the river, where she gave him the letter."
    bias = recency.attention.bias("linear", slopes=1)
    for model in (recency.load("small-english"), recency.load("small-english", bias=bias)):
        words = recency.surprisal([text], model)
        assert words["surprisal_bits"].gt(0).all()
    random = np.random.default_rng(1)
    times = pd.DataFrame({"reader": np.repeat([f"r{n}" for n in range(12)], 14)})
    times["surprisal"] = np.tile(words["surprisal_bits"], 12)
    times["rt"] = 300 + 4 * times["surprisal"] + random.normal(0, 30, len(times))
    assert recency.lmer("rt ~ surprisal + (1 | reader)", times).fixed["estimate"]["surprisal"] > 0
    assert "provo" in readingtimes.corpora() and readingtimes.definition("provo")["measures"]
    with tempfile.TemporaryDirectory() as folder:
        story, out = Path(folder, "story ü.txt"), Path(folder, "words.csv")
        story.write_text(f"“{text}”", encoding="utf-8")
        given = ["surprisal", str(story), "--model", "small-english", "--out", str(out)]
        assert command(given) == 0 and len(pd.read_csv(out, encoding="utf-8")) == len(words)
        times.to_csv(Path(folder, "times.csv"), index=False)
        formula = "rt ~ surprisal + (1 | reader)"
        assert command(["lmer", str(Path(folder, "times.csv")), formula]) == 0
        assert command(["biases"]) == 0


if __name__ == "__main__":
    main()
    print("The packages work here", file=sys.stderr)
