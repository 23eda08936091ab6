//! The example of a strategy outside the crates is short, works, and stands in the table.

#[path = "../examples/own_method.rs"]
#[expect(dead_code, reason = "an example's main is not called")]
mod own_method;

#[test]
fn plugs_into_the_runner_and_the_table() {
    let lines = include_str!("../examples/own_method.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
    let output = own_method::table().unwrap();
    let head = output.markdown.lines().find(|l| l.starts_with("| trial |")).unwrap();
    assert!(head.ends_with("| exact | descent |"), "{head}");
    // It finds rings as small as the hidden ones, like the others.
    let rows: Vec<&str> = output.csv.lines().filter(|l| l.contains(",descent,")).collect();
    assert!(rows.len() >= 2, "{}", output.csv);
    let good = |row: &&&str| row.split(',').nth(8).unwrap().parse::<f64>().is_ok_and(|e| e >= 1.0);
    assert!(rows.iter().filter(good).count() >= 1, "{rows:?}");
}
