//! Pictures made smaller: ten of BSD500, grey, 256 x 256, as tensors of order 8 by two tensorisations.

use super::super::pictures::{Gallery, Variant};
use super::super::table::Done;
use super::super::tasks::TaskList;
use super::super::{Method, ReproduceError, gallery_table};
use super::Description;
use std::sync::Arc;
use tnsearch::problem::Objective;

pub(super) const COMPRESSION: Description = Description {
    name: "table-compression",
    plan,
    tables,
    figure: gallery_table::figure,
    csv: gallery_table::csv,
};

/// The weight of the error in the paper's loss.
const LAMBDA: f64 = 5.0;
/// The relative error that decompositions are asked for, which do not take lambda: that of the paper's.
const RE: f64 = 0.15;

/// What the paper prints: log10 CR (RE) [evaluations], averages.
const PUBLISHED: [(&str, &[(&str, &str)]); 2] = [
    (
        "reshape",
        &[
            ("TR-SVD", "0.92 (0.15)"),
            ("TR-LM", "0.90 (0.14)"),
            ("Greedy", "0.95 (0.15)"),
            ("TNGA+", "1.36 (0.13) [5700]"),
            ("TNLS", "1.32 (0.14) [1876]"),
        ],
    ),
    (
        "vdt",
        &[
            ("TR-SVD", "1.10 (0.15)"),
            ("TR-LM", "1.07 (0.15)"),
            ("Greedy", "0.91 (0.15)"),
            ("TNGA+", "1.28 (0.15) [5700]"),
            ("TNLS", "1.30 (0.15) [1546]"),
        ],
    ),
];

fn plan(plan: &mut TaskList, more: Vec<Method>) -> Result<(), ReproduceError> {
    let gallery = Gallery::open(plan.options, "images/bsd-gray256", &[])?;
    let tnls = plan.tnls().with(|s| {
        (s.c1, s.c2) = (0.95, Some(0.9));
        if !plan.options.quick {
            (s.iterations, s.samples) = (20, 150);
        }
    });
    let tnga = plan.tnga(300).with(|s| {
        (s.elimination, s.reproduction, s.mutation) = (0.1, 1, 0.3);
        (s.alpha, s.beta) = (25.0, 1.0);
    });
    let methods: Vec<Arc<Method>> = [
        Method::tr_svd(),
        Method::tr_lm(),
        Method::greedy(),
        Method { max_runs: 1, ..Method::tnga_plus(&tnga) },
        Method::tnls(&tnls),
        Method::walks(false, plan.options.quick),
        Method::walks(true, plan.options.quick),
    ]
    .into_iter()
    .chain(more)
    .map(|method| Arc::new(method.on_pictures(plan.options.quick)))
    .collect();
    for variant in [Variant::Reshape, Variant::Vdt] {
        for (trial, shot) in gallery.shots(variant).enumerate() {
            let shot = Arc::new(shot);
            for by in &methods {
                let objective = match by.searches() {
                    true => Objective::Lambda(LAMBDA),
                    false => Objective::MaxError(RE * RE),
                };
                plan.add_picture(&shot, trial, by, objective);
            }
        }
    }
    Ok(())
}

fn tables(done: &[Done]) -> String {
    let mut out = format!(
        "log10 CR (RE) [evaluations when the answer was found] of every picture, and averages: CR is entries / params, RE the \
         root of the RSE, which is what the paper's table prints. Searches minimise phi + {LAMBDA} RSE with ranks up to 14; the \
         decompositions, which have no such loss, take the smallest ranks they find for RE <= {RE}, in the order of the modes as \
         they come. \"ours\" are walks: fits that choose their ranks, move modes and, on any graph, add and drop edges.\n\n\
         Fits are ALS from one start in 32-bit numbers. Those of TNLS begin at the cores of the structure they were drawn \
         around and are given up where they do not come near its loss; neighbourhoods, samples and rank bound are the \
         paper's. Of several runs the one of the smallest loss is shown.\n\n"
    );
    for (variant, published) in PUBLISHED {
        let rows: Vec<Done> = done.iter().copied().filter(|(t, _)| t.variant == variant).collect();
        if !rows.is_empty() {
            let entry = &gallery_table::COMPRESSED;
            out += &gallery_table::rows(variant, &rows, published, entry, Some(LAMBDA));
        }
    }
    out + &gallery_table::strips(done)
}
