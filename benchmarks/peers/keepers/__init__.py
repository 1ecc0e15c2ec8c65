"""What the trial of safety needs of each program, a module each; see ``benchmarks.peers.keepers.contract``."""
