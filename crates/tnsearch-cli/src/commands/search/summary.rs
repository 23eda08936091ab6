//! What a search reports: JSON for programs, text for people.

use super::{Search, Settings};
use crate::Exit;
use crate::commands::outputs::Report;
use crate::commands::report::{
    StructureReport, line, objective_text, structure_lines, tensor_text,
};
use crate::files::{network, output::Output};
use crate::text::{duration, number};
use serde::Serialize;
use std::path::PathBuf;
use tnsearch::graph::Template;
use tnsearch::network::Network;
use tnsearch::problem::{LowerBound, Objective};
use tnsearch::search::{
    CheckedRunner, Counts, HistoryPoint, ParetoPoint, RunSummary, RunnerSettings, SearchResult,
    StoppedBy,
};
use tnsearch::tensor::Kind;

/// The JSON summary (DESIGN section 5), and more.
#[derive(Serialize)]
struct Summary<'a> {
    strategy: &'a str,
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    seed: u64,
    rse: Option<f64>,
    re: Option<f64>,
    loss: Option<f64>,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    stopped_by: StoppedBy,
    lower_bound: Option<LowerBound>,
    certified_optimal: bool,
    proven_impossible: bool,
    history: &'a [HistoryPoint],
    pareto: &'a [ParetoPoint],
    input: &'a str,
    objective: Objective,
    target_reached: bool,
    format_preserved: Option<bool>,
    run: Option<usize>,
    run_seed: Option<u64>,
    runs: &'a [RunSummary],
    settings: serde_json::Value,
    fit: &'a tnsearch::fit::FitSettings,
    budgets: &'a RunnerSettings,
    output: Option<&'a PathBuf>,
    version: &'a str,
}

#[expect(clippy::too_many_arguments, reason = "the last step needs all that was made before")]
pub(super) fn finish(
    args: &Search,
    settings: &Settings,
    budgets: &CheckedRunner,
    template: &Template,
    (dims, dtype): (&[usize], Kind),
    result: SearchResult,
    output: Option<&Output>,
    report: &Report,
) -> anyhow::Result<Exit> {
    let best = result.best.as_ref();
    let mut saved = Ok(());
    if let (Some(best), Some(output)) = (best, output) {
        let cores = best.fitted.cores.clone();
        let found = Network::from_fitted(best.structure.clone(), dims.to_vec(), cores)?;
        saved = output.write(|w| network::write(w, &found, best.score.error));
    }
    let format_preserved = best.and_then(|b| template.holds(&b.graph));
    let summary = Summary {
        strategy: result.strategy,
        structure: match best {
            Some(best) => StructureReport::new(&best.structure, dims),
            None => StructureReport::nothing(template.to_ref(), dims),
        },
        dtype,
        seed: args.seed,
        rse: best.map(|b| b.score.error),
        re: best.map(|b| b.score.error.sqrt()),
        loss: best.map(|b| b.score.loss),
        counts: result.counts,
        seconds: result.seconds,
        stopped_by: result.stopped_by,
        lower_bound: result.lower_bound,
        certified_optimal: result.certified_optimal,
        proven_impossible: result.proven_impossible,
        history: &result.history,
        pareto: &result.pareto,
        input: &args.tensor,
        objective: settings.objective.get(),
        target_reached: result.target_reached,
        format_preserved,
        run: best.map(|b| b.run),
        run_seed: best.map(|b| b.seed),
        runs: &result.runs,
        settings: settings.plan.settings(),
        fit: &settings.fit,
        budgets,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || text(args, settings, template, dims, &result, format_preserved))?;
    saved?;
    Ok(match result.stopped_by {
        StoppedBy::Interrupted => Exit::Interrupted,
        _ if result.target_reached => Exit::Done,
        _ => Exit::NotReached,
    })
}

