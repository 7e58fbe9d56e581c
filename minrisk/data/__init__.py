"""What users hand over, as learners see it: numbers, bins, linear features, distances."""
