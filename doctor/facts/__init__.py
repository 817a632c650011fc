"""Facts: conditions over them, placeholders that they fill, facts that follow from others."""
