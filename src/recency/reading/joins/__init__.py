"""The join engine: match each row of a table to a word, with verification."""
