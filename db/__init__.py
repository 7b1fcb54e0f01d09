"""The database in SQL: migrations, views, functions, roles. No Python lives here."""
