"""The history of the schema, run by `Database.migrate`."""
