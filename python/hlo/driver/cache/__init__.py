"""The compilation cache: compiled programs kept on disk, for the next process."""
