"""Rule classify_abusive_words: cross-validated linear SVMs, and the scores of the expanded lexicon.

The thesis used SVMlight with a linear kernel. scikit-learn's SVC has the same objective; C is
SVMlight's default, 1 / mean(x·x).
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import spearmanr, ttest_rel
from sklearn.dummy import DummyClassifier
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.abusive_words import lexicon
from recency.evaluations.abusive_words.lexicon import OWN
from recency.figures.paths import File, write_csv

MAJORITY, HERE, EMBEDDINGS = "MAJORITY", "linguistic, those here", "embeddings"
INT, WN, WK = (
    ("INTfine", "INTbin", "INTperson"),
    ("WNusage", "WNsuper", "WNgloss"),
    ("WKusage", "WKgloss"),
)
ALL = (*INT, "NRC", "VIEW", "PATnoun", "PATadj", *WN, *WK, "FN")
#: Feature sets of Table 6.8, then those of Table 6.7 that use no vectors: name → feature groups.
SETS = {
    "INTfine": INT[:1], "INTbin": INT[1:2], "INTperson": INT[2:], "INTfine+INTbin+INTperson": INT,
    "NRC": ("NRC",), "VIEW": ("VIEW",), "INTbin+NRC+VIEW": ("INTbin", "NRC", "VIEW"),
    "PATnoun": ("PATnoun",), "PATnoun+PATadj": ("PATnoun", "PATadj"), "WNusage": ("WNusage",),
    "FN": ("FN",), "WKusage": ("WKusage",), "WKgloss": ("WKgloss",), "WNsuper": ("WNsuper",),
    "WNgloss": ("WNgloss",), "WNusage+WNsuper+WNgloss": WN, "WKusage+WKgloss": WK,
    "all WN+all WK": (*WN, *WK), "all WN+all WK+FN": (*WN, *WK, "FN"), "linguistic": ALL,
    "WSUP": ("WSUP",), "linguistic+WSUP": (*ALL, "WSUP"),
}  # fmt: skip
COLUMNS = ["features", "lm", "entries", "columns", "precision", "recall", "f1", "f1_of_classes"]
COLUMNS += ["p_previous", "missing", "fold_f1"]


class Blocks:
    """Feature matrices by group: sparse, a row per entry, columns scaled by their largest magnitude."""

    def __init__(self, entries: Sequence[str], features: pd.DataFrame, files: Sequence[File]):
        self.rows = {entry: index for index, entry in enumerate(entries)}
        self.groups: dict[str, sparse.csr_matrix] = {}
        self.has: dict[str, np.ndarray] = {}
        for group, block in features.groupby("group"):
            columns = pd.factorize(block["feature"])[0]
            rows = block["entry"].map(self.rows).to_numpy()
            shape = (len(entries), columns.max() + 1)
            matrix = sparse.csr_matrix((block["value"].to_numpy(float), (rows, columns)), shape)
            largest = abs(matrix).max(axis=0).toarray().ravel()
            self.groups[group] = (matrix @ sparse.diags(1 / np.maximum(largest, 1e-300))).tocsr()
            self.has[group] = matrix.getnnz(axis=1) > 0
        self.lms = []
        for path in files:
            table = pd.read_parquet(path).set_index("entry").loc[list(entries)]
            lm = Path(path).parent.name
            vectors = np.array(table["vector"].to_list())
            unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
            has_own_vector = (table["kind"] == OWN).to_numpy()
            self.lms.append(lm)
            for suffix, matrix in (("", unit * has_own_vector[:, None]), ("+SWordSS", unit)):
                self.groups[f"{EMBEDDINGS}{suffix}:{lm}"] = sparse.csr_matrix(matrix)
                self.has[f"{EMBEDDINGS}{suffix}:{lm}"] = np.abs(matrix).sum(1) > 0

    def sets(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return (feature set, LM or "") → groups, including groups of the available resources."""
        feature_sets = {(name, ""): groups for name, groups in SETS.items()}
        here = tuple(group for group in ALL if group in self.groups)
        if here and here != ALL:
            feature_sets[HERE, ""] = here
        for lm in self.lms:
            for suffix in ("", "+SWordSS"):
                name = EMBEDDINGS + suffix
                feature_sets[name, lm] = (f"{name}:{lm}",)
                if here:
                    feature_sets[f"{HERE}+{name}", lm] = (*here, f"{name}:{lm}")
        return feature_sets

    def matrix(self, groups: Sequence[str], entries: Sequence[str]) -> sparse.csr_matrix:
        """Return the features of these groups (columns) for these entries (rows)."""
        rows = [self.rows[entry] for entry in entries]
        return sparse.hstack([self.groups[group] for group in groups], format="csr")[rows]


def machine(x: sparse.csr_matrix) -> SVC:
    """Return a linear SVM with SVMlight's default C, 1 / mean(x·x)."""
    mean = x.multiply(x).sum(axis=1).mean()
    return SVC(kernel="linear", C=1 / mean if mean else 1.0)


