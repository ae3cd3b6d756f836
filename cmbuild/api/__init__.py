"""The pipeline for programs and notebooks: quiet, typed, and never the end of the process."""
