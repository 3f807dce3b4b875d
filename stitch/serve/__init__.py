"""`stitch serve`: one process owns a memory, and everybody reaches it over HTTP.

Nothing is imported here: FastAPI and uvicorn belong to the extra `serve` and load with the command.
"""
