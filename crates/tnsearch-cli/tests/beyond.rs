//! Certificates beyond 14 modes, from the command line.

mod common;

use common::Place;
use serde_json::Value;

#[test]
fn tensors_of_18_modes_have_certificates() {
    let place = Place::new();
    let made =
        place.run("generate --template path --order 18 --dim 2 --ranks 2..2 --seed 3 -o x.npy");
    assert_eq!(made.code, 0, "{made:?}");
    for template in ["path", "ring", "tree", "any-tree"] {
        let ended = place.run(&format!(
            "certify x.npy --template {template} --max-rse 1e-6 --nodes 20 --certificate c.json --json s.json"
        ));
        assert_eq!(ended.code, 0, "{template}: {ended:?}");
        let read = |name: &str| -> Value { serde_json::from_slice(&place.read(name)).unwrap() };
        let (file, summary) = (read("c.json"), read("s.json"));
        let (proven, bound) =
            (file["params"].as_u64().unwrap(), summary["lower_bound"]["params"].as_u64().unwrap());
        // Every mode of two entries needs rank 2 in all but trees, of which a part is bounded.
        let trees = template == "any-tree";
        assert!(proven >= if trees { 37 } else { 72 }, "{template}: {proven}");
        assert_eq!(file["version"], if trees { 3 } else { 1 }, "{template}");
        assert!(proven == bound || !trees, "{template}: {proven} {bound}");
        // A line says where it proves less than the bound, and only there.
        let says = format!("has at least {proven} params");
        assert!(file["says"].as_str().unwrap().ends_with(&says), "{}", file["says"]);
        let less = ended.stderr.contains("the certificate proves less than the bound");
        assert_eq!((less, proven < bound), (proven < bound, less), "{template}: {ended:?}");
        if trees {
            continue;
        }
        let checked = place.run("verify x.npy --certificate c.json");
        assert_eq!(checked.code, 0, "{template}: {checked:?}");
        // Twice as much is not proven.
        let text = String::from_utf8(place.read("c.json")).unwrap();
        let twice = text.replace(
            &format!("\"params\": {proven},"),
            &format!("\"params\": {},", 2 * proven + 200),
        );
        assert_ne!(twice, text);
        place.write("twice.json", twice);
        assert_eq!(place.run("verify x.npy --certificate twice.json").code, 1, "{template}");
    }
}

#[test]
fn a_certificate_of_less_stands_beside_the_bound_and_proves_no_more() {
    let place = Place::new();
    let path = "generate --template path --order 18 --dim 2 --ranks 2..2 --seed 3";
    assert_eq!(place.run(&format!("{path} -o x.npy --network net")).code, 0);
    let certify = "certify x.npy --template path --max-rse 1e-6 --nodes 20 --net net --json s.json";
    let ended = place.run(&format!("{certify} --certificate c.json --certificate-cases 2"));
    assert!(ended.stderr.contains("the certificate proves less than the bound"), "{ended:?}");
    let mut summary: Value = serde_json::from_slice(&place.read("s.json")).unwrap();
    let bound = summary["lower_bound"]["params"].as_u64().unwrap();
    assert!(bound > 72, "{bound}");
    let verdict = |place: &Place, claim: &str, options: &str| {
        let (code, said) = place.json(&format!("verify x.npy net s.json {options}"));
        let claims = said["claims"].as_array().unwrap().clone();
        let of = claims.into_iter().find(|c| c["claim"] == claim).unwrap_or_default();
        (code, of["verdict"].as_str().unwrap_or_default().to_owned())
    };
    // What the certificate leaves open is proven anew, or said to be open.
    let both = verdict(&place, "lower_bound", "--certificate c.json");
    assert_eq!(both, (0, "holds".to_owned()));
    let open = verdict(&place, "lower_bound", "--certificate c.json --max-cases 2");
    assert_eq!(open, (3, "not_checked".to_owned()));
    // A certificate of other structures is refused as ever.
    let other = certify.replace("--template path", "--template ring").replace("s.json", "r.json");
    place.run(&format!("{other} --certificate r.c"));
    assert!(place.path("r.c").exists());
    let foreign = verdict(&place, "certificate of the summary", "--certificate r.c");
    assert_eq!(foreign, (1, "does_not_hold".to_owned()));
    // The network itself has fewer params than a forged bound.
    summary["lower_bound"]["params"] = Value::from(1000);
    place.write("s.json", summary.to_string());
    let forged = verdict(&place, "lower_bound", "--certificate c.json");
    assert_eq!(forged, (1, "does_not_hold".to_owned()));
}