def measured(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return macro-averaged precision and recall, and F1 as in the thesis, in percent.

    `f1` is the harmonic mean of the two averages, which agrees with all rows of Tables 6.7 and 6.8;
    `f1_of_classes` is the mean of the F1 of each class.
    """
    p, r, f, _ = precision_recall_fscore_support(truth, predicted, average="macro", zero_division=0)
    return {"precision": 100 * p, "recall": 100 * r, "f1": 200 * p * r / (p + r) if p + r else 0.0, "f1_of_classes": 100 * f}  # fmt: skip


def cross_validated(
    x: sparse.csr_matrix, truth: np.ndarray, folds: int, seed: int, new=machine
) -> tuple[np.ndarray, list[float]]:
    """Return out-of-fold predictions (n,) in stratified cross-validation, and the F1 of each fold."""
    predicted, scores = np.zeros(len(truth), bool), []
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in parts.split(np.zeros(len(truth)), truth):
        predicted[test] = new(x[train]).fit(x[train], truth[train]).predict(x[test])
        scores.append(measured(truth[test], predicted[test])["f1"])
    return predicted, scores


def evaluate(blocks: Blocks, base: dict[str, bool], folds: int, seed: int) -> pd.DataFrame:
    """Return COLUMNS for every feature set; values are missing where a group is missing."""
    truth = np.array(list(base.values()))
    if folds > min(truth.sum(), (~truth).sum()):
        raise InputError(
            f"abusive_words → folds: {folds} folds, and {min(truth.sum(), (~truth).sum())} entries of a class"
        )
    asked = {(MAJORITY, ""): ()} | blocks.sets()
    rows, previous = [], None
    for (name, lm), groups in asked.items():
        missing = [group for group in groups if group not in blocks.groups]
        row = {"features": name, "lm": lm, "missing": ", ".join(missing)}
        if not missing:
            none = sparse.csr_matrix((len(truth), 1))
            x = blocks.matrix(groups, list(base)) if groups else none
            new = machine if groups else lambda x: DummyClassifier(strategy="most_frequent")
            predicted, scores = cross_validated(x, truth, folds, seed, new)
            in_base = [blocks.rows[entry] for entry in base]
            has = (
                np.any([blocks.has[group][in_base] for group in groups], axis=0).sum()
                if groups
                else 0
            )
            row |= {"entries": int(has), "columns": x.shape[1] if groups else 0}
            row |= measured(truth, predicted)
            row["fold_f1"] = " ".join(f"{score:.4f}" for score in scores)
            if previous is not None and np.ptp(np.subtract(scores, previous)) > 0:
                row["p_previous"] = float(ttest_rel(scores, previous).pvalue)
            previous = scores
            print(f"{name} {lm}: F1 {row['f1']:.1f}", file=sys.stderr)
        rows.append(row)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def expand(
    blocks: Blocks, base: dict[str, bool], expanded: dict[str, float], groups: Sequence[str]
) -> pd.DataFrame:
    """Return entry, score (signed distance from the decision boundary), published score and in_base."""
    x = blocks.matrix(groups, list(base))
    fitted = machine(x).fit(x, np.array(list(base.values())))
    table = pd.DataFrame({"entry": list(expanded), "published": list(expanded.values())})
    table["score"] = fitted.decision_function(blocks.matrix(groups, list(expanded)))
    table["in_base"] = [entry in base for entry in expanded]
    return table.sort_values("score", ascending=False, ignore_index=True)


def agreement(table: pd.DataFrame) -> dict[str, float]:
    """Compare the scores of entries outside the base lexicon with the published ones.

    Spearman's ρ; the area under the ROC curve for the published sign; the share of published
    abusive entries among equally many top-scoring entries; the share of scores with the same sign.
    """
    new = table[~table["in_base"]]
    abusive = new["published"] > 0
    count = int(abusive.sum())
    scores = {
        "entries": len(new),
        "abusive_published": count,
        "abusive": int((new["score"] > 0).sum()),
    }
    top = new.nlargest(count, "score").index
    mixed = 0 < count < len(new)
    return scores | {
        "spearman": float(spearmanr(new["score"], new["published"]).statistic)
        if len(new) > 2
        else np.nan,
        "auc": float(roc_auc_score(abusive, new["score"])) if mixed else np.nan,
        "overlap": 100 * float(abusive[top].mean()) if count else np.nan,
        "same_sign": 100 * float(((new["score"] > 0) == abusive).mean()),
    }


def main(
    base: File,
    expanded: File,
    features: File,
    vectors: Sequence[File],
    out_classification: File,
    out_agreement: File,
    out_expanded: File,
    folds: int,
    seed: int,
) -> None:
    """Write COLUMNS by feature set, the lexicon expanded by the best set, and its agreement.

    `vectors` are files …/{lm}/….parquet. The best set has the highest cross-validated F1.
    """
    labelled, listed = lexicon.read_base(base), lexicon.read_expanded(expanded)
    paths = [vectors] if isinstance(vectors, str) else list(vectors)
    blocks = Blocks(list(dict.fromkeys([*labelled, *listed])), pd.read_parquet(features), paths)
    rows = evaluate(blocks, labelled, folds, seed)
    best = rows[rows["features"] != MAJORITY].dropna(subset="f1").nlargest(1, "f1")
    if best.empty:
        raise InputError("no features: supply a resource or name an LM")
    (name, lm), value = best.iloc[0][["features", "lm"]], float(best.iloc[0]["f1"])
    table = expand(blocks, labelled, listed, blocks.sets()[name, lm])
    write_csv(out_classification, rows)
    about = {"features": name, "lm": lm, "f1": value}
    write_csv(out_agreement, pd.DataFrame([about | agreement(table)]))
    with atomic(out_expanded) as part:
        table.to_parquet(part, index=False, compression="zstd")
