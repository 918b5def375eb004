"""exactattn: exact, certified statements about attention."""
