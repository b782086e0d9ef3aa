"""From the placed host program to a launch plan."""
