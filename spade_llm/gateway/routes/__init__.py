"""HTTP routes, one module per subject; every APIRouter in them is served."""
