"""`renyi_<alpha>`, Rényi entropy of the next token, order α ≥ 0 or inf: log(Σ p^α) / (1 − α)."""

MEASURE = {
    "unit": 1,
    "masked": True,
    "reads": ["renyi_<alpha>"],
    "parameter": {"name": "alpha", "type": "number", "minimum": 0, "example": 0.5},
}
