"""I-complete-norms: what norms and latents leave unidentified, at listed sizes."""

from exactattn.ledger import Claim, Outcome, Paper, Verdict
from exactattn.ledger.rank_evidence import proved_counts

VARIANTS = (
    "mha E=4 H=1 D=2 C=2 qknorm=rms:shared eps=0",
    "gqa E=5 H=2 G=1 D=2 C=2 R=all qknorm=rms:shared eps=0",
    "gqa E=5 H=2 G=1 D=2 C=2 R=all qknorm=rms:shared eps=1e-6",
    "mla E=4 H=2 r=3 D=2",
    "mla E=4 H=2 r=3 D=2 latentnorm=rms eps=0",
    "mla E=4 H=2 r=3 D=4 C=2 R=2",
    "mha E=4 H=2 before=layer+shift eps=0 bias=qkvo",
)


def establish() -> Outcome:
    return proved_counts(VARIANTS)


claim = Claim(
    id="I-complete-norms",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; norms are set aside in Section 4",
    says="Query/key norms, latents and a norm before the layer change what is unidentified as the counting "
    "formulas say: "
    "norms break changes of basis and leave sizes, pairs of scales, rotations of latents.",
    hypotheses=[
        "almost all parameters and inputs, generic angles",
        "ε inside norms as listed: sizes are free at ε = 0",
    ],
    establish=establish,
    expected=Verdict.PROVED_FOR,
    does_not_establish=["sizes that are not listed", "how well a small ε identifies sizes in practice"],
)
