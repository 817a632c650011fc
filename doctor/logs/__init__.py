"""Read what people paste: environment reports and logs of failures.

No module here touches the machine: text in, facts out.
"""
