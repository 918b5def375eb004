"""Rational numbers from their residues: of small height, or powers of two."""

from __future__ import annotations

from functools import cache

from flint import fmpq, fmpz, fmpz_mat, fmpz_mod_ctx

from exactattn.numbers.lattice import MAX_EXPONENT

__all__ = ["power_of_two", "rational_from_residue"]

EUCLID_BITS = 4096


def rational_from_residue(residue: fmpz | int, modulus: fmpz | int) -> fmpq | None:
    """The rational n/d ≡ residue with |n|, d ≤ √(modulus/2), which is unique, or None if there is none.

    Extended Euclid for short moduli, reduction of the lattice {(n, d): n ≡ d·residue} for long ones.

    >>> rational_from_residue(-3 * pow(7, -1, 10007) % 10007, 10007)
    -3/7
    """
    half = fmpz(modulus // 2)
    if half.bit_length() < EUCLID_BITS:
        bound = int(half.isqrt())
        n, d, next_n, next_d = int(modulus), 0, int(residue), 1
        while next_n > bound:
            quotient = n // next_n
            n, d, next_n, next_d = next_n, next_d, n - quotient * next_n, d - quotient * next_d
        short_n, short_d = fmpz(next_n), fmpz(next_d)
    else:
        reduced = fmpz_mat(2, 2, [modulus, 0, residue, 1]).lll()
        short_n, short_d = reduced[0, 0], reduced[0, 1]
    if short_n**2 > half or short_d**2 > half or short_n.gcd(short_d) != 1:
        return None
    return fmpq(short_n, short_d)


@cache
def _field(prime: int) -> tuple[fmpz_mod_ctx, int]:
    """The prime field, which keeps what it needs for logarithms, and the order of 2 in it."""
    field = fmpz_mod_ctx(prime)
    two = field(2)
    return field, int(two.discrete_log(1 / two)) + 1


def power_of_two(residue: int, prime: int) -> fmpq | None:
    """The power 2^e ≡ residue with |e| ≤ 2^24, or None if there is none.

    Such an exponent is far shorter than the order of 2 modulo a word-sized prime, so one image shows it,
    while the power itself may have millions of bits.

    >>> prime = 7522587765710267251
    >>> power_of_two(pow(2, -15000, prime), prime) == fmpq(1, 2**15000)
    True
    """
    if residue % prime == 0:  # the library does not survive the logarithm of zero
        return None
    field, order = _field(prime)
    exponent = int(field(2).discrete_log(field(residue)))
    if 2 * exponent > order:
        exponent -= order
    # The library may answer with a wrong number where there is no logarithm.
    if abs(exponent) > MAX_EXPONENT or pow(2, exponent, prime) != residue:
        return None
    return fmpq(fmpz(1) << exponent) if exponent >= 0 else fmpq(fmpz(1), fmpz(1) << -exponent)
