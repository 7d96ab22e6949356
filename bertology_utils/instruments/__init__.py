"""Instruments: what is measured of any model, exact and fast; none knows a chapter."""
