"""The task graph for doit: of stages, for the command line of cmbuild and for plain doit."""
