"""List the phrases that the project's prose avoids, with the standard term for each.

    python setup/language.py [--code] [paths...]

Without paths: README, CONTRIBUTING, CHANGELOG, docs, and the docstrings of functions that `recency`
exports. With `--code`, every docstring, comment and string of src/ too. Status 1 if a phrase is
left.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Phrase (a regular expression) → standard term.
PHRASES = {
    r"told apart|told from|telling apart|tells? apart|can be told": "distinguishable, differs from",
    r"drawn? anew|draws [^.]{0,30}\banew|\banew\b": "resampled, again",
    r"further (seeds|readers|subjects|words)": "new seeds, unseen readers",
    r"holds? the truth": "cover the true value",
    r"leaves? (zero|0) out": "excludes zero",
    r"\bover a base\b|\bover the base\b": "relative to a baseline",
    r"looked over|looks? over": "checked",
    r"\b(put|puts|putting) (a|the|that|this|its|one) bias": "apply a bias",
    r"at inference alone": "inference-only",
    r"made (data|corpus|corpora|words|texts?|times)\b": "synthetic data",
    r"placed (files?|by the user)": "supplied by the user",
    r"kept (surprisals?|networks?)": "stored, archived",
    r"\bbeside\b": "next to, compared with",
    r"\bbehind (a|the|each|every|its|that|this) (word|token|position|item|target)": "after",
    r"\bstands? in\b(?! for)": "is in",
    r"\bone's own\b": "your own",
    r"what is of interest|of interest is": "effects of interest",
    r"\balike\b": "the same, similar",
    r"the wider of the two counts": "the reported interval is the wider of the two",
    r"is taken for 0": "is treated as 0",
    r"\bthe house\b|\brooms\b": "packages, modules, layers",
    r"(?:^|[.:] |\n)What (a|an|the|is|of|one|each|every|it|they|has|in|[a-z]+s)\b(?![^.\n]*\?)": (
        "a noun that names it"
    ),
    r"\b(says|say|told|shows?|tells?) what (an?|the|of|is|it|one)\b": "a noun that names it",
    r"\bthose of (which|whose|what)\b|\bthat which\b": "a noun that names it",
    r"\bwhat of\b": "which, the part of",
}
PATTERN = {re.compile(phrase, re.IGNORECASE if "What" not in phrase else 0): standard
           for phrase, standard in PHRASES.items()}  # fmt: skip


def prose(path):
    """Yield (line number, text) of a page's prose: without fenced code, code spans and links."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def comments_and_strings(path):
    """Yield (line number, text) of a module's comments and of its strings with a space."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for number, line in enumerate(text.splitlines(), 1):
            comment = re.search(r"(?:^|\s)(?:#|//)\s?(.*)", line)
            if comment:
                yield number, comment[1]
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT" or kind in ("STRING", "FSTRING_MIDDLE") and " " in token.string:
            for step, line in enumerate(token.string.splitlines()):
                yield token.start[0] + step, re.sub(r"`[^`]*`", "", line)


def public_docstrings():
    """Yield (function, docstring line) of what `recency` exports."""
    sys.path[:0] = [str(ROOT / "src"), *map(str, ROOT.glob("packages/*/src"))]
    import recency

    for name in recency.__all__:
        for line in (getattr(recency, name).__doc__ or "").splitlines():
            yield f"recency.{name}", re.sub(r"`[^`]*`", "", line)


def findings(lines, where):
    """Return `where:line: phrase → standard` for each phrase to avoid."""
    return [
        f"{where}:{number}: {match[0].strip()!r} → {standard}"
        for number, text in lines
        for pattern, standard in PATTERN.items()
        for match in pattern.finditer(text)
    ]


def main():
    """Print the phrases left and set the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--code", action="store_true", help="docstrings, comments, strings of src/ and packages/"
    )
    parser.add_argument("paths", nargs="*", help="files or folders (default: all)")
    options = parser.parse_args()
    tracked = subprocess.run(
        ["git", "ls-files", *options.paths], cwd=ROOT, text=True, capture_output=True, check=True
    ).stdout.split("\n")
    left = []
    for name in filter(None, tracked):
        path = ROOT / name
        if path.suffix == ".md" and name != "docs/licences.md" and not name.startswith("data/"):
            left += findings(prose(path), name)
        elif (
            options.code
            and path.suffix in (".py", ".R", ".smk", ".yaml", ".js")
            and re.match(
                r"src/|packages/\w+/src/|rules/|workflow/|setup/|config|profiles/|envs/|Snakefile",
                name,
            )
            and name != "setup/language.py"
        ):
            left += findings(comments_and_strings(path), name)
    if not options.paths:
        left += [
            f"{name}: {match[0].strip()!r} → {standard}"
            for name, text in public_docstrings()
            for pattern, standard in PATTERN.items()
            for match in pattern.finditer(text)
        ]
    for line in left:
        print(line)
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
