"""Surrogate losses: values, edges and masses of rows; no learner, no loop over rounds."""
