"""HTTP routes, one module per subject; every APIRouter in them is served.

Schemas stand in the module of their subject; in `schemas/`, those of large subjects and those that
other modules share.
"""
