//! The screen of `tnsearch watch`.

use super::{Writer, asked, counts, proof};
use crate::text::{number, shape};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph, Wrap};
use tnsearch::network::draw as text_picture;
use tnsearch_report::page::{Digest, Search};

/// Dots of single evaluations; more cannot be told apart on a terminal.
const MAX_DOTS: usize = 4000;

/// The screen while there is nothing to show.
pub fn wait(frame: &mut Frame<'_>, problem: &str) {
    let text =
        Paragraph::new(clean(problem)).alignment(Alignment::Center).wrap(Wrap { trim: true });
    let [_, middle, foot] =
        Layout::vertical([Constraint::Percentage(40), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(text, middle);
    frame.render_widget(keys(), foot);
}

/// The screen of a search.
pub fn draw(frame: &mut Frame<'_>, search: &Search, writer: Writer) {
    let digest = Digest::new(search);
    let area = frame.area();
    let head = summary(&digest, writer, area.width.into());
    let [top, body, foot] = Layout::vertical([
        Constraint::Length(head.len() as u16),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head), top);
    // Side by side where there is room, else one above the other, the structure as high as it needs.
    let wide = area.width >= 100;
    let inside = if wide { area.width * 2 / 5 } else { area.width }.saturating_sub(2);
    let best = structure(&digest, inside.into(), body.height.saturating_sub(2).into());
    let high = (best.len() as u16 + 2).min(body.height.saturating_sub(6).max(body.height / 2));
    let panes = match wide {
        true => Layout::horizontal([Constraint::Percentage(60), Constraint::Percentage(40)]),
        false => Layout::vertical([Constraint::Min(3), Constraint::Length(high)]),
    };
    let [first, second] = panes.areas(body);
    curve(frame, first, &digest);
    let block = Block::bordered().title(" best structure ");
    frame.render_widget(Paragraph::new(best).block(block), second);
    frame.render_widget(keys(), foot);
}

fn keys() -> Paragraph<'static> {
    Paragraph::new("q quits; a running search goes on")
        .style(Style::new().add_modifier(Modifier::DIM))
}

/// Where the text of a line begins.
const INDENT: usize = 10;

/// The lines on top, whole at any width.
fn summary(digest: &Digest<'_>, writer: Writer, width: usize) -> Vec<Line<'static>> {
    let colour = match writer {
        Writer::Somebody => Color::Green,
        _ => Color::Yellow,
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let header = &digest.journal().header;
    let name = digest.journal().input().unwrap_or("tensor");
    let mut found = Vec::new();
    match &digest.found {
        Some(best) => {
            found.push(Span::styled(clean(&super::best(best, header)), bold));
            if digest.target_reached {
                let phi = best.structure.phi(&header.dims);
                found.push(Span::raw(format!(", {} times smaller", number(1.0 / phi))));
            } else {
                found.push(Span::styled(" (target not reached)", Style::new().fg(Color::Yellow)));
            }
        }
        None => found.push(Span::raw("nothing was fitted yet")),
    }
    let plain = |text: String| vec![Span::raw(text)];
    let state = Style::new().fg(colour).add_modifier(Modifier::BOLD);
    let lines = [
        (
            "",
            vec![
                Span::styled(clean(&digest.search.name), bold),
                Span::raw("  "),
                Span::styled(super::state(digest, writer), state),
                Span::raw(format!("  {}, {}", clean(name), shape(&header.dims))),
            ],
        ),
        ("asked", plain(clean(&asked(digest)))),
        ("best", found),
        ("searched", plain(counts(digest))),
        ("proven", plain(proof(digest))),
    ];
    lines.into_iter().flat_map(|(name, text)| wrapped(name, text, width)).collect()
}

/// Text after a name, broken between words where it is longer than a line.
fn wrapped(name: &str, text: Vec<Span<'static>>, width: usize) -> Vec<Line<'static>> {
    let indent = if name.is_empty() { 0 } else { INDENT.min(width / 3) };
    let mut line = vec![Span::raw(format!("{name:<indent$}"))];
    let (mut used, mut lines) = (indent, Vec::new());
    for span in text {
        for word in span.content.split_inclusive(' ') {
            let long = word.trim_end().chars().count();
            if used + long > width && used > indent {
                lines.push(Line::from(std::mem::replace(
                    &mut line,
                    vec![Span::raw(" ".repeat(indent))],
                )));
                used = indent;
            }
            used += word.chars().count();
            line.push(Span::styled(word.to_owned(), span.style));
        }
    }
    lines.push(Line::from(line));
    lines
}

/// The picture of the best structure, or its ranks where there is no room for that.
fn structure(digest: &Digest<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(found) = &digest.found else { return Vec::new() };
    let picture = text_picture(&found.structure, &digest.journal().header.dims);
    let picture = picture.trim_matches('\n');
    let lines = || picture.lines();
    if lines().all(|l| l.chars().count() <= width) && lines().count() <= height.saturating_sub(6) {
        return lines().map(|l| Line::from(l.to_owned())).collect();
    }
    let vertices: Vec<String> =
        found.structure.permutation().iter().map(usize::to_string).collect();
    let edges = found.structure.edges().into_iter().filter(|e| e[2] > 1);
    let edges: Vec<String> = edges.map(|[u, v, r]| format!("{u}-{v}: {r}")).collect();
    let modes = format!("modes 0, 1, ... on vertices {}", vertices.join(", "));
    let mut out = wrapped("", vec![Span::raw(modes)], width);
    out.extend(wrapped("", vec![Span::raw(format!("ranks {}", edges.join(", ")))], width));
    out
}

/// The loss of every evaluation, and of the best so far, on a logarithmic scale.
fn curve(frame: &mut Frame<'_>, area: Rect, digest: &Digest<'_>) {
    let journal = digest.journal();
    let height = |loss: f64| loss.max(1e-16).log10();
    let mut dots: Vec<(f64, f64)> = Vec::new();
    let mut best: Vec<(f64, f64)> = Vec::new();
    let mut least = f64::INFINITY;
    for (k, record) in journal.records.iter().enumerate() {
        let at = (k + 1) as f64;
        dots.push((at, height(record.loss)));
        if record.loss < least {
            if least.is_finite() {
                best.push((at, height(least)));
            }
            least = record.loss;
            best.push((at, height(least)));
        }
    }
    let block = Block::bordered().title(" loss against evaluations ");
    let Some(&(end, _)) = dots.last() else {
        frame.render_widget(Paragraph::new("no evaluation yet").block(block), area);
        return;
    };
    best.push((end, height(least)));
    let (low, high) = dots.iter().fold((f64::MAX, f64::MIN), |(a, b), p| (a.min(p.1), b.max(p.1)));
    let room = (0.05 * (high - low)).max(0.05);
    let (low, high) = (low - room, high + room);
    let skip = dots.len().div_ceil(MAX_DOTS).max(1);
    let dots: Vec<(f64, f64)> = dots.into_iter().step_by(skip).collect();
    let sets = vec![
        Dataset::default()
            .name("evaluation")
            .marker(Marker::Dot)
            .graph_type(GraphType::Scatter)
            .style(Style::new().fg(Color::DarkGray))
            .data(&dots),
        Dataset::default()
            .name("best so far")
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(Color::Cyan))
            .data(&best),
    ];
    let label = |y: f64| number(10f64.powf(y));
    let x = Axis::default().bounds([1.0, end.max(2.0)]).labels(["1".to_owned(), format!("{end}")]);
    let y = Axis::default().bounds([low, high]).labels([
        label(low),
        label(0.5 * (low + high)),
        label(high),
    ]);
    frame.render_widget(Chart::new(sets).block(block).x_axis(x).y_axis(y), area);
}

/// A name without what could move the cursor.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use tnsearch_io::journal::JournalFile;

    fn search(evaluations: usize) -> Search {
        let mut text = String::from(
            r#"{"format":"tnsearch-journal","version":3,"tnsearch":"0.3.0","data":{"dims":[3,3,3],"sha256":"0"},"template":"ring","searched":"ring","objective":{"max_rse":0.0001},"strategy":"tnls","settings":{"max_rank":7},"fit":{},"seed":1,"runs":1}
{"begin":{"input":"X\u001b[2J.npy","command":["tnsearch"]}}
"#,
        );
        for k in 0..evaluations {
            let rank = 7 - k % 6;
            text += &format!(
                "{{\"run\":0,\"key\":\"3+0:0-1x{rank},0-2x2,1-2x2\",\"permutation\":[0,1,2],\"ranks\":[{rank},2,2],\"params\":{},\"rse\":{},\"loss\":{},\"sweeps\":1,\"restarts\":1,\"seconds\":{k}}}\n",
                12 * rank + 12,
                1e-6 / (k + 1) as f64,
                (12 * rank + 12) as f64 / 27.0
            );
        }
        let journal = JournalFile::parse(text.as_bytes()).unwrap();
        assert_eq!(journal.records.len(), evaluations);
        Search { name: "run.jsonl".into(), journal, facts: None }
    }

    fn screen(width: u16, height: u16, search: &Search) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, search, Writer::Somebody)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_screen_shows_state_best_and_curve() {
        let shown = screen(120, 30, &search(20));
        for words in [
            "run.jsonl  running",
            "params",
            "best structure",
            "(m0:3)",
            "20 evaluated",
            "loss against",
        ] {
            assert!(shown.contains(words), "{words}:\n{shown}");
        }
        assert!(!shown.contains('\u{1b}'));
        assert!(
            shown.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
            "no curve:\n{shown}"
        );
    }

    #[test]
    fn nothing_on_top_is_clipped_on_a_narrow_terminal() {
        let search = search(20);
        let digest = Digest::new(&search);
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (width, height) in [(80, 24), (60, 20)] {
            let shown = screen(width, height, &search);
            let top = flat(&shown.split('┌').next().unwrap().replace('\n', " "));
            for whole in
                [asked(&digest), counts(&digest), proof(&digest), "params, RE 2.36e-4".into()]
            {
                assert!(top.contains(&flat(&whole)), "{whole} at {width}x{height}:\n{shown}");
            }
            for words in ["loss against", "best structure", "m0", "q quits"] {
                assert!(shown.contains(words), "{words} at {width}x{height}:\n{shown}");
            }
        }
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let lines = wrapped("asked", vec![Span::raw("one two three four"), Span::raw(" five")], 20);
        let text: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
        assert_eq!(
            text.iter().map(|l| l.trim_end()).collect::<Vec<_>>(),
            ["asked one two three", "      four five"]
        );
    }

    #[test]
    fn any_size_and_any_journal_can_be_drawn() {
        for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            for evaluations in [0, 1, 2, 9000] {
                screen(width, height, &search(evaluations));
            }
        }
        let mut terminal = Terminal::new(TestBackend::new(10, 3)).unwrap();
        terminal.draw(|frame| wait(frame, "waiting for a very long name")).unwrap();
    }
}
