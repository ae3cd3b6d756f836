"""What this machine has, what it lacks, and what each board can be used for here."""
