"""Recovery of canonical heads from value queries: plan, interpolation, matching, assembly."""
