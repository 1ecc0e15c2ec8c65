"""Arrays of an agent at play: recorded into a journal, sealed into HDF5."""
