"""`python -m playhead` is the program `playhead`."""

from playhead.cli import main

main()
