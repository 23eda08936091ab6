//! Searches the network of a tensor file: `cargo run --release --example search_file -- X.npy 1e-4`.
use std::error::Error;
use tnsearch::prelude::*;
use tnsearch::search::Event;
use tnsearch_io::{MemoryLimit, network, output::Output, read_tensor};

/// Finds the smallest ring with that error and writes it beside the tensor.
pub fn search_file(path: &str, max_rse: f64) -> Result<(u128, f64), Box<dyn Error>> {
    let x = Target::new(read_tensor(path, None, MemoryLimit::new(None))?.tensor)?;
    let mut progress = |event: &Event<'_>| {
        if let Event::Evaluated(e) = event {
            println!("{} params, RSE {:.3e}", e.params, e.error);
        }
    };
    let ring = Template::ring(x.dims().len())?;
    let found = Search::new(&x).template(ring).max_error(max_rse).listen(&mut progress).run()?;
    let best = found.best.ok_or("nothing could be fitted")?;
    let output = Output::check(format!("{path}.safetensors").as_ref())?;
    let net = best.network(x.dims())?;
    output.write(|w| network::write(w, &net, best.score.error))?;
    println!("{:?}, proven optimal: {}", best.structure.edges(), found.certified_optimal);
    Ok((best.score.params, best.score.error))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (path, rse) = (args.next().ok_or("which tensor?")?, args.next());
    search_file(&path, rse.map_or(Ok(1e-4), |text| text.parse())?).map(drop)
}
