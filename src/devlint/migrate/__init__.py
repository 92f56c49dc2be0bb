"""Rewrites a project that needs CUDA into one that runs on any accelerator, or on none."""
