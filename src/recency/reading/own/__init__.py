"""Tables of one's own: which column is what, the texts that rows make up, the words that rows are of."""
