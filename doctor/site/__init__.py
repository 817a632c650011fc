"""The documentation site as Markdown for MkDocs.

It has a page for each known issue, check and table, with the texts that reports show.
"""
