"""What scripts share about language models: networks, the token stream, words in a text."""
