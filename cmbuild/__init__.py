"""From a PyTorch model to verified firmware on Arm Cortex-M."""
