"""Files of artifacts: their contents in a pool, each once, and the JSON that says which version holds what."""
