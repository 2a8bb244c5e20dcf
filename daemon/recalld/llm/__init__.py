"""The model backends: what is asked, in what words, and the child processes that ask it."""
