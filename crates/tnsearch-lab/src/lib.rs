//! Synthetic data and the experiments of the paper.
