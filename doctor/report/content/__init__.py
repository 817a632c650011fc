"""What every format for people says: wording, rows and limits, without markup."""
