"""From the placed host program to the native entry: pointers into one arena, launches, loops."""
