"""Names of linking functions that a sensitivity grid may have next to powers and the logarithm."""

LINEAR, SMOOTH = "linear", "smooth"
