"""Lifting of poles and residues from modulo M to modulo M², by Newton's iteration.

With Q(X) = Π (X + R_h), errors ρ_m = y_m − Σ_h C_h/(X_m + R_h) divisible by M, and T the polynomial of degree
< 2K with T(X_m) = Q(X_m)² ρ_m at 2K nodes, the corrections are

    dR_h = −T(−R_h) / (C_h Q'(−R_h)²),
    dC_h = (T'(−R_h) − T(−R_h) Q''(−R_h)/Q'(−R_h)) / Q'(−R_h)²:

to first order T/Q² is Σ dC_h/(X + R_h) − C_h dR_h/(X + R_h)², and these are its coefficients. So a step costs
a product tree, evaluations, and one product with a matrix that depends on the nodes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from flint import fmpq, fmpz, fmpz_mat, fmpz_mod_poly, fmpz_mod_poly_ctx, fmpz_poly

from exactattn.recovery.fractions import sum_of_fractions
from exactattn.recovery.modular_image import ModularImage
from exactattn.recovery.nodes import Nodes

__all__ = ["Approximation", "lifted"]


@dataclass(frozen=True)
class Approximation:
    """Scaled poles R_h = D r_h and residues D c_h modulo ``modulus``, a power of a prime."""

    modulus: fmpz
    poles: tuple[fmpz, ...]
    residues: tuple[fmpz, ...]

    @classmethod
    def of(cls, image: ModularImage) -> Approximation:
        """The image itself, modulo its prime."""
        return cls(fmpz(image.prime), tuple(map(fmpz, image.poles)), tuple(map(fmpz, image.residues)))


@lru_cache(maxsize=32)
def _ring(modulus: fmpz) -> fmpz_mod_poly_ctx:
    """Polynomials modulo a power of a prime. They are only added, multiplied and evaluated here; the library
    divides them for prime moduli alone."""
    return fmpz_mod_poly_ctx(modulus)


def _residue_class(x: fmpq, modulus: fmpz) -> fmpz:
    return x.p * pow(x.q, -1, modulus) % modulus


def lifted(
    nodes: Nodes,
    values: Sequence[fmpq],
    image: ModularImage,
    known: Sequence[fmpq | None],
    bits: int,
) -> Iterator[Approximation]:
    """Better and better approximations: the image itself, then modulo p², p⁴, … up to about ``bits`` bits.

    ``known`` holds the poles r_h that are already known exactly; the others are lifted. Ends early when the
    image turns out not to be that of a form that takes the values.
    """
    now = Approximation.of(image)
    yield now
    while image.poles and now.modulus.bit_length() < bits:
        target = now.modulus**2
        poles = tuple(
            r if exact is None else _residue_class(exact * nodes.scale, target)
            for exact, r in zip(known, now.poles, strict=True)
        )
        corrected = _corrected(nodes, values, Approximation(now.modulus, poles, now.residues), target)
        if corrected is None:
            return
        yield (now := corrected)


def _corrected(
    nodes: Nodes, values: Sequence[fmpq], start: Approximation, target: fmpz
) -> Approximation | None:
    """One step of Newton's iteration, or None if ``start`` does not fit the values modulo its modulus."""
    modulus = start.modulus
    unknowns = 2 * len(start.poles)
    ring = _ring(target)
    P, Q = (
        _over_integers(f)
        for f in sum_of_fractions(
            [(ring([c]), ring([r, 1])) for r, c in zip(start.poles, start.residues, strict=True)]
        )
    )
    errors = []
    # One node more than there are unknowns, if there is one, to notice an image of too low a rank.
    for x, y in zip(nodes.points[: unknowns + 1], values, strict=False):
        at_x = Q(x)
        error, remainder = divmod((_residue_class(y, target) * at_x - P(x)) % target, modulus)
        if remainder != 0:
            return None
        errors.append(error * at_x % modulus)
    basis, common = nodes.leading(unknowns).lagrange_basis
    step = _ring(modulus)
    T = step(fmpz_poly((basis * fmpz_mat(unknowns, 1, errors[:unknowns])).entries()))
    T = T * pow(common, -1, modulus)
    Q_step = step(Q)
    first, second = Q_step.derivative(), Q_step.derivative().derivative()
    at_poles = [-r for r in start.poles]
    poles, residues = [], []
    for r, c, t, dt, q, dq in zip(
        start.poles,
        start.residues,
        *(f.multipoint_evaluate(at_poles) for f in (T, T.derivative(), first, second)),
        strict=True,
    ):
        inverse = 1 / q
        factor = inverse * inverse
        poles.append(r + modulus * int(-t * factor / c))
        residues.append(c + modulus * int((dt - t * dq * inverse) * factor))
    return Approximation(target, tuple(poles), tuple(residues))


def _over_integers(polynomial: fmpz_mod_poly) -> fmpz_poly:
    return fmpz_poly([int(c) for c in polynomial.coeffs()])
