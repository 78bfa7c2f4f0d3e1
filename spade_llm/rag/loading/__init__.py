"""Document loading: from files and addresses to text and chunks."""
