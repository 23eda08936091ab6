//! Pages from journals of every kind.

use super::*;
use serde_json::json;
use tnsearch_io::journal::Header;
use tnsearch_io::lines::LinesProblem;

/// A journal of some evaluations whose losses fall in a ragged way.
fn journal(seed: u64, evaluations: usize, ended: bool) -> String {
    let header = json!({
        "format": "tnsearch-journal", "version": 2, "tnsearch": "0.1.0",
        "data": {"dims": [3, 3, 3, 3], "sha256": "abc"}, "template": "ring",
        "objective": {"max_rse": 1e-4}, "strategy": "tnls",
        "settings": {"iterations": 30, "max_rank": 7}, "fit": {"method": "als"}, "seed": seed, "runs": 1,
    });
    let mut out = format!("{header}\n");
    out += &format!(
        "{}\n",
        json!({"begin": {"input": "X.npy", "command": ["tnsearch", "search", "X.npy"]}})
    );
    for k in 0..evaluations {
        let ragged = (k * 7919 + seed as usize * 31) % 101;
        let rank = 1 + (ragged + 6 * (evaluations - k) / evaluations) % 7;
        let record = json!({
            "run": 0, "key": format!("k{k}"), "permutation": [0, 2, 1, 3], "ranks": [rank, 2, 2, 3],
            "params": 12 * rank + 40, "rse": 1e-3 / (1 + k + ragged) as f64,
            "loss": 2.0 / (1 + k + ragged) as f64, "sweeps": 5, "restarts": 1,
            "seconds": k as f64 * 0.01, "refused": false,
        });
        out += &format!("{record}\n");
        if k % 50 == 49 {
            let counts = json!({"samples": 2 * k, "evaluations": k + 1, "cached": k / 2, "pruned": k / 3, "refused": 0});
            let bound = json!({"params": 30, "rse": null, "loss": null});
            let record = json!({"generation": {"number": k / 50 + 1, "counts": counts, "lower_bound": bound, "seconds": k as f64 * 0.01}});
            out += &format!("{record}\n");
        }
    }
    // The order of keys in a written record is that of the struct; here only the first matters.
    let out: String = out.lines().map(|line| format!("{}\n", run_first(line))).collect();
    let out = consistent(&out);
    if !ended {
        return out;
    }
    let counts = json!({"samples": 3 * evaluations, "evaluations": evaluations, "cached": evaluations, "pruned": evaluations, "refused": 0});
    let best = json!({"run": 0, "permutation": [0, 2, 1, 3], "ranks": [1, 2, 2, 3], "params": 48, "rse": 1e-9, "loss": 48.0 / 81.0});
    let end = json!({"end": {"strategy": "tnls", "stopped_by": "finished", "counts": counts, "seconds": 9.5, "best": best,
        "target_reached": true, "lower_bound": {"params": 40, "rse": null, "loss": null},
        "certified_optimal": false, "proven_impossible": false}});
    out + &format!("{end}\n")
}

