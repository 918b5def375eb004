# mypy: ignore-errors
"""All roots with their exponents (see ``exactattn.prime.roots``): tower, smallest subgroup, and the way
back."""

import numpy as np

from exactattn.prime.compiled.lanes import (
    LANES,
    ONE,
    ZERO,
    add,
    compiled,
    inlined,
    invert,
    multiply,
    subtract,
)

LOW = np.uint64(16)
LOW_MASK = np.uint64(0xFFFF)


@inlined
def power_of_generator(exponent, low, high, p, q):
    a = np.uint64(low[np.int64(exponent & LOW_MASK)])
    return multiply(a, np.uint64(high[np.int64(exponent >> LOW)]), p, q)


@compiled
def square_roots(source, target, degree, p, q):
    """target: the polynomials whose roots are the squares."""
    for c in range(degree + 1):
        for lane in range(LANES):
            target[c, lane] = 0
    for parity in range(2):
        size = (degree - parity) // 2 + 1
        for c in range(2 * size - 1):
            place = c + parity
            if place > degree:
                break
            for i in range(max(0, c - size + 1), (c + 1) // 2):
                left, right = parity + 2 * i, parity + 2 * (c - i)
                for lane in range(LANES):
                    product = multiply(np.uint64(source[left, lane]), np.uint64(source[right, lane]), p, q)
                    product = add(product, product, p)
                    before = np.uint64(target[place, lane])
                    target[place, lane] = (
                        add(before, product, p) if parity == 0 else subtract(before, product, p)
                    )
            if c % 2 == 0:
                middle = parity + c
                for lane in range(LANES):
                    x = np.uint64(source[middle, lane])
                    before = np.uint64(target[place, lane])
                    product = multiply(x, x, p, q)
                    target[place, lane] = (
                        add(before, product, p) if parity == 0 else subtract(before, product, p)
                    )
    if degree % 2 == 1:
        for c in range(degree + 1):
            for lane in range(LANES):
                target[c, lane] = subtract(ZERO, np.uint64(target[c, lane]), p)


@compiled
def power_roots(source, target, degree, factor, sums, numbers, reciprocals, p, q):
    """The same for an odd factor, by power sums; ``numbers`` and ``reciprocals`` are k and 1/k."""
    total = np.empty(LANES, np.uint32)
    for k in range(1, degree * factor + 1):
        known = min(k - 1, degree)
        if k <= degree:
            x = numbers[k]
            for lane in range(LANES):
                total[lane] = multiply(np.uint64(source[degree - k, lane]), x, p, q)
        else:
            for lane in range(LANES):
                total[lane] = 0
        for i in range(known):
            for lane in range(LANES):
                a = np.uint64(source[degree - known + i, lane])
                product = multiply(a, np.uint64(sums[k - 1 - known + i, lane]), p, q)
                total[lane] = add(np.uint64(total[lane]), product, p)
        for lane in range(LANES):
            sums[k - 1, lane] = subtract(ZERO, np.uint64(total[lane]), p)
    for lane in range(LANES):
        target[degree, lane] = source[degree, lane]
    for k in range(1, degree + 1):
        for lane in range(LANES):
            total[lane] = 0
        for i in range(k):
            for lane in range(LANES):
                a = np.uint64(target[degree - k + 1 + i, lane])
                product = multiply(a, np.uint64(sums[factor * (i + 1) - 1, lane]), p, q)
                total[lane] = add(np.uint64(total[lane]), product, p)
        for lane in range(LANES):
            x = subtract(ZERO, np.uint64(total[lane]), p)
            target[degree - k, lane] = multiply(x, reciprocals[k], p, q)


@compiled
def class_terms(polynomials, degree, powers, x, factor, terms, power, p, q):
    """terms[s, k] = x^s Σ_l q_{s+fl} y^l for every root slot k, y = x^f the ``powers``."""
    classes = min(factor, degree + 1)
    for s in range(classes):
        highest = (degree - s) // factor
        for k in range(degree):
            for lane in range(LANES):
                terms[s, k, lane] = polynomials[s + factor * highest, lane]
            for step in range(highest):
                row = s + factor * (highest - 1 - step)
                for lane in range(LANES):
                    product = multiply(np.uint64(terms[s, k, lane]), np.uint64(powers[k, lane]), p, q)
                    terms[s, k, lane] = add(product, np.uint64(polynomials[row, lane]), p)
    for k in range(degree):
        for lane in range(LANES):
            power[lane] = x[k, lane]
        for s in range(1, classes):
            for lane in range(LANES):
                terms[s, k, lane] = multiply(np.uint64(terms[s, k, lane]), np.uint64(power[lane]), p, q)
            if s + 1 < classes:
                for lane in range(LANES):
                    power[lane] = multiply(np.uint64(power[lane]), np.uint64(x[k, lane]), p, q)
    return classes


@compiled
def candidate_values(terms, classes, k, factor, unity, values, p, q):
    """values[c] = Σ_s terms[s, k] ζ^{cs}; for factors 2 and 4 without products by ±1."""
    if factor == 2 and classes == 2:
        for lane in range(LANES):
            a, b = np.uint64(terms[0, k, lane]), np.uint64(terms[1, k, lane])
            values[0, lane] = add(a, b, p)
            values[1, lane] = subtract(a, b, p)
        return
    if factor == 4 and classes == 4:
        quarter = unity[1]
        for lane in range(LANES):
            a, b = np.uint64(terms[0, k, lane]), np.uint64(terms[1, k, lane])
            c, d = np.uint64(terms[2, k, lane]), np.uint64(terms[3, k, lane])
            even, odd = add(a, c, p), add(b, d, p)
            low, high = subtract(a, c, p), multiply(subtract(b, d, p), quarter, p, q)
            values[0, lane] = add(even, odd, p)
            values[1, lane] = add(low, high, p)
            values[2, lane] = subtract(even, odd, p)
            values[3, lane] = subtract(low, high, p)
        return
    for c in range(factor):
        for lane in range(LANES):
            values[c, lane] = terms[0, k, lane]
        for s in range(1, classes):
            root = unity[(c * s) % factor]
            for lane in range(LANES):
                product = multiply(np.uint64(terms[s, k, lane]), root, p, q)
                values[c, lane] = add(np.uint64(values[c, lane]), product, p)


@compiled
def fill_up(exponents, values, found, degree, lane):
    """Rows beyond the roots found repeat the first."""
    for k in range(found[lane], degree):
        exponents[k, lane] = exponents[0, lane]
        values[k, lane] = values[0, lane]


@compiled
def smallest_subgroup(polynomials, degree, top, elements, exponents, values, found, p, q):
    """Tries all elements of the subgroup of order ``top``."""
    total = np.empty(LANES, np.uint32)
    for lane in range(LANES):
        found[lane] = 0
        for k in range(degree):
            exponents[k, lane] = 0
            values[k, lane] = elements[0]
    for e in range(top):
        x = elements[e]
        for lane in range(LANES):
            total[lane] = polynomials[degree, lane]
        for step in range(degree):
            for lane in range(LANES):
                product = multiply(np.uint64(total[lane]), x, p, q)
                total[lane] = add(product, np.uint64(polynomials[degree - 1 - step, lane]), p)
        for lane in range(LANES):
            if total[lane] == 0 and found[lane] < degree:
                exponents[found[lane], lane] = e
                values[found[lane], lane] = x
                found[lane] += 1
    for lane in range(LANES):
        if 0 < found[lane] < degree:
            fill_up(exponents, values, found, degree, lane)


@compiled
def step_back(
    polynomials,
    degree,
    factor,
    size,
    scale,
    unity,
    low,
    high,
    exponents,
    values,
    found,
    terms,
    x,
    candidates,
    p,
    q,
):
    """One step up the chain of subgroups, of order ``size`` before; ``scale`` = n/(size·factor)."""
    power = np.empty(LANES, np.uint32)
    choice = np.empty(LANES, np.uint32)
    sure = np.empty(LANES, np.uint8)
    complete = np.empty(LANES, np.uint8)
    flags = np.empty((factor, degree), np.uint8)
    renewed = np.empty(degree, np.uint64)
    for lane in range(LANES):
        complete[lane] = found[lane] == degree
        sure[lane] = 1
    for k in range(degree):
        for lane in range(LANES):
            x[k, lane] = power_of_generator(exponents[k, lane] * scale, low, high, p, q)
    classes = class_terms(polynomials, degree, values, x, factor, terms, power, p, q)
    for lane in range(LANES):
        if complete[lane] or found[lane] == 0:
            continue
        for k in range(degree):
            for c in range(factor):
                total = np.uint64(terms[0, k, lane])
                for s in range(1, classes):
                    root = unity[(c * s) % factor]
                    total = add(total, multiply(np.uint64(terms[s, k, lane]), root, p, q), p)
                flags[c, k] = total == ZERO and k < found[lane]
        count = 0
        for c in range(factor):
            for k in range(degree):
                if flags[c, k] and count < degree:
                    renewed[count] = exponents[k, lane] + np.uint64(c) * size
                    count += 1
        found[lane] = count
        for k in range(degree):
            exponents[k, lane] = renewed[k] if k < count else (renewed[0] if count > 0 else ZERO)
            values[k, lane] = power_of_generator(exponents[k, lane] * scale, low, high, p, q)
    for k in range(degree):
        candidate_values(terms, classes, k, factor, unity, candidates, p, q)
        for lane in range(LANES):
            choice[lane] = factor
        for c in range(factor):
            for lane in range(LANES):
                choice[lane] = c if candidates[c, lane] == 0 else choice[lane]
        for lane in range(LANES):
            if complete[lane]:
                if choice[lane] == factor:
                    sure[lane] = 0
                else:
                    c = np.uint64(choice[lane])
                    exponents[k, lane] += c * size
                    values[k, lane] = multiply(np.uint64(x[k, lane]), unity[choice[lane]], p, q)
    for lane in range(LANES):
        if complete[lane] and not sure[lane]:
            found[lane] = 0


@compiled
def root_exponents(
    polynomials,
    steps,
    top,
    order,
    elements,
    unities,
    low,
    high,
    numbers,
    reciprocals,
    p,
    q,
    r2,
    out,
    roots,
    bad,
):
    degree, count = polynomials.shape[0] - 1, polynomials.shape[1]
    levels = len(steps)
    largest = 1
    for j in range(levels):
        largest = max(largest, steps[j])
    tower = np.empty((levels + 1, degree + 1, LANES), np.uint32)
    spare = np.empty((degree + 1, LANES), np.uint32)
    sums = np.empty((degree * largest, LANES), np.uint32)
    terms = np.empty((min(largest, degree + 1), degree, LANES), np.uint32)
    candidates = np.empty((largest, LANES), np.uint32)
    exponents = np.empty((degree, LANES), np.uint64)
    values = np.empty((degree, LANES), np.uint32)
    x = np.empty((degree, LANES), np.uint32)
    found = np.empty(LANES, np.int64)
    for start in range(0, count, LANES):
        width = min(LANES, count - start)
        for i in range(degree + 1):
            for lane in range(LANES):
                tower[0, i, lane] = multiply(polynomials[i, start + min(lane, width - 1)], r2, p, q)
        for j in range(levels):
            if steps[j] == 4:
                square_roots(tower[j], spare, degree, p, q)
                square_roots(spare, tower[j + 1], degree, p, q)
            elif steps[j] == 2:
                square_roots(tower[j], tower[j + 1], degree, p, q)
            else:
                power_roots(tower[j], tower[j + 1], degree, steps[j], sums, numbers, reciprocals, p, q)
        smallest_subgroup(tower[levels], degree, top, elements, exponents, values, found, p, q)
        size = np.uint64(top)
        for back in range(levels):
            j = levels - 1 - back
            factor = steps[j]
            scale = order // (size * np.uint64(factor))
            step_back(
                tower[j], degree, factor, size, scale, unities[j], low, high,
                exponents, values, found, terms, x, candidates, p, q,
            )  # fmt: skip
            size *= np.uint64(factor)
        for k in range(degree):
            for lane in range(width):
                whole = found[lane] == degree
                root = multiply(np.uint64(values[k, lane]), ONE, p, q)
                out[k, start + lane] = exponents[k, lane] if whole else ZERO
                roots[k, start + lane] = root if whole else ZERO
        for lane in range(width):
            bad[start + lane] = found[lane] != degree


@compiled
def residue_quotients(numerator, polynomials, roots, p, q, r2, out):
    """−N(r)/Q'(r) for every root r."""
    degree, count = roots.shape
    top = np.empty((degree, LANES), np.uint32)
    slope = np.empty((degree, LANES), np.uint32)
    x = np.empty((degree, LANES), np.uint32)
    a, b = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    inverse = np.empty(LANES, np.uint32)
    one = multiply(r2, ONE, p, q)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        for k in range(degree):
            scale = multiply(multiply(np.uint64(k + 1), r2, p, q), r2, p, q)
            for lane in range(LANES):
                column = start + min(lane, size - 1)
                top[k, lane] = multiply(numerator[k, column], r2, p, q)
                slope[k, lane] = multiply(polynomials[k + 1, column], scale, p, q)
                x[k, lane] = multiply(roots[k, column], r2, p, q)
        for h in range(degree):
            for lane in range(LANES):
                a[lane] = top[degree - 1, lane]
                b[lane] = slope[degree - 1, lane]
            for step in range(1, degree):
                i = degree - 1 - step
                for lane in range(LANES):
                    r = np.uint64(x[h, lane])
                    a[lane] = add(multiply(np.uint64(a[lane]), r, p, q), np.uint64(top[i, lane]), p)
                    b[lane] = add(multiply(np.uint64(b[lane]), r, p, q), np.uint64(slope[i, lane]), p)
            invert(b, inverse, p, q, one)
            for lane in range(size):
                value = multiply(np.uint64(a[lane]), np.uint64(inverse[lane]), p, q)
                out[h, start + lane] = subtract(ZERO, multiply(value, ONE, p, q), p)
