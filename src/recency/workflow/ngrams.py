"""CDLMs of a study, as their rule asks for them."""


def cdlms(study) -> list[str]:
    """Return the LMs that are a CDLM."""
    return [name for name, lm in study.config["lms"].items() if "cdlm" in lm.get("ngram", {})]


def cdlm_settings(study, lm: str) -> dict:
    """Return how a CDLM is trained, without the files."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    return {key: entry[key] for key in entry if key not in ("of", "grown_from", "validation")}


def cdlm_files(study, lm: str) -> dict[str, str | list[str]]:
    """Return what a CDLM is trained on: its n-gram model's text, a validation text, and what it grows from."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    files = {
        "text": study.ngram_text(entry["of"]),
        "validation": f"<results>/corpora/{entry['validation']}/text.parquet",
        "arpa": study.ngram_file(entry["of"]),
    }
    smaller = entry.get("grown_from")
    return files | ({"grown_from": [study.ngram_file(smaller)]} if smaller else {})
