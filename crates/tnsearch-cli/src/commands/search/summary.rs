//! What a search reports, and what it writes.

use super::Search;
use crate::Exit;
use crate::commands::certificate;
use crate::commands::data::Data;
use crate::commands::describe::{line, structure_lines};
use crate::commands::outputs::{Folder, Report};
use crate::text::{duration, number, shape};
use tnsearch::bound::CutBound;
use tnsearch::problem::Stop;
use tnsearch::search::{
    Counts, SearchResult, ShrunkSummary, StoppedBy, StrategySpec, chosen_format,
};
use tnsearch_app::summary::Asked;
use tnsearch_app::words;
use tnsearch_io::{network, output::Output};

/// What was asked, for when the answer is there.
pub(super) struct Described<'a> {
    pub args: &'a Search,
    pub data: &'a Data,
    pub asked: Asked,
}

impl Described<'_> {
    /// Writes the network and the reports.
    pub fn finish(
        &self,
        result: SearchResult,
        output: Option<&Output>,
        front: Option<&Folder>,
        report: &Report,
        certificate: Option<(&Output, Option<&CutBound>, &Stop)>,
    ) -> anyhow::Result<Exit> {
        let (args, data, measure) = (self.args, self.data, &result.measure);
        let (dims, reshape) = (data.target.dims(), data.reshape.as_ref());
        let best = result.best.as_ref();
        let mut saved = Ok(());
        if let Some(best) = best.filter(|best| !best.fitted.cores.is_empty()) {
            let found = best.network(dims)?;
            let rse = data.rse_of(&found, measure, best.score.error)?;
            data.confirm(&found, rse)?;
            saved = output.map_or(Ok(()), |output| {
                output.write(|w| network::write_reshaped(w, &found, rse, reshape))
            });
        }
        let written = self.write_front(&result, front)?;
        let summary = self.asked.summary(&result, data, &args.tensor, args.output.as_ref())?;
        let format_preserved = self.asked.format_preserved(&result);
        report.write(&summary, || self.text(&result, format_preserved, written))?;
        saved?;
        if let Some((output, bound, stop)) = certificate {
            let cases = args.proof.cases();
            let (made, template) = self.asked.certificate(&result, bound, cases, stop)?;
            certificate::write(output, &made, &template, data)?;
        }
        Ok(match result.stopped_by {
            StoppedBy::Interrupted => Exit::Interrupted,
            _ if result.target_reached => Exit::Done,
            _ => Exit::NotReached,
        })
    }

    /// Writes the networks of the Pareto front; how many.
    fn write_front(&self, result: &SearchResult, folder: Option<&Folder>) -> anyhow::Result<usize> {
        let Some(folder) = folder else { return Ok(0) };
        let (dims, reshape) = (self.data.target.dims(), self.data.reshape.as_ref());
        for best in &result.front {
            let found = best.network(dims)?;
            let output = folder.file(&format!("params-{}.safetensors", best.score.params))?;
            let rse = self.data.rse_of(&found, &result.measure, best.score.error)?;
            self.data.confirm(&found, rse)?;
            output.write(|w| network::write_reshaped(w, &found, rse, reshape))?;
        }
        Ok(result.front.len())
    }

    /// The summary for people.
    fn text(
        &self,
        result: &SearchResult,
        format_preserved: Option<bool>,
        written: usize,
    ) -> String {
        let (args, asked) = (self.args, &self.asked);
        let settings = &asked.settings;
        let mut out = String::new();
        self.data.lines(&mut out, &args.tensor);
        let objective = settings.objective.text(&result.measure);
        let runs = if args.runs > 1 { format!(", {} runs", args.runs) } else { String::new() };
        let (name, rank, seed) = (asked.template.name(), settings.max_rank, settings.seed);
        let strategy = &settings.strategy.name;
        let wanted = match asked.all_trees {
            true if asked.template.is_formats() => {
                format!("{objective}; several formats, seed {seed}{runs}")
            }
            true => format!("{objective}; all trees, seed {seed}{runs}"),
            false => {
                let ranks = match settings.widest_rank {
                    Some(_) => String::new(),
                    None => format!(", ranks up to {rank}"),
                };
                format!("{objective}; {name}{ranks}, {strategy}, seed {seed}{runs}")
            }
        };
        line(&mut out, "asked", wanted);
        if let Some(hint) = args.objective.hint() {
            line(&mut out, "mind", hint);
        }
        if let Some(ShrunkSummary { dims, lost, .. }) = &result.shrunk {
            let (small, name) = (shape(dims), &result.measure.name);
            line(&mut out, "shrunk", format!("to {small}, which loses {name} {}", number(*lost)));
        }
        self.found_lines(&mut out, result);
        self.format_lines(&mut out, result);
        let Counts { direct, samples, evaluations, cached, pruned, refused } = result.counts;
        let mut counts = format!("{samples} structures: {evaluations} evaluated, {cached} cached");
        for (n, what) in [(pruned, "pruned"), (refused, "refused as too large")] {
            if n > 0 {
                counts += &format!(", {n} {what}");
            }
        }
        if direct > 0 {
            counts = format!("{direct} by direct methods first; {counts}");
        }
        line(&mut out, "searched", format!("{counts}, in {}", duration(result.seconds)));
        if *strategy == StrategySpec::default().name && samples > 0 {
            line(&mut out, "strategy", format!("chosen for you: {}", words::chosen(result)));
        }
        if asked.leaves_template && result.best.is_some() {
            let preserved = match format_preserved {
                Some(true) => {
                    format!("preserved: it is a {name} under some permutation, or a part of one")
                }
                Some(false) => format!("not preserved: it is no {name} under any permutation"),
                None => format!("not known: whether it is a {name} takes too long to find out"),
            };
            line(&mut out, "format", preserved);
        }
        line(&mut out, "proof", words::proof(result));
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
        if let Some(folder) = &args.pareto {
            let (all, folder) = (result.pareto.len(), folder.display());
            line(
                &mut out,
                "pareto",
                format!("{written} of {all} networks of the front in {folder}"),
            );
        }
        if let Some(path) = &args.page {
            line(&mut out, "report", path.display());
        }
        out
    }

    fn found_lines(&self, out: &mut String, result: &SearchResult) {
        let Some(best) = &result.best else {
            let why = result.no_answer.map_or_else(String::new, |why| why.text());
            return line(out, "found", format!("nothing: {why}"));
        };
        let (objective, measure) = (self.asked.settings.objective, &result.measure);
        let found = result
            .missed_text(number)
            .unwrap_or_else(|| objective.score_text(&best.score, measure, number));
        line(out, "found", found);
        if let Some(rounding) = result.rounding_text(self.data.target.kind()) {
            line(out, "rounding", rounding);
        }
        let (dims, names) = (self.data.target.dims(), self.data.names());
        structure_lines(out, &best.structure, dims, names, measure, best.score.error);
        let reached = result.target_reached;
        let capped = match result.max_rank {
            Some(most) => words::capped(&best.structure, dims, most, objective, reached),
            None if best.structure.template().vertices() == 1 => Some(
                "only the tensor itself, as one core, is small enough and near enough".to_owned(),
            ),
            None => None,
        };
        // What is proven best is so for these ranks, and where it is impossible the proof says what it takes.
        if let Some(capped) = capped
            && !result.certified_optimal
            && !result.proven_impossible
        {
            line(out, "mind", capped);
        }
    }

    /// A line for each format, where there were several, and why the first was chosen.
    fn format_lines(&self, out: &mut String, result: &SearchResult) {
        let (objective, measure) = (self.asked.settings.objective, &result.measure);
        let mut name = "formats";
        let width = result.formats.iter().map(|f| f.format.len()).max().unwrap_or(0);
        for best in &result.formats {
            let missed = if best.target_reached { "" } else { ", target not reached" };
            let score = objective.score_text(&best.score, measure, number);
            let said = format!(
                "{:<width$}  {score}{missed}, after {}",
                best.format,
                duration(best.seconds)
            );
            line(out, std::mem::take(&mut name), said);
        }
        if let Some(why) = chosen_format(&result.formats, objective, measure, number) {
            line(out, "chosen", why);
        }
    }
}
