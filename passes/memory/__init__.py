"""Memory of the host program: deallocation, then placement in one arena."""
