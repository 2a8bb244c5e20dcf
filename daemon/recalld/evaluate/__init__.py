"""Judging recalld by labelled cases, through its own code, in a scratch store."""
