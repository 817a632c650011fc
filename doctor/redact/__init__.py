"""What may not be seen: secrets anywhere, and in what is made to be shared the names of people and machines. Pure."""

from doctor.redact.forms import is_secret, is_telling
from doctor.redact.secrets import ready, telling, without_secrets
from doctor.redact.values import HIDDEN

__all__ = ["HIDDEN", "is_secret", "is_telling", "ready", "telling", "without_secrets"]
