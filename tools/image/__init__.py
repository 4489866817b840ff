"""Making and testing the images."""
