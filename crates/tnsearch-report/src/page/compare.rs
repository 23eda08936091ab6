//! Several searches, or several runs of one, side by side.

use super::curves::{Along, Quantity, run_line};
use super::digest::{Digest, State};
use super::html::{Table, error_cells, error_heads, figure, raw, section as html_section};
use super::words;
use crate::plot::{Axis, Figure, Layer, Panel, Point, escape};
use tnsearch::problem::{Measure, Score};
use tnsearch_io::journal::Header;

/// Places along x at which the curves of a group are compared.
const GRID: usize = 160;
/// Groups beyond this number are not drawn: nobody could tell them apart.
const MAX_GROUPS: usize = 8;
/// What the errors of searches are called that do not measure alike.
static OTHERS: Measure = Measure::new("error", "error", "error", None);

/// The best of several searches: the first of those that none beats.
pub(super) fn best<'d, 'a>(digests: &'d [Digest<'a>]) -> Option<&'d Digest<'a>> {
    let score = |d: &Digest<'_>| {
        d.found.as_ref().map(|f| Score { loss: f.loss, error: f.error, params: f.params })
    };
    digests.iter().reduce(|best, next| {
        // Scores of different aims cannot be compared: then the one that reached its own counts.
        let same = same_aim(&best.journal().header, &next.journal().header);
        let better = match (score(best), score(next), next.journal().header.objective.check()) {
            (None, Some(_), _) => true,
            (Some(a), Some(b), Ok(objective)) if same => objective.better(&b, &a),
            _ => next.target_reached && !best.target_reached,
        };
        if better { next } else { best }
    })
}

/// Whether losses of two searches can be compared.
fn same_aim(a: &Header, b: &Header) -> bool {
    (a.objective, &a.measure) == (b.objective, &b.measure)
}

/// Searches that differ in nothing but their seed.
struct Group<'d, 'a> {
    name: String,
    members: Vec<&'d Digest<'a>>,
}

fn groups<'d, 'a>(digests: &'d [Digest<'a>]) -> Vec<Group<'d, 'a>> {
    let mut groups: Vec<Group<'d, 'a>> = Vec::new();
    for digest in digests {
        let (h, same) = (&digest.journal().header, |g: &&mut Group<'_, '_>| {
            let o = &g.members[0].journal().header;
            let h = &digest.journal().header;
            same_aim(h, o)
                && (&h.strategy, &h.template, &h.settings, &h.fit, &h.sha256)
                    == (&o.strategy, &o.template, &o.settings, &o.fit, &o.sha256)
        });
        match groups.iter_mut().find(same) {
            Some(group) => group.members.push(digest),
            None => {
                let name = format!("{}, {}", h.strategy, h.template.name());
                groups.push(Group { name, members: vec![digest] });
            }
        }
    }
    // Two groups of one name differ in a setting: say whose they are.
    let names: Vec<String> = groups.iter().map(|g| g.name.clone()).collect();
    for group in &mut groups {
        if names.iter().filter(|n| **n == group.name).count() > 1 {
            group.name = format!("{} ({})", group.name, group.members[0].search.name);
        }
    }
    groups
}

