"""The language of the simulated study: its lexicon, its morphology and its grammar."""
