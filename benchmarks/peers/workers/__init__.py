"""One adapter per peer; see ``benchmarks.peers.adapter`` for what each offers."""
