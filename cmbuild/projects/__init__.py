"""Projects: a folder with cmbuild.toml, its models by name, their budgets, and how they change."""
