"""A file a peer: `prepare(case, arguments)` gives ways to write the case (name -> call without arguments) and what waits for the device."""
