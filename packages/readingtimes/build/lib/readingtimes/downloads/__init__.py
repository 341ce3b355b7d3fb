"""Downloads: resumed, checked, from mirrors."""
