"""Rule-based language understanding (English, Spanish): statements, questions, changes."""
