"""Read every dataset of the config whose files are in a folder of stand-ins or a mirror, and say so.

Run as a program, so that its memory is its own: `read_everything.py <folder> …` prints one JSON
object: `read`, dataset → [words, responses of all measures]; `characters` of its texts, words separated by
spaces; and `memory`, the most held, in MB.
"""

import json
import resource
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]


def peak_memory() -> float:
    """Return the most memory that was held, MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts what the process was forked from, too
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def where(file: dict, folders: list[Path]) -> Path | None:
    """Find one file of a dataset, gzipped or not, as the workflow would in a mirror."""
    names = [file["stand_in"]["path"]] if "stand_in" in file else []
    if "url" in file:
        parts = urlsplit(file["url"])
        names.insert(0, f"{parts.hostname}{parts.path}")
    for folder in folders:
        for name in names:
            for path in (folder / name, folder / f"{name}.gz"):
                if path.is_file():
                    return path
    return None


def main(folders: list[Path]) -> dict:
    """Read words and every measure of what is there; both keep their contracts or this fails."""
    sys.path[:0] = [
        str(ROOT / name) for name in ("src", "packages/crosslmm/src", "packages/readingtimes/src")
    ]
    from readingtimes import parsers
    from readingtimes.contracts import check_responses, check_words
    from recency.reading import declared_columns
    from recency.workflow.config import loading

    found, characters, config = {}, {}, loading.load(ROOT)
    for name, entry in config["datasets"].items():
        parts = {
            part: {role: where(file, folders) for role, file in entry[part].items()}
            for part in ("words", "responses")
        }
        if None in {path for files in parts.values() for path in files.values()}:
            continue
        if "tagger" in entry:  # the files of a dataset that has none
            continue
        parser, options = parsers.parser(entry["parser"]), entry.get("options", {})
        taken = parsers.accepted(parser, parser.words, options)
        words = check_words(parser.words(parts["words"], **taken), name)
        assert set(words) <= declared_columns.of_words(config, entry).keys(), (name, list(words))
        taken = parsers.accepted(parser, parser.responses, options)
        rows = 0
        for measure in (name for name, each in entry["measures"].items() if "of" not in each):
            frame = parser.responses(parts["responses"], words, measure, **taken)
            rows += len(check_responses(frame, words, f"{name} {measure}"))
            known = {"word_id", *declared_columns.of_responses(config, entry, measure)}
            assert set(frame) <= known, (name, measure, list(frame))
        found[name] = [len(words), rows]
        joined = words.groupby("item").word.agg(" ".join)
        characters[name] = int(joined.str.len().sum())
    memory = peak_memory()
    return {"read": found, "characters": characters, "memory": memory}


if __name__ == "__main__":
    print(json.dumps(main([Path(folder) for folder in sys.argv[1:]])))
