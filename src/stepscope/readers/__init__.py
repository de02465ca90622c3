"""One module or package per format; ``detect`` finds the right one."""
