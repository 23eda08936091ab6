//! `cargo xtask bench`: our sweep against the machine's matrix products and against tensorly's sweep.

use crate::json::number;
use crate::{python, step};
use anyhow::{Context, Result};
use serde_json::Value;
use std::process::Command;

/// Runs the benches and prints the table of ratios.
pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        let given = arguments.join(" ");
        return Err(step::usage(format!("`cargo xtask bench` takes no options, not '{given}'")));
    }
    let python = step::step("the Python environment .venv", || {
        python::environment("benches/peer/requirements.txt")
    })?;
    let bench = ["bench", "--quiet", "-p", "tnsearch", "--bench", "sweep_speed"];
    // Built before anything is timed.
    step::run_step(step::cargo(&bench).arg("--no-run"))?;
    let peer = step::step("tensorly, one thread", || {
        json_line(&mut step::command(&python, &["benches/peer/tensorly_ring_als.py"]))
    })?;
    let ours = step::step("tnsearch", || json_line(&mut step::cargo(&bench)))?;
    print!("\n{}", table(&peer, &ours)?);
    Ok(())
}

/// The last line of JSON a command prints.
fn json_line(command: &mut Command) -> Result<Value> {
    let output = step::output(command)?;
    let line = output.lines().rev().find(|l| l.starts_with('{'));
    let line = line.context("the command printed no line of JSON")?;
    serde_json::from_str(line).context("the command printed bad JSON")
}

fn table(peer: &Value, ours: &Value) -> Result<String> {
    let text = |key: &str| peer[key].as_str().with_context(|| format!("the peer gave no {key}"));
    let name = format!("{} {}", text("peer")?, text("version")?);
    let (sweep, small) = (number(ours, "sweep_ms")?, number(ours, "sweep_3_6_us")?);
    let (peer_gemm, gemm) = (number(peer, "gemm512_gflops")?, number(ours, "gemm512_gflops")?);
    let mut out = format!("| one thread | {name} | tnsearch | ratio |\n");
    out += "| --- | ---: | ---: | ---: |\n";
    for (solver, key) in [("lstsq", "sweep_ms"), ("normal_eq", "sweep_normal_eq_ms")] {
        let theirs = number(peer, key)?;
        out += &format!(
            "| ALS sweep, 4^8, ring of ranks 6, ms (peer: {solver}) | {theirs:.1} | {sweep:.3} | {:.0} |\n",
            theirs / sweep
        );
    }
    out += &format!("| ALS sweep, 3^6, ring of ranks 3, us | - | {small:.1} | - |\n");
    for (what, key) in [
        ("4^8 sweep, fraction of the product rate", "gemm_fraction"),
        ("3^6 sweep, fraction of the product rate", "gemm_fraction_3_6"),
        ("a generation on two threads against one", "two_threads_speedup"),
    ] {
        out += &format!("| {what} | - | {:.2} | - |\n", number(ours, key)?);
    }
    for rank in [6, 8, 10] {
        for kind in ["f32", "complex64", "complex128"] {
            let ratio = number(ours, &format!("sweep_{rank}_{kind}"))?;
            out += &format!(
                "| 4^8 sweep, ranks {rank}, time in {kind} / in f64 | - | {ratio:.2} | - |\n"
            );
        }
    }
    let memory = |kind: &str| number(ours, &format!("memory_64_4_{kind}_mb"));
    out += &format!(
        "| fit of 64^4, ring of ranks 8, estimated MB in f32 (f64) | - | {:.0} ({:.0}) | - |\n",
        memory("f32")?,
        memory("f64")?
    );
    out += &format!(
        "| 512^3 product in f64, GFLOP/s | {peer_gemm:.1} | {gemm:.1} | {:.2} |\n",
        gemm / peer_gemm
    );
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_has_the_ratios() {
        let peer = json!({"peer": "tensorly", "version": "0.10.0", "sweep_ms": 130.0,
            "sweep_normal_eq_ms": 60.0, "gemm512_gflops": 40.0});
        let mut ours = json!({"sweep_ms": 2.0, "sweep_3_6_us": 20.04, "gemm512_gflops": 50,
            "gemm_fraction": 0.5, "gemm_fraction_3_6": 0.06, "two_threads_speedup": 1.9,
            "memory_64_4_f32_mb": 75.0, "memory_64_4_f64_mb": 150.0});
        for rank in [6, 8, 10] {
            for (kind, ratio) in [("f32", 0.6), ("complex64", 1.8), ("complex128", 3.5)] {
                ours[format!("sweep_{rank}_{kind}")] = ratio.into();
            }
        }
        let table = table(&peer, &ours).unwrap();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "| one thread | tensorly 0.10.0 | tnsearch | ratio |");
        assert!(lines[2].ends_with("(peer: lstsq) | 130.0 | 2.000 | 65 |"), "{}", lines[2]);
        assert!(lines[3].ends_with("(peer: normal_eq) | 60.0 | 2.000 | 30 |"), "{}", lines[3]);
        assert!(lines[4].ends_with("| - | 20.0 | - |"), "{}", lines[4]);
        assert!(lines[7].ends_with("one | - | 1.90 | - |"), "{}", lines[7]);
        assert!(
            lines[8].ends_with("ranks 6, time in f32 / in f64 | - | 0.60 | - |"),
            "{}",
            lines[8]
        );
        assert!(lines[17].ends_with("(f64) | - | 75 (150) | - |"), "{}", lines[17]);
        assert!(lines[18].ends_with("| 40.0 | 50.0 | 1.25 |"), "{}", lines[18]);
    }
}
