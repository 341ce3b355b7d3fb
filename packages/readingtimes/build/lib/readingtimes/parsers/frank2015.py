"""ERPs of sentences of UCL by reader and word (Frank, Otten, Galli & Vigliocco, 2015).

words and responses: stimuli_erp.mat of the article's supplement. Its README: sentences{s}, the words
of sentence s; ERP{s}(w,p,:), the amplitudes of word w of participant p, in microvolts, of ELAN, LAN,
N400, EPNP, P600 and PNP, each a mean over its electrodes and time window; ERPbase{s}(w,p,:), the mean
potential over the 100 ms before the word; artefact{s}(w,p) and reject{s}(w,p), 1 where the trial is
an artefact, or was removed from the analysis for any reason. Trials that were not recorded are NaN.

Responses have `amplitude_uv`, `baseline_uv`, `artefact` and `reject`.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import single_sentences
from readingtimes.errors import InputError
from readingtimes.joins.index import spelling
from readingtimes.strict_tables import only, warn

AMPLITUDES = ("ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
MEASURES = ("ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
COLUMNS = {
    "responses": {
        "baseline_uv": ("number", "mean potential of the 100 ms before the word, microvolts"),
        "artefact": ("flag", "whether the trial is an artefact"),
        "reject": ("flag", "whether the authors removed the trial from their analysis"),
    },
}
_ARRAYS = ("sentences", "ERP", "ERPbase", "artefact", "reject")


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the sentences, an item each."""
    return _words(_arrays(only(files, "words of frank2015")))


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read the amplitudes of a component in microvolts; trials without one are dropped."""
    path = only(files, "responses of frank2015")
    arrays = _arrays(path)
    sentences = _words(arrays)
    if sentences.word.map(spelling).tolist() != words.word.map(spelling).tolist():
        raise InputError(f"{path}: its words are not those that the words were read from")
    number, parts = AMPLITUDES.index(measure), []
    for at, (_, ids) in enumerate(words.groupby("sentence", sort=False).word_id):
        amplitude = arrays["ERP"][at][:, :, number]
        size, readers = amplitude.shape
        part = pd.DataFrame({"subject": np.repeat(np.arange(1, readers + 1), size)})
        part["word_id"] = np.tile(ids.to_numpy(dtype="int32"), readers)
        part["amplitude_uv"] = amplitude.T.ravel()
        part["baseline_uv"] = arrays["ERPbase"][at][:, :, number].T.ravel()
        for name in ("artefact", "reject"):
            part[name] = arrays[name][at].T.ravel() == 1
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    width = len(str(frame.subject.max()))
    frame["subject"] = frame.subject.map(lambda reader: f"{reader:0{width}d}").astype("str")
    gone = frame.amplitude_uv.isna()
    if gone.any():
        warn(path, f"{gone.sum():,} of {len(frame):,} trials dropped, without an amplitude")
    kept = frame[~gone].sort_values(["subject", "word_id"], kind="stable").reset_index(drop=True)
    kept.attrs["missing"] = int(gone.sum())
    return kept


def _arrays(path: Path) -> dict[str, list[np.ndarray]]:
    """Read the file: name → an array of each sentence; InputError unless their shapes agree."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        mat = loadmat(path, variable_names=list(_ARRAYS))
    except (OSError, ValueError, NotImplementedError, MatReadError) as error:
        raise InputError(
            f"{path} cannot be read as a MATLAB file ({error}); it is to be stimuli_erp.mat"
        ) from error
    if lacking := [name for name in _ARRAYS if name not in mat]:
        raise InputError(f"{path} has no variable {lacking[0]}; it is to be stimuli_erp.mat")
    arrays = {name: list(mat[name].ravel()) for name in _ARRAYS}
    readers = None
    for number, sentence in enumerate(arrays["sentences"]):
        readers = readers or arrays["ERP"][number].shape[1]
        trials = (sentence.size, readers)
        shapes = {"ERP": (*trials, len(AMPLITUDES)), "ERPbase": (*trials, len(AMPLITUDES))}
        shapes |= {"artefact": trials, "reject": trials}
        for name, shape in shapes.items():
            if arrays[name][number].shape != shape:
                raise InputError(
                    f"{path}: {name}{{{number + 1}}} has the shape {arrays[name][number].shape}, and "
                    f"{sentence.size} words of {readers} readers would be {shape}"
                )
    return arrays


def _words(arrays: dict[str, list[np.ndarray]]) -> pd.DataFrame:
    """Build contract 1."""
    texts = [
        " ".join(str(word.item()).strip() for word in cell.ravel()) for cell in arrays["sentences"]
    ]
    return single_sentences(pd.Series(texts, index=range(1, len(texts) + 1)))
