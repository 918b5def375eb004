"""Training runs in floating point: what optimisers do to directions that do not matter.

A replication in small of the experiments of the identification paper (its section 5), several seeds a run.
Figures are cross-checks, never verdicts; what can be proved is in the ledger (I-5.1, I-5.3-step,
I-5.3-key-bias).
"""

from exactattn.crosscheck.training.charts import draw_experiment, experiment_chart
from exactattn.crosscheck.training.figures import figures
from exactattn.crosscheck.training.run import train
from exactattn.crosscheck.training.settings import Experiment, RunSettings, experiments
from exactattn.crosscheck.training.store import run_all

__all__ = [
    "Experiment",
    "RunSettings",
    "draw_experiment",
    "experiment_chart",
    "experiments",
    "figures",
    "run_all",
    "train",
]
