"""The documentation site as Markdown for MkDocs: a page for each known issue, check and table, made of the texts that reports show."""
