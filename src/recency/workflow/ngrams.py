"""Inputs and settings of the CDLMs of a study."""


def cdlms(study) -> list[str]:
    """Return the CDLMs among the LMs."""
    return [name for name, lm in study.config["lms"].items() if "cdlm" in lm.get("ngram", {})]


def cdlm_settings(study, lm: str) -> dict:
    """Return the training settings of a CDLM."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    return {key: entry[key] for key in entry if key not in ("of", "grown_from", "validation")}


def cdlm_files(study, lm: str) -> dict[str, str | list[str]]:
    """Return the inputs of a CDLM: training text, validation text, and the CDLM that it extends."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    files = {
        "text": study.ngram_text(entry["of"]),
        "validation": f"<results>/corpora/{entry['validation']}/text.parquet",
        "arpa": study.ngram_file(entry["of"]),
    }
    smaller = entry.get("grown_from")
    return files | ({"grown_from": [study.ngram_file(smaller)]} if smaller else {})


def cdlm_passages(study, lm: str) -> str | list[str]:
    """Return the passages of a CDLM's training text."""
    of = study.lms[lm]["ngram"]["cdlm"]["of"]
    return study.files.passages(study.lms[of]["ngram"]["corpus"])
