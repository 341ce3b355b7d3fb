"""Export of models and datasets: checkpoints that transformers opens, and data with documentation."""
