"""HTTP routes, one module per subject; every APIRouter in them is served.

The schemas of a small subject stand in its module, those of the others in `schemas/`.
"""
