"""What one can ask of recalld: a function a verb, the same for every door."""
