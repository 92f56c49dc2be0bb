"""From facts to findings: what rules, policy and other findings leave of them."""
