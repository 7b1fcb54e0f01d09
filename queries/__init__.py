"""The named SQL queries: Python loads them, people run them in psql. No Python lives here."""
