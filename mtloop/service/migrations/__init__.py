"""The history of the schema, run by `Store.migrate`."""
