"""Measuring recalld: real hook and daemon processes on a scratch home, beside a baseline in the same run."""
