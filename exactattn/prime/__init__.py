"""Recovery at the sizes of real layers, in a prime field, whole blocks of probes at once (theory, section 4).

A layer over F_p has W_h modulo p − 1, v_h modulo p and exp(s) = g^s. With p − 1 smooth, all poles of many
probes and their discrete logarithms are found together, in numpy arrays. One prime gives W_h modulo p − 1 and
v_h modulo p; a success is a witness for the real model (specialisation lemma). ``WORD_PRIMES`` are primes
whose p − 1 have a long common multiple, for lifting by Chinese remainders.

The pieces, in the order in which a run uses them:

    field  = PrimeField(p)                          p < 2^31 with smooth p − 1
    layer  = PrimeLayer(field, W, v, constant)      the black box; W (H, d, d), or (H, d+1, d) with a bias
    plan   = BlockPlan(heads, dim, seed, bias)      the queries; plan.blocks are ranges of rows
             StagedBlockPlan(method, heads, dim, seed, bias, rank)    with fewer, "consistent" or "optimal"
    first  = run_first(plan, field, oracle)         asks and solves the first row; picklable
    result = run_block(plan, block, first, oracle)  the same for a later block; idempotent
    found  = assemble(plan, first, results)         W, v and the constant, from results in any order

    recover_prime(oracle, heads, dim, field, …)     all of it, over workers or an executor

With ``PrimeField(p, compiled=True)`` the inner loops are compiled by numba (extra ``compiled``).

``run_block`` is ``solve_block(plan, block, answers(oracle, plan, block), first, oracle)``: the solver sees
answers, and uses the oracle only for further queries at exceptional probes, which are counted. An oracle is
anything with the two methods of :class:`Oracle`; :class:`PrimeLayer` is one.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> layer = PrimeLayer(PrimeField(), rng.integers(-99, 99, (2, 4, 4)), rng.integers(-99, 99, (2, 4)))
>>> plan = BlockPlan(heads=2, dim=4, seed=1)
>>> first = run_first(plan, layer.field, layer)
>>> found = assemble(plan, first, [run_block(plan, block, first, layer) for block in plan.blocks[1:]])
>>> found.queries, sorted(found.v.tolist()) == sorted(layer.v.tolist())
(125, True)
"""

from exactattn.numbers.smooth_primes import WORD_PRIMES, SmoothPrime
from exactattn.prime.block import BlockResult, FirstRow, answers, solve_block, solve_first
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import UNDEFINED, PrimeLayer, ProbeGroup
from exactattn.prime.mend import Oracle
from exactattn.prime.plan import BlockPlan
from exactattn.prime.run import PrimeRecovery, assemble, recover_prime, run_block, run_first
from exactattn.prime.specialise import specialised
from exactattn.prime.staged_block import StagedResult, solve_staged_block, staged_answers
from exactattn.prime.staged_first import StagedFirst
from exactattn.prime.staged_plan import StagedBlockPlan

__all__ = [
    "UNDEFINED",
    "WORD_PRIMES",
    "BlockPlan",
    "BlockResult",
    "FirstRow",
    "Oracle",
    "PrimeField",
    "PrimeLayer",
    "PrimeRecovery",
    "ProbeGroup",
    "SmoothPrime",
    "StagedBlockPlan",
    "StagedFirst",
    "StagedResult",
    "answers",
    "assemble",
    "recover_prime",
    "run_block",
    "run_first",
    "solve_block",
    "solve_first",
    "solve_staged_block",
    "specialised",
    "staged_answers",
]
