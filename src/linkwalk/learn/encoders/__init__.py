"""Encoders that learn from walks, with the policy or for it (sec. 4.2, 5.3; app. B.1)."""
