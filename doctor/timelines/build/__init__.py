"""Make the data of the timelines from published wheels; needs the extra `timelines`."""
