"""The plan of a run: the study, its files, products and costs."""
