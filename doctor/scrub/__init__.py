"""What may not be seen: secrets anywhere, and in what is made to be shared the names of people and machines. Pure."""

from doctor.scrub.forms import is_secret, is_telling
from doctor.scrub.secrets import ready, telling, without_secrets
from doctor.scrub.values import HIDDEN

__all__ = ["HIDDEN", "is_secret", "is_telling", "ready", "telling", "without_secrets"]
