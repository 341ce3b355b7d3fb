"""Scores of predictions on a task's dev set, and whether the predictions are constant."""

import numpy as np

COLUMNS = ["accuracy", "matthews", "f1", "mse", "pearson", "constant"]
#: Columns of a file of runs.
RUN = ["seed", "epoch", "train_loss", *COLUMNS, "majority", "majority_f1", "train", "dev", "cut"]
#: Predicted scores with less than this share of the true scores' spread count as constant.
FLAT = 0.1


def score_labels(predicted: np.ndarray, true: np.ndarray) -> dict:
    """Return accuracy, multi-class Matthews coefficient, F1 of the last label, and constant.

    Matthews' coefficient and F1 are 0 where they are 0/0, as for constant predictions.
    """
    classes = int(max(predicted.max(), true.max())) + 1
    table = np.zeros((classes, classes))
    np.add.at(table, (true, predicted), 1)
    n, right = table.sum(), np.trace(table)
    there, guesses = table.sum(1), table.sum(0)
    # Gorodkin (2004), equation 8; for two labels (tp·tn - fp·fn) / √(…).
    under = np.sqrt((n**2 - guesses @ guesses) * (n**2 - there @ there))
    both = there[-1] + guesses[-1]
    return {
        "accuracy": right / n,
        "matthews": (right * n - there @ guesses) / under if under else 0.0,
        "f1": 2 * table[-1, -1] / both if both else 0.0,
        "constant": len(np.unique(predicted)) == 1,
    }


def score_numbers(predicted: np.ndarray, true: np.ndarray) -> dict:
    """Return mean squared error, Pearson's correlation (0 for a constant), and constant."""
    predicted, true = predicted.astype(float), true.astype(float)
    flat = predicted.std() < FLAT * true.std()
    spread = predicted.std() * true.std()
    covariance = np.mean((predicted - predicted.mean()) * (true - true.mean()))
    return {
        "mse": float(np.mean((predicted - true) ** 2)),
        "pearson": covariance / spread if spread else 0.0,
        "constant": bool(flat),
    }


def majority(true: np.ndarray, labels: bool) -> dict:
    """Return accuracy or squared error of a constant prediction (`majority`) and `majority_f1`."""
    if not labels:
        return {"majority": float(true.astype(float).var()), "majority_f1": np.nan}
    counts = np.bincount(true)
    scores = score_labels(np.full(len(true), counts.argmax()), true)
    return {"majority": scores["accuracy"], "majority_f1": scores["f1"]}
