"""What is made when the package is built; hatch_build.py calls these steps."""
