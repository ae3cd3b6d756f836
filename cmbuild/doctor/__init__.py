"""Which tools this machine has and lacks, and what each board can be used for on it."""