/// The journal with the keys, params and losses that follow from its structures.
fn consistent(text: &str) -> String {
    let first = text.lines().next().unwrap();
    let journal = JournalFile::new(Header::parse(first.as_bytes()).unwrap());
    let line = |line: &str| match line.starts_with("{\"run\"") {
        true => {
            let record = journal.consistent(&serde_json::from_str(line).unwrap()).unwrap();
            format!("{}\n", serde_json::to_string(&record).unwrap())
        }
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The same with another loss of the best, in its last line.
fn with_best_loss(text: &str, loss: f64) -> String {
    let (before, end) = text.trim_end().rsplit_once('\n').unwrap();
    let changed = end.replace(&format!("\"loss\":{}", 48.0 / 81.0), &format!("\"loss\":{loss}"));
    assert_ne!(changed, end);
    format!("{before}\n{changed}\n")
}

fn run_first(line: &str) -> String {
    match line.contains("\"sweeps\"") {
        true => format!("{{\"run\":0,{}", line[1..].replace("\"run\":0,", "")),
        false => line.to_owned(),
    }
}

fn search(name: &str, text: &str) -> Search {
    Search {
        name: name.to_owned(),
        journal: JournalFile::parse(text.as_bytes()).unwrap(),
        facts: None,
    }
}

#[test]
fn a_page_says_what_was_asked_and_found() {
    let html = page(&[search("run.jsonl", &journal(1, 200, true))]);
    for words in [
        "<title>X.npy: 1.69 times smaller as a tensor ring</title>",
        "48 parameters",
        "Every ring with ranks up to 7 that reaches the error has at least 40 params (found is 1.200 times that).",
        "none could save more than 16.7 % of the parameters found",
        "tnsearch search X.npy",
        "Copy as CSV",
        "does not hold the tensor&#39;s cut spectra",
    ] {
        let words = words.replace("&#39;", "'");
        assert!(html.contains(&words), "{words}");
    }
    assert_eq!(html, page(&[search("run.jsonl", &journal(1, 200, true))]));
    // Nothing but the names of XML comes from anywhere else.
    let foreign = html.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !foreign.contains("http:")
            && !foreign.contains("https:")
            && !foreign.contains("src=")
            && !foreign.contains("url(")
    );
}

/// The same journal with every third evaluation made of a path, every other third of a tree of its own.
fn of_formats(text: &str) -> String {
    let path = r#""format":{"name":"path","template":"path"}"#;
    let graph = r#"{"vertices":[{"mode":true},{"mode":true},{"mode":true},{"mode":true},{"mode":false}],"edges":[[0,4],[1,4],[2,4],[3,4]]}"#;
    let tree = format!(r#""format":{{"name":"any-tree","template":{graph}}}"#);
    let mut k = 0;
    let line = |line: &str| {
        if !line.starts_with("{\"run\"") {
            return format!("{line}\n");
        }
        k += 1;
        let (from, to) = (line.find("\"ranks\":").unwrap(), line.find(']').unwrap());
        let to = line[from..].find(']').map_or(to, |n| from + n);
        match k % 3 {
            0 => format!(
                "{}\"ranks\":[2,3,2]{},{path}}}\n",
                &line[..from],
                &line[to + 1..line.len() - 1]
            ),
            1 => format!(
                "{}\"ranks\":[2,3,2,3]{},{tree}}}\n",
                &line[..from],
                &line[to + 1..line.len() - 1]
            ),
            _ => format!("{line}\n"),
        }
    };
    consistent(&text.lines().map(line).collect::<String>())
}

#[test]
fn formats_are_told_apart() {
    let text = of_formats(&journal(1, 60, true));
    let html = page(&[search("run.jsonl", &text)]);
    for words in [
        "Params against error, by format",
        "The best of each format",
        "of 3 formats",
        ">any-tree</text>",
        ">path</text>",
        ">ring</text>",
        "The answer is of the format ",
        "(any-tree): ",
    ] {
        assert!(html.contains(words), "{words}");
    }
    let one = page(&[search("run.jsonl", &journal(1, 60, true))]);
    assert!(!one.contains("The best of each format") && !one.contains("by format"));
}

#[test]
fn vertices_are_named_alike_in_words_and_pictures() {
    let graph = tnsearch::graph::Template::from_graph(
        "mine",
        vec![true, true, true, false],
        vec![(0, 3), (1, 3), (2, 3)],
    );
    let structure = Structure::new(graph.unwrap().into(), vec![2, 0, 1], vec![3, 1, 2]).unwrap();
    assert_eq!(words::ranks(&structure, Default::default()), "m1–v3: 3, m0–v3: 2");
    let picture = network_inline(&structure, &[4, 5, 6], Default::default());
    for name in ["m0", "m1", "m2", "v3"] {
        assert!(picture.contains(&format!(">{name}<")), "{name}");
    }
}

#[test]
fn an_answer_that_misses_is_not_praised() {
    let end = "\"target_reached\":true";
    let missed = journal(1, 60, true)
        .replace(end, "\"target_reached\":false")
        .replace("\"rse\":1e-9", "\"rse\":0.04");
    // The paper's weight for what is missed: 0.02 * (0.04 / 1e-4 - 1).
    let missed = with_best_loss(&missed, 48.0 / 81.0 + 0.02 * (0.04 / 1e-4 - 1.0));
    let html = page(&[search("run.jsonl", &missed)]);
    let tiles = &html[html.find("<dl class=\"tiles\">").unwrap()..html.find("</dl>").unwrap()];
    assert!(tiles.contains("<b>not reached</b><span>RE 0.2, asked for 0.01</span>"), "{tiles}");
    assert!(
        tiles.contains("best so far") && !tiles.contains('×') && !tiles.contains("compression"),
        "{tiles}"
    );
    assert!(html.contains("X.npy: the target was not reached</title>"));
    assert!(html.contains(">best so far, target not reached<") && !html.contains(">chosen<"));
    // Others of the journal came nearer than what it calls the best.
    assert!(
        html.contains("The target was NOT reached: RE 0.2, not 0.01; of the 60 structures fitted")
    );
    assert!(html.contains("and the nearest has RE ") && !html.contains("The closest"));
}

#[test]
fn the_front_can_be_walked_with_and_without_a_script() {
    let html = page(&[search("run.jsonl", &journal(1, 60, true))]);
    let table = &html[html.find("<table id=\"front\">").unwrap()..];
    let rows = table[..table.find("</table>").unwrap()].matches("<tr>").count() - 1;
    assert!(rows > 1);
    // The slider is hidden until the script shows it; the table is always there.
    assert!(html.contains("<div class=\"slider\" hidden>"));
    assert!(html.contains(&format!("min=\"0\" max=\"{}\" step=\"1\"", rows - 1)));
    // Both drawings, wide and narrow, have a dot for each row.
    let dots = html.split("data-layer=\"front\" fill").skip(1);
    let counts: Vec<usize> =
        dots.map(|g| g[..g.find("</g>").unwrap()].matches("<circle").count()).collect();
    assert_eq!(counts, [rows, rows]);
    assert!(html.contains("<td data-h=\"ranks\">m0–"));
}

#[test]
fn no_plot_repeats_another() {
    let html = page(&[search("run.jsonl", &journal(1, 60, true))]);
    assert!(
        html.contains("Size against evaluations") && html.contains("Error against evaluations")
    );
    assert!(!html.contains("Loss against") && !html.contains("against time"));
    let lambda = journal(1, 60, true).replace("{\"max_rse\":0.0001}", "{\"lambda\":5.0}");
    let lambda = with_best_loss(&consistent(&lambda), 48.0 / 81.0 + 5.0 * 1e-9);
    let html = page(&[search("run.jsonl", &lambda)]);
    assert_eq!(html.matches("Loss against evaluations.</b>").count(), 1);
}

#[test]
fn spectra_that_do_not_break_off_are_drawn_as_curves() {
    let mut one = search("run.jsonl", &journal(1, 60, true));
    let cut = |spectrum: Vec<f64>, rest: f64| CutFacts {
        modes: vec![1],
        width: 2.0,
        needed: Some(2),
        error: 0.0,
        binding: true,
        spectrum,
        rest,
    };
    let facts = |cut: CutFacts| Some(Facts { cuts: vec![cut], cuts_seen: 1, ..Facts::default() });
    one.facts = facts(cut(vec![0.6, 0.3, 0.1], 0.0));
    let html = page(std::slice::from_ref(&one));
    assert!(html.contains("Decay of the spectra") && !html.contains("Cut spectra"));
    assert!(html.contains("least RE of a network") && html.contains("● m1"));
    one.facts = facts(cut(vec![0.6, 0.4, 1e-16], 0.0));
    let html = page(std::slice::from_ref(&one));
    assert!(!html.contains("Decay of the spectra") && html.contains("Cut spectra"));
}

#[test]
fn what_stands_at_its_cap_and_what_is_impossible_is_said() {
    let capped = journal(1, 60, true)
        .replace("\"ranks\":[1,2,2,3],\"rse\":1e-9", "\"ranks\":[1,2,2,7],\"rse\":1e-9");
    assert_ne!(capped, journal(1, 60, true));
    let html = page(&[search("run.jsonl", &capped)]);
    assert!(
        !html.contains("at the largest rank allowed"),
        "dimension 3 cannot use more than rank 6 there"
    );
    let text = journal(1, 60, true).replace("\"max_rank\":7", "\"max_rank\":3");
    let html = page(&[search("run.jsonl", &text)]);
    assert!(html.contains("1 of 4 edges is at the largest rank allowed, 3"));
    let text = text
        .replace("\"proven_impossible\":false", "\"proven_impossible\":true")
        .replace("\"target_reached\":true", "\"target_reached\":false");
    assert!(page(&[search("run.jsonl", &text)]).contains(
        "No ring with ranks up to 3 reaches RE 0.0100; it takes a larger --max-rank or another template."
    ));
    let said = json!({"proven": "impossible", "over": {"template": "ring", "max_rank": 3},
        "needed": {"rank": 12, "because": "mode 2 alone needs rank 12"}, "text": ""});
    let text = text.replace("{\"end\":{", &format!("{{\"end\":{{\"statement\":{said},"));
    assert!(page(&[search("run.jsonl", &text)]).contains(
        "No ring with ranks up to 3 reaches RE 0.0100: mode 2 alone needs rank 12; use --max-rank 12 or more."
    ));
}

/// The same journal as one of a search over several formats, as they were written before statements were.
fn of_all_formats(text: &str) -> String {
    let header = "\"template\":\"ring\"";
    let several = "\"template\":\"formats\",\"searched\":\"formats\"";
    let format = r#""format":{"name":"ring","template":"ring"}"#;
    let line = |line: &str| match line {
        l if l.starts_with("{\"run\"") => format!("{},{format}}}\n", &l[..l.len() - 1]),
        l if l.contains("{\"end\"") => {
            l.replace("\"best\":{", &format!("\"best\":{{{format},")) + "\n"
        }
        l => l.replacen(header, several, 1).replacen("\"version\":2", "\"version\":3", 1) + "\n",
    };
    text.lines().map(line).collect()
}

#[test]
fn a_bound_over_trees_is_none_for_what_has_a_cycle() {
    let text = of_all_formats(&journal(1, 60, true));
    let plain = |text: &str| {
        let one = search("run.jsonl", text);
        assert!(one.journal.damaged.is_empty(), "{:?}", one.journal.damaged);
        assert!(one.journal.end.is_some());
        page(&[one])
    };
    // The ring found has an edge of rank 1: it is a tree, but others that are drawn are not.
    let tree = plain(&text);
    assert!(tree.contains(
        "Every tree of any topology and ranks over these modes that reaches the error has at least 40 params"
    ));
    assert!(
        tree.contains("found is 1.200 times that")
            && tree.contains("none could save more than 16.7 %")
    );
    assert!(tree.contains("Networks with cycles are not among them"));
    // One with a cycle is neither above nor below such a bound.
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    let ring = text[..last].to_owned()
        + &text[last..]
            .replace("\"ranks\":[1,2,2,3],\"rse\":1e-9", "\"ranks\":[2,2,2,3],\"rse\":1e-9")
            .replace("\"params\":48", "\"params\":60")
            .replace(&format!("\"loss\":{}", 48.0 / 81.0), &format!("\"loss\":{}", 60.0 / 81.0));
    let cyclic = plain(&ring);
    assert!(cyclic.contains(
        "the answer is none of these: it has a cycle, so how much it could be improved is not known."
    ));
    let bound = [
        "\"lower_bound\":{\"loss\":null,\"params\":40",
        "\"lower_bound\":{\"loss\":null,\"params\":70",
    ];
    assert!(ring.contains(bound[0]));
    let small = plain(&ring.replace(bound[0], bound[1]));
    assert!(small.contains("it has a cycle, and is smaller than any of these can be."));
    for html in [tree, cyclic, small] {
        for never in [
            "on your own graph",
            "could still be saved",
            "proven lower bound",
            "Left of the proven bound",
            "proven: no tree of any topology and ranks over these modes below",
            "largest rank allowed",
        ] {
            assert!(!html.contains(never), "{never}");
        }
        assert!(!html.contains("optimal ✓"));
    }
}

#[test]
fn another_loss_goes_by_its_own_names_and_has_no_root() {
    let measure = json!({"id": "kl", "name": "KL&co", "meaning": "divergence", "root": null});
    let text = journal(1, 60, true).replacen('{', &format!("{{\"measure\":{measure},"), 1);
    let rse = page(&[search("run.jsonl", &journal(1, 60, true))]);
    assert!(rse.contains("<th scope=\"col\">RE</th>") && rse.contains("relative error RE"));
    let one = search("run.jsonl", &text);
    for html in [page(std::slice::from_ref(&one)), page(&[one.clone(), one])] {
        assert!(!html.contains("RSE") && !html.contains(">RE") && !html.contains("relative error"));
        assert!(html.contains("whose divergence (KL&amp;co) is at most"));
        assert!(html.contains("<th scope=\"col\">KL&amp;co</th>"));
        assert!(html.contains("Divergence. Values below 10⁻¹⁴"));
    }
    let mixed = [search("rse.jsonl", &journal(1, 60, true)), search("kl.jsonl", &text)];
    let html = page(&mixed);
    assert!(html.contains("did not look for the same") && html.contains(">error</th>"));
}

#[test]
fn every_picture_of_a_page_is_well_formed() {
    let searches = [1, 2, 3].map(|s| search(&format!("{s}.jsonl"), &journal(s, 120, s != 2)));
    let html = page(&searches);
    let mut pictures = 0;
    for part in html.split("<svg xmlns").skip(1) {
        let end = part.rfind("</svg>\n</div>").or_else(|| part.find("</svg>\n<")).unwrap();
        let svg = format!("<svg xmlns{}</svg>", &part[..end]);
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
        pictures += 1;
    }
    assert!(pictures > 8, "{pictures}");
    assert!(html.contains("The searches compared") && html.contains("3 runs"));
    assert!(html.contains("not ended") || html.contains("not on record"));
}

/// A figure that is proven is rounded to the side on which it stays true.
#[test]
fn nothing_is_said_to_be_out_of_reach_that_is_not() {
    let of = |error: f64, least: f64| {
        let mut search = search("X.npy", &journal(1, 5, true));
        let name = "the original order".to_owned();
        let peer = Peer { name, how: "fitted".into(), params: 48, error, least_error: Some(least) };
        search.facts =
            Some(Facts { peers: vec![peer], cuts: Vec::new(), cuts_seen: 0, notes: Vec::new() });
        page(&[search])
    };
    for (error, least, said) in [
        (0.5, 0.123456, "0.1234"),
        // Nearly what was reached: it is still not the least.
        (0.5, 0.499999, "0.4999"),
        (0.5, 0.5, "0.5"),
        (0.9, 0.0123996, "0.01239"),
        (0.9, 1.23996e-3, "0.001239"),
    ] {
        let html = of(error, least);
        assert!(html.contains(&format!("below {said} they cannot, which is proven")), "{least}");
        assert!(html.contains(&format!("no fit of it can go below RSE {said}<")), "{least}");
        assert!(!html.contains("and no less"), "{least}");
    }
}

#[test]
fn hostile_names_are_text() {
    let bad = "</title><script>alert(1)</script>'\"&.npy";
    let text = journal(1, 5, true).replace("X.npy", &bad.replace('"', "\\\""));
    let mut search = search(bad, &text);
    search.facts = Some(Facts {
        peers: vec![Peer {
            name: bad.into(),
            how: bad.into(),
            params: 9,
            error: 0.1,
            least_error: None,
        }],
        cuts: Vec::new(),
        cuts_seen: 0,
        notes: vec![bad.into()],
    });
    let html = page(&[search.clone(), search]);
    assert_eq!(html.matches("<script").count(), 1, "only ours");
    assert_eq!(html.matches("</script").count(), 1);
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_hundred_thousand_evaluations_make_a_small_page() {
    let one = search("run.jsonl", &journal(1, 100_000, true));
    let html = page(std::slice::from_ref(&one));
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert!(html.contains("points:"));
    let several = page(&[one.clone(), one.clone(), one]);
    assert!(several.len() < 2_000_000, "{}", several.len());
}

#[test]
fn journals_with_little_in_them_make_a_page() {
    let header = journal(1, 0, false).lines().next().unwrap().to_owned();
    let only_header = page(&[search("new.jsonl", &format!("{header}\n"))]);
    assert!(
        only_header.contains("nothing was fitted")
            && only_header.contains("No evaluation is on record")
    );
    let one = page(&[search("one.jsonl", &journal(1, 1, false))]);
    assert!(one.contains("One structure was fitted; there is no curve to draw."));
    assert!(one.contains("has not ended"));
    assert!(page(&[]).contains("tnsearch report"));
    // A journal of version 1 has evaluations only.
    let old: String = journal(1, 80, false)
        .replacen("\"version\":2", "\"version\":1", 1)
        .lines()
        .filter(|l| !l.starts_with("{\"begin\"") && !l.starts_with("{\"generation\""))
        .map(|l| format!("{l}\n"))
        .collect();
    let html = page(&[search("old.jsonl", &old)]);
    assert!(html.contains("does not say whether the search has ended"));
    assert!(html.contains("tnsearch search X.npy --max-rse 1e-4 --template ring"));
}

#[test]
fn torn_journals_are_read_up_to_the_tear_and_damaged_lines_left_out() {
    let text = journal(1, 60, true);
    let whole = JournalFile::parse(text.as_bytes()).unwrap();
    assert!(!whole.torn && whole.end.is_some());
    let first = text.find('\n').unwrap() + 1;
    for cut in (first..text.len()).step_by(97) {
        let read = JournalFile::parse(&text.as_bytes()[..cut]).unwrap();
        let lines = text[..cut].matches('\n').count();
        let expected = text.lines().take(lines).filter(|l| l.starts_with("{\"run\"")).count();
        assert_eq!(read.records.len(), expected, "cut at {cut}");
        assert_eq!(read.torn, !text[..cut].ends_with('\n'));
        page(&[Search { name: "torn".into(), journal: read, facts: None }]);
    }
    let refusal = |text: &str| JournalFile::parse(text.as_bytes()).unwrap_err();
    assert_eq!(refusal(""), LinesProblem::Empty);
    assert_eq!(refusal("hello\n"), LinesProblem::Foreign("journal"));
    assert_eq!(refusal("{\"format\":\"other\"}\n"), LinesProblem::Foreign("journal"));
    assert_eq!(
        refusal(&text.replacen("\"version\":2", "\"version\":6", 1)),
        LinesProblem::Newer { found: 6, known: 5 }
    );
    assert!(
        refusal(&text.replacen("\"version\":2", "\"version\":9", 1))
            .to_string()
            .contains("use a newer tnsearch")
    );
    for (from, to) in [("{\"run\":0", "{\"run\":x"), ("[0,2,1,3]", "[0,0,1,3]")] {
        let read = JournalFile::parse(text.replacen(from, to, 1).as_bytes()).unwrap();
        assert_eq!((read.records.len(), read.damaged[0].line), (whole.records.len() - 1, 3));
        page(&[Search { name: "damaged".into(), journal: read, facts: None }]);
    }
    let empty = refusal(&text.replacen("[3,3,3,3]", "[3,0,3,3]", 1));
    assert!(matches!(empty, LinesProblem::Header(_)), "{empty}");
}
