"""From facts to the payloads of obligations: vectors, instructions, addresses. Shared by the rules."""
