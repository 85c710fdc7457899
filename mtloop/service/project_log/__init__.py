"""The log of a project: everything that people did, in order, and the lessons that follow from it."""
