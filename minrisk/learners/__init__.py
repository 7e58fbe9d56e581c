"""Weak learners: how f_t is found, and how many of them are packed into flat arrays."""