/// The comparison of several searches.
pub(super) fn section(digests: &[Digest<'_>], best: Option<&Digest<'_>>) -> String {
    let groups = groups(digests);
    let mut out = String::new();
    let tensors: std::collections::BTreeSet<&str> =
        digests.iter().map(|d| d.journal().header.sha256.as_str()).collect();
    let aims = digests.windows(2).all(|w| same_aim(&w[0].journal().header, &w[1].journal().header));
    if tensors.len() > 1 {
        out += "<p class=\"warn\" role=\"note\">These searches are not of the same tensor.</p>\n";
    }
    if !aims {
        out += "<p class=\"warn\" role=\"note\">These searches did not look for the same: their losses cannot be compared.</p>\n";
    }
    if let Some(best) = best {
        out += &format!(
            "<p>{} searches in {} of settings. {} <b>{}</b>.</p>\n",
            digests.len(),
            if groups.len() == 1 { "one set".to_owned() } else { format!("{} sets", groups.len()) },
            match aims && tensors.len() == 1 {
                true => "The best answer is that of",
                false => "The rest of the page shows",
            },
            escape(&best.search.name)
        );
    }
    out += "<div class=\"grid\">\n";
    let measure = measure(digests);
    let quantity = main_quantity(digests.first());
    for along in [Along::Evaluations, Along::Seconds] {
        let lines: Vec<(String, Vec<Vec<Point>>)> = groups
            .iter()
            .take(MAX_GROUPS)
            .map(|g| (g.name.clone(), lines(&g.members, quantity, along)))
            .collect();
        out += &curves(&lines, quantity.name(measure), along);
    }
    out += "</div>\n";
    if groups.len() > MAX_GROUPS {
        out += &format!(
            "<p class=\"note\">Only the first {MAX_GROUPS} of {} sets of settings are drawn.</p>\n",
            groups.len()
        );
    }
    out += &table(digests, measure).html();
    html_section("compare", "The searches compared", &out)
}

/// The runs of one search, where it made several.
pub(super) fn runs(digest: &Digest<'_>) -> Option<String> {
    if digest.journal().header.runs < 2 {
        return None;
    }
    let (quantity, along) = (main_quantity(Some(digest)), Along::Evaluations);
    let lines = vec![("runs".to_owned(), lines(&[digest], quantity, along))];
    Some(curves(&lines, quantity.name(digest.measure()), along))
}

/// What is minimised: the loss where it has a weight of the error; else it leads through what is no answer, and the
/// loss that guides is the one number that falls.
fn main_quantity(digest: Option<&Digest<'_>>) -> Quantity {
    match digest.map(|d| d.journal().header.objective) {
        Some(objective) if objective.max_params().is_some() => Quantity::Error,
        Some(objective) if objective.max_error().is_some() => Quantity::Params,
        _ => Quantity::Loss,
    }
}

/// The best so far of each run of some searches.
fn lines(members: &[&Digest<'_>], quantity: Quantity, along: Along) -> Vec<Vec<Point>> {
    let of = |d: &&Digest<'_>| {
        let mut runs: Vec<usize> = d.journal().records.iter().map(|r| r.run).collect();
        runs.sort_unstable();
        runs.dedup();
        // More runs than this are not made in practice; each needs a pass over the records.
        runs.truncate(64);
        runs.into_iter().map(|run| run_line(d, run, quantity, along)).collect::<Vec<_>>()
    };
    members.iter().flat_map(of).filter(|line| !line.is_empty()).collect()
}

fn curves(groups: &[(String, Vec<Vec<Point>>)], quantity: &str, along: Along) -> String {
    let mut panel = Panel::new("", along.axis(), Axis::log(quantity)).size(430.0, 280.0);
    let mut bands = false;
    for (name, lines) in groups {
        match &lines[..] {
            [] => {}
            // One evaluation makes no line.
            [line] if line.iter().all(|p| p.0 == line[0].0) => {
                panel = panel.add(Layer::dots(name, vec![line[0]]).size(5.0));
            }
            [line] => panel = panel.add(Layer::steps(name, line.clone())),
            lines => {
                bands = true;
                let (band, middle) = spread(lines);
                let name = format!("{name}: {} runs", lines.len());
                panel = panel.add(Layer::band(&name, band)).add(Layer::steps(&name, middle));
            }
        }
    }
    let name = format!("Best {quantity} against {}", along.name());
    let caption = match bands {
        true => {
            "The best answer so far of each run: the line is the median, the band reaches from the best run to the worst."
        }
        false => "The best answer so far.",
    };
    figure(&Figure::new(&name).panel(panel).inline(), &name, caption)
}

/// A band over x: x, low, high.
type Band = Vec<(f64, f64, f64)>;

/// The range and the median of step functions, from where the last of them begins; one that has ended stays
/// at its last value.
fn spread(lines: &[Vec<Point>]) -> (Band, Vec<Point>) {
    let start = lines.iter().filter_map(|l| l.first()).map(|p| p.0).fold(0.0, f64::max);
    let end = lines.iter().filter_map(|l| l.last()).map(|p| p.0).fold(start, f64::max);
    // At every place where something changes, or on an even grid where those are too many.
    let mut places: Vec<f64> =
        lines.iter().flatten().map(|p| p.0).filter(|x| *x >= start).chain([start, end]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() > GRID {
        places = (0..=GRID).map(|k| start + (end - start) * k as f64 / GRID as f64).collect();
    }
    let (mut band, mut middle) = (Vec::new(), Vec::new());
    for x in places {
        let mut values: Vec<f64> = lines.iter().filter_map(|line| at(line, x)).collect();
        values.sort_by(f64::total_cmp);
        if let (Some(low), Some(high)) = (values.first(), values.last()) {
            // What held until here, so that the band has steps, too.
            if let Some(&(_, low, high)) = band.last() {
                band.push((x, low, high));
            }
            band.push((x, *low, *high));
            let (a, b) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            middle.push((x, 0.5 * (a + b)));
        }
    }
    (band, middle)
}

/// The value of a step function.
fn at(line: &[Point], x: f64) -> Option<f64> {
    let before = line.partition_point(|p| p.0 <= x);
    before.checked_sub(1).map(|k| line[k].1)
}

/// The measure that all searches share, else one that says no more than "error".
fn measure<'a>(digests: &[Digest<'a>]) -> &'a Measure {
    let shared = |a, b| if a == b { a } else { &OTHERS };
    digests.iter().map(Digest::measure).reduce(shared).unwrap_or(&OTHERS)
}