/// What is proven about the answer, in words.
pub fn proof(result: &SearchResult, max_rank: usize) -> String {
    if result.proven_impossible {
        return format!(
            "no structure of this template with ranks up to {max_rank} reaches the target"
        );
    }
    let Some(bound) = result.lower_bound else { return "no lower bound was computed".to_owned() };
    if result.certified_optimal {
        return format!(
            "optimal: no structure of this template with ranks up to {max_rank} is better"
        );
    }
    match (bound.params, bound.error, bound.loss) {
        (Some(params), ..) => {
            let found = result.best.as_ref().filter(|_| result.target_reached);
            let gap = found.map_or(String::new(), |best| {
                let gap = best.score.params as f64 / params.max(1) as f64;
                format!(" (found is {gap:.3} times that)")
            });
            // Where the proof leaves a gap, what the fits below the answer came to.
            let smaller = |p: &&ParetoPoint| found.is_some_and(|best| p.params < best.score.params);
            let nearest = result.pareto.iter().filter(smaller).max_by_key(|p| p.params);
            let tried = nearest.map_or(String::new(), |p| {
                format!("; of the smaller ones fitted none came below RSE {}", number(p.rse))
            });
            format!(
                "every structure that reaches the error has at least {params} params{gap}{tried}"
            )
        }
        (_, Some(rse), _) => {
            format!("every structure within the budget has an RSE of at least {}", number(rse))
        }
        (_, _, loss) => {
            format!("every structure has a loss of at least {}", number(loss.unwrap_or(0.0)))
        }
    }
}

/// The summary for people.
fn text(
    args: &Search,
    settings: &Settings,
    template: &Template,
    dims: &[usize],
    result: &SearchResult,
    format_preserved: Option<bool>,
) -> String {
    let mut out = String::new();
    line(&mut out, "tensor", tensor_text(&args.tensor, dims));
    let objective = objective_text(settings.objective.get());
    let runs = if args.runs > 1 { format!(", {} runs", args.runs) } else { String::new() };
    let (name, rank, seed) = (template.name(), args.max_rank, args.seed);
    line(
        &mut out,
        "asked",
        format!(
            "{objective}; {name}, ranks up to {rank}, {}, seed {seed}{runs}",
            args.strategy.name
        ),
    );
    match &result.best {
        Some(best) => {
            let found = match result.target_reached {
                true => format!("loss {}", number(best.score.loss)),
                false => "the target was NOT reached; this is the closest".to_owned(),
            };
            line(&mut out, "found", found);
            structure_lines(&mut out, &best.structure, dims, best.score.error);
        }
        None if result.counts.evaluations + result.counts.refused == 0 => {
            let why = match result.stopped_by {
                StoppedBy::Interrupted => "it was interrupted before the first fit was done",
                StoppedBy::MaxSeconds => "the time was up before the first fit was done",
                _ => "no structure was proposed",
            };
            line(&mut out, "found", format!("nothing: {why}"));
        }
        None => line(
            &mut out,
            "found",
            "nothing: every structure proposed was too large; try a smaller --max-rank or more --iterations",
        ),
    }
    let Counts { samples, evaluations, cached, pruned, refused } = result.counts;
    let mut counts = format!("{samples} structures: {evaluations} evaluated, {cached} cached");
    for (n, what) in [(pruned, "pruned"), (refused, "refused as too large")] {
        if n > 0 {
            counts += &format!(", {n} {what}");
        }
    }
    line(&mut out, "searched", format!("{counts}, in {}", duration(result.seconds)));
    if args.strategy.name == "auto" && samples > 0 {
        let why = match result.strategy {
            "exact" if result.stopped_by == StoppedBy::Finished => {
                "exact search: the cuts leave few enough structures"
            }
            "exact" => "exact search, as far as it came",
            _ if result.lower_bound.is_none() => "TNLS: the cuts of this tensor bound nothing",
            _ => {
                "exact search found no answer among its first structures, so TNLS went on from the nearest"
            }
        };
        line(&mut out, "strategy", format!("chosen for you: {why}"));
    }
    if settings.plan.leaves_template() && result.best.is_some() {
        let preserved = match format_preserved {
            Some(true) => {
                format!("preserved: it is a {name} under some permutation, or a part of one")
            }
            Some(false) => format!("not preserved: it is no {name} under any permutation"),
            None => format!("not known: whether it is a {name} takes too long to find out"),
        };
        line(&mut out, "format", preserved);
    }
    line(&mut out, "proof", proof(result, args.max_rank));
    if result.runs.len() > 1 {
        let reached = result.runs.iter().filter(|r| r.target_reached).count();
        let found =
            result.best.as_ref().map_or(String::new(), |b| format!(", best is run {}", b.run));
        line(&mut out, "runs", format!("{reached} of {} reached the target{found}", args.runs));
    }
    line(&mut out, "ended by", result.stopped_by.name().replace('_', "-"));
    if let (Some(path), Some(_)) = (&args.output, &result.best) {
        line(&mut out, "written", path.display());
    }
    if let Some(path) = &args.page {
        line(&mut out, "report", path.display());
    }
    out
}
