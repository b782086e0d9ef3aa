"""Rules of simplification, a file a family. Each states in its docstring what it needs, and keeps
results exactly unless it says otherwise."""
