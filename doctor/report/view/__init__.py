"""One view of a report: wording, rows and limits, before any format gives them a shape."""
