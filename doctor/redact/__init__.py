"""Hide secrets everywhere, and names of people and machines in reports to be shared.

No module here touches the machine.
"""

from doctor.redact.forms import is_secret, may_name_secret
from doctor.redact.secrets import load_rules, texts_with_keywords, without_secrets
from doctor.redact.values import HIDDEN

__all__ = [
    "HIDDEN",
    "is_secret",
    "load_rules",
    "may_name_secret",
    "texts_with_keywords",
    "without_secrets",
]
