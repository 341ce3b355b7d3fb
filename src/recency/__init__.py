"""Language models with a memory like a reader's, their surprisal, and mixed models of reading times."""
