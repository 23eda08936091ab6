//! The paper's experiments from outside: files, going on where it stopped, refusals.

mod common;

use common::Place;

/// The results without the seconds they took.
fn results(place: &Place, folder: &str, name: &str) -> Vec<String> {
    let csv = String::from_utf8(place.read(&format!("{folder}/{name}.csv"))).unwrap();
    csv.lines().map(|l| l.rsplit_once(',').unwrap().0.to_owned()).collect()
}

#[test]
fn an_experiment_leaves_tables_and_a_picture_and_goes_on() {
    let place = Place::new();
    let command = "reproduce fig-lambda --quick --trials 2 --seed 5 -o out --progress";
    let ended = place.run(command);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("10 of 10 results"), "{}", ended.stdout);
    assert!(ended.stderr.contains("10 of 10: ring-4 B TNLS 0 lambda 1000"), "{}", ended.stderr);
    let whole = results(&place, "out", "fig-lambda");
    assert_eq!(whole.len(), 11);
    let markdown = String::from_utf8(place.read("out/fig-lambda.md")).unwrap();
    assert!(markdown.contains("![fig-lambda](fig-lambda.svg)"));
    assert!(place.read("out/fig-lambda.svg").starts_with(b"<svg"));

    // Killed in the middle of a line: what was whole is not made again, the rest is.
    let journal = place.read("out/results.jsonl");
    let ends: Vec<usize> =
        (0..journal.len()).filter(|&k| journal[k] == b'\n').map(|k| k + 1).collect();
    std::fs::create_dir(place.path("torn")).unwrap();
    place.write("torn/results.jsonl", &journal[..ends[4] + 20]);
    let ended = place.run(&command.replace("-o out", "-o torn"));
    assert!(ended.stderr.starts_with("1 of 6: "), "{}", ended.stderr);
    assert_eq!(results(&place, "torn", "fig-lambda"), whole);

    // A result that was changed is made again.
    let mut changed = journal.clone();
    changed[ends[4] + 40] ^= 1;
    place.write("torn/results.jsonl", &changed);
    let ended = place.run(&command.replace("-o out", "-o torn"));
    let words = "warning: torn/results.jsonl: line 6 is damaged (its checksum is wrong): that";
    assert!(ended.stderr.starts_with(words), "{}", ended.stderr);
    assert!(ended.stderr.lines().nth(1).unwrap().starts_with("1 of 1: "), "{}", ended.stderr);
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(results(&place, "torn", "fig-lambda")), sorted(whole.clone()));

    // All is there: nothing is made again.
    let ended = place.run(&format!("{command} --quiet"));
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
    assert_eq!(place.read("out/results.jsonl"), journal);

    // A part of it, and then the rest.
    let part = place.run(&format!("{} --only B", command.replace("-o out", "-o part")));
    assert!(part.stdout.contains("5 of 10 results"), "{}{}", part.stdout, part.stderr);
    place.run(&command.replace("-o out", "-o part"));
    assert_eq!(results(&place, "part", "fig-lambda"), whole);

    // Results of something else are not mixed in.
    let ended = place.run(&command.replace("--seed 5", "--seed 6"));
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("it was made with seed 5, now seed 6"), "{}", ended.stderr);
}

#[test]
fn pictures_stand_beside_their_table() {
    let place = Place::new();
    let command = "reproduce table-compression --quick --only TNLS -o out";
    let ended = place.run(command);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("2 of 14 results"), "{}", ended.stdout);
    for file in ["original", "TNLS"] {
        let png = place.read(&format!("out/pictures/vdt-drawn-1-{file}.png"));
        assert!(png.starts_with(b"\x89PNG"), "{file}");
    }
    let markdown = String::from_utf8(place.read("out/table-compression.md")).unwrap();
    assert!(markdown.contains("](pictures/reshape-drawn-1-TNLS.png)"), "{markdown}");
    // The same again makes nothing again.
    let before = place.read("out/results.jsonl");
    place.run(command);
    assert_eq!(place.read("out/results.jsonl"), before);
}

#[test]
fn bad_input_gets_one_line() {
    let place = Place::new();
    place.write("file", "x");
    for (arguments, expected) in [
        ("reproduce table9 -o out", "unknown experiment 'table9'; use table2, table3"),
        ("reproduce table2 -o file", "file is a file; --output needs a folder"),
        ("reproduce table2 -o file/out", "cannot make the folder file/out: "),
        ("reproduce table2 --trials 101 -o out", "trials is 101; it must be from 1 to 100"),
        (
            "reproduce table2 --quick --only TNLSS -o out",
            "--only \"TNLSS\" is in the name of no result",
        ),
        ("reproduce table2 --fit adam --scouts 8 -o out", "scouts is 8; adam takes 1 only"),
        ("reproduce table2", "--output <DIR>"),
        (
            "reproduce table-compression -o out",
            "needs pictures: --data DIR, with images/bsd-gray256",
        ),
        (
            "reproduce table-compression --data nowhere -o out",
            "no pictures in nowhere/images/bsd-gray256: ",
        ),
    ] {
        let ended = place.run(arguments);
        assert_eq!(ended.code, 2, "{arguments}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}
