"""The end of a suite's TOML: how it is scored, for suites that come ready-made."""

from string import Template

RULES = Template("""\
[scoring]
reference     = $reference
primary       = "brier"
clip          = "0.001"
decisive      = ["0.1", "0.9"]
ece           = "equal_width_left_closed/10"
min_bin       = 20
average_ovr   = false
baseline_fill = false

[statistics]
level          = "0.95"
resamples      = 2000
root_seed      = "manifest"
permutations   = 9999
min_clusters   = 10
few_clusters   = 30
min_class      = 10
min_class_gate = 100
min_curve      = 200
min_slice      = 30
max_undefined  = "0.01"
looks          = $looks
min_training   = 0

[gates.calibration]
slope     = ["0.7", "1.4"]
intercept = ["-0.4", "0.4"]

[gates.permutation]
alpha    = "0.05"
retained = "0.5"
strata   = ["template", "horizon", "slot"]

[gates.four_bar]
allow_calibration_warn = true

[gates.promotion]
trivial_gain = "0.005"
loss_margin  = "0.01"
slices       = []

[prequential]
fading    = "0.99"
window    = 100
ph_delta  = "0.05"
ph_lambda = "0.5"
recovery  = "0.01"
""")
"""Scores, statistics, gates and drift at their usual values; takes `reference`, the
name of the baseline in quotes, and `looks`, a list of counts."""
