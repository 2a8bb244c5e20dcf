"""The SQLite store. Functions here take an open connection inside a transaction that `Store` began."""
