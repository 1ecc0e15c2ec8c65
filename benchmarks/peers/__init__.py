"""Playhead beside the trackers people use, on the same machine in the same invocation.

``python -m benchmarks.peers`` runs in Playhead's own environment. It gives every peer an environment under ``.peers/``,
starts one worker process per measurement with that environment's Python, and prints a table per workload.

- ``registry`` names the peers, their pinned packages and their environment variables,
- ``environments`` makes and finds their virtual environments,
- ``drive`` starts workers, kills them where the workload says so, and collects what they report,
- ``report`` turns results into tables,
- ``worker`` is the other side: it runs in the peer's Python and measures with ``workloads``,
- ``workers/`` holds one adapter per peer, each with the few functions that ``adapter`` describes.

Programs that record robots are measured one by one, against Playhead alone, since they share no workload:
``python -m benchmarks.peers.positronic`` and ``python -m benchmarks.peers.lerobot``, each with a ``…_worker`` that runs
in either Python; ``beside`` lets the two take turns and prints the table.

What each program loses is another trial: ``python -m benchmarks.peers.safety`` kills them, damages, exchanges and
copies their files and fills their disk. ``keepers/`` holds a module per program, ``safety_worker`` and
``safety_damage`` run in its Python.
"""
