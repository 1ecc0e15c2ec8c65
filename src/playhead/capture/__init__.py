"""What a run notes about its surroundings.

`environment` takes one snapshot of the code, the machine and the process (with `git`, `packages`, `hardware` and
`variables` for its parts, `secrets` for what must not be written down and `programs` for asking other programs);
`console` copies what is printed, and `terminal` turns it into lines; `system` samples the load of the machine. Nothing
here writes a file or knows a store: a snapshot is a plain mapping, a line goes to a function, a sample is a dict.
"""
