"""Work that takes long, in a thread or a process, and servers that run it."""
