"""Users' tables: roles of columns, texts of rows, and words of responses."""