fn table(digests: &[Digest<'_>], measure: &Measure) -> Table {
    let mut table = Table::new(
        "All searches",
        &[
            &["journal", "strategy", "template", "seed", "params"][..],
            &error_heads(measure),
            &["loss", "target", "proof", "evaluations", "seconds", "ended by"],
        ]
        .concat(),
    );
    for d in digests {
        let (h, found) = (&d.journal().header, d.found.as_ref());
        let proof = d.statement.short();
        let ended = match d.state {
            State::Ended(by) => by.name(),
            State::Open => "not on record",
        };
        let mut row = vec![
            d.search.name.clone(),
            words::strategy(d).to_owned(),
            h.template.name().to_owned(),
            h.seed.to_string(),
            found.map_or_else(|| "–".to_owned(), |f| f.params.to_string()),
        ];
        row.extend(error_cells(measure, found.map(|f| f.error)));
        row.extend([
            found.map_or_else(|| "–".to_owned(), |f| raw(f.loss)),
            if d.target_reached { "reached" } else { "not reached" }.to_owned(),
            proof,
            d.counts.evaluations.to_string(),
            raw(d.seconds),
            ended.to_owned(),
        ]);
        table.row(&row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_steps_is_that_of_their_values() {
        let lines = vec![
            vec![(1.0, 9.0), (3.0, 4.0), (5.0, 4.0)],
            vec![(1.0, 8.0), (2.0, 6.0)],
            vec![(2.0, 7.0), (4.0, 1.0), (5.0, 1.0)],
        ];
        let (band, middle) = spread(&lines);
        let ends = [(2.0, 6.0, 9.0), (3.0, 4.0, 7.0), (4.0, 1.0, 6.0), (5.0, 1.0, 6.0)];
        assert_eq!(band.iter().copied().step_by(2).collect::<Vec<_>>(), ends);
        let held: Vec<(f64, f64, f64)> = band.iter().copied().skip(1).step_by(2).collect();
        assert_eq!(held, [(3.0, 6.0, 9.0), (4.0, 4.0, 7.0), (5.0, 1.0, 6.0)]);
        assert_eq!(middle, [(2.0, 7.0), (3.0, 6.0), (4.0, 4.0), (5.0, 4.0)]);
        let one: Vec<Vec<Point>> = vec![(0..1000).map(|k| (f64::from(k), 1.0)).collect(); 2];
        assert_eq!(spread(&one).1.len(), GRID + 1);
    }
}
