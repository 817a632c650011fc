"""What people paste: the text of an environment report, the log of something that failed. Pure: text in, facts out."""
