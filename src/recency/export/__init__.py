"""Models that leave the house: a checkpoint that others open, with a card that says what it is."""
