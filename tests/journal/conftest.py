from doubles.postgres import new_url, postgres

__all__ = ["new_url", "postgres"]
