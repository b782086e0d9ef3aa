"""Compiled programs: native code, its cache, and calling it."""
