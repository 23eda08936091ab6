//! The numbers of the paper's Tables 2 and 3, to stand beside ours. Its tensors are others of the same kind.

/// A column of a table: a method, and for each trial what the paper prints (`-`: the error was not reached).
pub(super) struct Published {
    pub method: &'static str,
    pub trials: &'static [&'static str],
}

const fn column(method: &'static str, trials: &'static [&'static str]) -> Published {
    Published { method, trials }
}

/// Table 2: Eff., whether the format was preserved (Y, N), evaluations.
pub(super) fn table2(order: usize) -> &'static [Published] {
    match order {
        4 => {
            const {
                &[
                    column("TR-SVD", &["1.00", "0.64", "1.17", "0.57", "0.43"]),
                    column("TR-LM", &["1.00", "1.00", "1.17", "0.57", "0.48"]),
                    column("TR-ALSAR", &["0.21", "1.00", "0.23", "0.32", "0.40"]),
                    column("Bayes-TR", &["1.00", "0.64", "1.00", "-", "0.40"]),
                    column("Greedy", &["1.00 Y", "0.89 N", "1.17 Y", "1.00 Y", "1.00 Y"]),
                    column(
                        "TNGA*",
                        &[
                            "1.00 Y [600]",
                            "1.00 Y [300]",
                            "1.17 Y [750]",
                            "1.00 Y [450]",
                            "1.00 Y [1050]",
                        ],
                    ),
                    column(
                        "TNGA+",
                        &["1.00 [450]", "1.00 [450]", "1.17 [450]", "1.00 [300]", "1.00 [450]"],
                    ),
                    column(
                        "TNLS",
                        &["1.00 [361]", "1.00 [241]", "1.17 [181]", "1.00 [301]", "1.00 [361]"],
                    ),
                ]
            }
        }
        6 => {
            const {
                &[
                    column("TR-SVD", &["0.21", "0.14", "0.57", "0.21", "0.15"]),
                    column("TR-LM", &["0.44", "0.15", "1.00", "0.39", "0.30"]),
                    column("TR-ALSAR", &["-", "0.14", "0.85", "0.10", "-"]),
                    column("Bayes-TR", &["-", "-", "0.29", "0.13", "0.12"]),
                    column("Greedy", &["0.16 N", "0.27 N", "0.97 N", "1.04 Y", "1.00 Y"]),
                    column(
                        "TNGA*",
                        &["0.82 N [1650]", "-", "1.00 Y [3300]", "1.04 Y [2700]", "1.00 Y [2400]"],
                    ),
                    column(
                        "TNGA+",
                        &[
                            "1.00 [1500]",
                            "1.00 [1350]",
                            "1.00 [1800]",
                            "1.16 [1500]",
                            "1.00 [1050]",
                        ],
                    ),
                    column(
                        "TNLS",
                        &["1.00 [661]", "1.00 [601]", "1.00 [661]", "1.16 [601]", "1.00 [541]"],
                    ),
                ]
            }
        }
        8 => {
            const {
                &[
                    column("TR-SVD", &["0.10", "0.09", "0.03", "0.20", "0.33"]),
                    column("TR-LM", &["0.16", "0.43", "0.31", "0.53", "0.33"]),
                    column("TR-ALSAR", &["-", "-", "-", "-", "-"]),
                    column("Bayes-TR", &["0.03", "-", "0.02", "-", "-"]),
                    column("Greedy", &["0.88 N", "0.61 N", "1.16 N", "1.03 N", "1.17 Y"]),
                    column(
                        "TNGA*",
                        &["0.48 N [2550]", "-", "0.49 N [2250]", "0.32 N [4050]", "0.23 N [1500]"],
                    ),
                    column(
                        "TNGA+",
                        &[
                            "1.00 [2850]",
                            "1.02 [2250]",
                            "1.11 [3750]",
                            "1.06 [1950]",
                            "0.88 [1500]",
                        ],
                    ),
                    column(
                        "TNLS",
                        &["1.00 [1021]", "1.02 [961]", "1.11 [1321]", "1.06 [781]", "1.17 [901]"],
                    ),
                ]
            }
        }
        _ => &[],
    }
}

/// Table 3: Eff. and whether the format was preserved, by our name of the template.
pub(super) fn table3(template: &str) -> &'static [Published] {
    match template {
        "tree" => {
            const {
                &[
                    column("TNGA+", &["1.29", "1.17", "1.11", "1.55"]),
                    column("TNLS", &["1.29", "1.17", "1.11", "1.55"]),
                    column("Greedy", &["1.29 N", "1.03 N", "0.79 N", "1.27 N"]),
                ]
            }
        }
        "peps:2x3" => {
            const {
                &[
                    column("TNGA+", &["1.14", "1.00", "1.00", "1.21"]),
                    column("TNLS", &["1.14", "1.00", "1.00", "1.21"]),
                    column("Greedy", &["1.03 N", "1.00 Y", "1.13 Y", "1.21 Y"]),
                ]
            }
        }
        "ht" => {
            const {
                &[
                    column("TNGA+", &["1.45", "1.21", "1.18", "1.29"]),
                    column("TNLS", &["1.45", "1.21", "1.18", "1.29"]),
                    column("Greedy", &["1.81 N", "1.91 N", "1.73 N", "2.16 N"]),
                ]
            }
        }
        "mera" => {
            const {
                &[
                    column("TNGA+", &["0.95", "1.32", "2.30", "1.00"]),
                    column("TNLS", &["1.09", "1.88", "2.88", "1.03"]),
                    column("Greedy", &["-", "1.65 N", "0.78 N", "0.88 N"]),
                ]
            }
        }
        _ => &[],
    }
}
