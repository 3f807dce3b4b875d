"""Operations on a memory from outside: plain functions, which HTTP, tools and commands call."""
