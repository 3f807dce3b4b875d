"""The families of formats: one module each, with recognizers, typed models and readers."""
