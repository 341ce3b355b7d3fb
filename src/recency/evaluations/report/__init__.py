"""The report: one HTML page that begins with the answer and needs no other file to be read."""
