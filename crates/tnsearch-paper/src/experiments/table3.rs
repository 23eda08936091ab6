//! Table 3: the other formats.

use super::super::comparison::{distinct, equal_runs, in_all_runs, not_below, rates};
use super::super::method::MAX_COST;
use super::super::table::{self, Done, LEGEND, refused, trials};
use super::super::tasks::TaskList;
use super::super::trial::Recipe;
use super::super::{MAX_RSE, Method, ReproduceError, figures, published};
use super::Description;
use std::fmt::Write as _;
use std::sync::Arc;
use tnsearch::problem::Objective;

/// Runs of TNLS for each of the others: pruned, they fit some dozens of structures, TNGA+ thousands.
const TNLS_TIMES: usize = 4;

pub(super) const TABLE3: Description =
    Description { name: "table3", plan, tables, figure: figures::efficiency, csv: table::csv };

/// Table 3: the other formats.
fn plan(plan: &mut TaskList, more: Vec<Method>) -> Result<(), ReproduceError> {
    let formats: &[(&str, usize)] = match plan.options.quick {
        true => &[("tree", 5)],
        false => &[("tree", 7), ("peps:2x3", 6), ("ht", 6), ("mera", 8)],
    };
    let methods: Vec<Arc<Method>> = [
        Method { once_on_mera: true, ..Method::tnga_plus(&plan.tnga(120)) },
        Method { times: TNLS_TIMES, ..Method::tnls(&plan.tnls()) },
        Method::greedy(),
        Method { once_on_mera: true, ..Method::tnale() },
        Method::exact(),
    ]
    .into_iter()
    .chain(more)
    // The hidden structures are smaller than their tensors.
    .map(|method| Arc::new(Method { max_phi: 1.0, max_cost: Some(MAX_COST), ..method }))
    .collect();
    for &(template, order) in formats {
        for trial in 0..plan.options.trials(4) {
            for by in &methods {
                let recipe = Recipe::other(template, order);
                let most = if template == "mera" && by.once_on_mera { 1 } else { usize::MAX };
                plan.add_runs(&recipe, trial, by, Objective::MaxError(MAX_RSE), most);
            }
        }
    }
    Ok(())
}

fn tables(done: &[Done]) -> String {
    let mut out = LEGEND.to_owned();
    out += &refused("as many params as the tensor has entries, or more", "those");
    let _ = write!(
        out,
        "TNLS makes {TNLS_TIMES} runs for one of TNGA+ and TnALE: a run of it fits dozens of structures, one of TNGA+ \
         thousands (below). On MERA TNGA+ and TnALE make a single run, since it takes minutes.\n\n"
    );
    for (template, order) in distinct(done.iter().map(|(t, _)| (t.template, t.order))) {
        let rows: Vec<Done> =
            done.iter().copied().filter(|(t, _)| t.template == template).collect();
        let _ = writeln!(out, "## {template}, order {order}\n");
        out += &trials(&rows, published::table3(template));
    }
    out += "## Rates and work\n\n";
    out += &rates(done);
    out += &not_below(done, "TNLS", "TNGA+");
    out += &equal_runs(done, "TNLS", "TNGA+");
    out + &in_all_runs(done)
}
