"""The join engine: which word each row of a table belongs to, verified or refused."""
