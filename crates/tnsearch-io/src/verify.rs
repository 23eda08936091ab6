//! What stands between files and those who check them: plain numbers for [`tnsearch_verify`], certificates as text, and proofs
//! that are made for a claim.

use crate::MemoryLimit;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tnsearch::bound::{BoundLimits, CutBound, Spectra};
use tnsearch::certificate::{Certificate, Claim, NoCertificate, prove};
use tnsearch::graph::{Template, TemplateRef};
use tnsearch::network::Network;
use tnsearch::problem::{Over, Stop, Target};
use tnsearch::tensor::{AnyTensor, Reshape};
use tnsearch_verify::claims::{self, Bounded, Least, Made, Tools};
use tnsearch_verify::{Array, Certificate as Given, Graph, Vertex};

/// The numbers of a tensor, times a power of two.
pub fn array(tensor: &AnyTensor, scale: f64) -> Array {
    let dims = tensor.dims().to_vec();
    let entries = || (0..tensor.len()).map(|k| tensor.entry(k));
    let re = entries().map(|x| x.re * scale).collect();
    let made = match tensor.kind().is_complex() {
        true => Array::complex(dims, re, entries().map(|x| x.im * scale).collect()),
        false => Array::real(dims, re),
    };
    made.unwrap_or_else(|| unreachable!("a tensor has as many entries as its shape says"))
}

/// The tensor as it was read.
pub fn tensor(target: &Target) -> Array {
    array(target.tensor(), target.scale())
}

/// Which entries errors are measured on; none: all.
pub fn known(target: &Target) -> Option<Vec<bool>> {
    target.measured().map(|mask| mask.as_slice().to_vec())
}

/// A network, number by number.
pub fn network(given: &Network) -> tnsearch_verify::Network {
    let structure = given.structure();
    let template = structure.template();
    tnsearch_verify::Network {
        dims: given.dims().to_vec(),
        external: (0..template.vertices()).map(|v| template.is_external(v)).collect(),
        at: structure.permutation().to_vec(),
        edges: structure.edges(),
        hub: template.copy_vertex(),
        cores: given.cores().iter().map(|core| array(core, 1.0)).collect(),
    }
}

/// A network and what its file says of it.
pub fn stored(
    given: &Network,
    reshape: Option<&Reshape>,
    rse: Option<f64>,
) -> serde_json::Result<claims::Stored> {
    Ok(claims::Stored {
        network: network(given),
        dtype: given.kind().name().to_owned(),
        template: serde_json::to_value(given.structure().to_file().template)?,
        reshaped: reshaped(reshape)?,
        rse,
    })
}

/// How a tensor was reshaped, as summaries have it.
pub fn reshaped(reshape: Option<&Reshape>) -> serde_json::Result<Value> {
    serde_json::to_value(reshape)
}

/// Which tensor a certificate is about.
#[derive(Serialize)]
struct DataFacts<'a> {
    dims: &'a [usize],
    dtype: &'a str,
    sha256: String,
    norm: Option<f64>,
}

/// A certificate as text: a line for each field, each cut and each case.
pub fn rendered(
    made: &Certificate,
    template: &Arc<Template>,
    target: &Target,
    reshape: Option<&Reshape>,
) -> serde_json::Result<String> {
    let x = tensor(target);
    let kind = target.kind().name();
    let facts = DataFacts {
        dims: &x.dims,
        dtype: kind,
        sha256: tnsearch_verify::fingerprint(&x, kind),
        norm: Some(target.norm_squared().sqrt() * target.scale()).filter(|n| n.is_finite()),
    };
    let text = |value: &dyn erased::Json| value.text();
    let version = match (made.contracted.is_empty(), &made.priced) {
        (false, _) => 3,
        (true, Some(_)) => 2,
        (true, None) => 1,
    };
    let mut fields = vec![
        ("format", text(&"tnsearch-certificate")?),
        ("version", text(&version)?),
        ("tnsearch", text(&env!("CARGO_PKG_VERSION"))?),
        ("says", text(&says(made, template))?),
        ("data", text(&facts)?),
        ("reshaped", text(&reshape)?),
        ("template", text(&made.template)?),
        ("max_rank", text(&made.max_rank)?),
    ];
    match &made.priced {
        None => {
            fields.push(("max_rse", text(&made.max_rse)?));
            fields.push(("params", text(&made.params)?));
        }
        Some(priced) => {
            fields.push(("lambda", text(&priced.lambda)?));
            fields.push(("loss", text(&priced.loss)?));
            if !priced.errors.is_empty() {
                fields.push(("errors", text(&priced.errors)?));
            }
        }
    }
    fields.push(("lost", text(&made.lost)?));
    let mut out = "{\n".to_owned();
    for (name, value) in fields {
        out += &format!("  \"{name}\": {value},\n");
    }
    if !made.contracted.is_empty() {
        out += &format!("  \"contracted\": {},\n", lines(&made.contracted)?);
    }
    out +=
        &format!("  \"cuts\": {},\n  \"tree\": {}\n}}\n", lines(&made.cuts)?, lines(&made.tree)?);
    Ok(out)
}

/// Anything that can be written as JSON.
mod erased {
    pub trait Json {
        fn text(&self) -> serde_json::Result<String>;
    }

    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> serde_json::Result<String> {
            serde_json::to_string(self)
        }
    }
}

/// A list with one line for each.
fn lines<T: Serialize>(items: &[T]) -> serde_json::Result<String> {
    let items = items.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>()?;
    Ok(format!("[\n    {}]", items.join(",\n    ")))
}

/// What it proves, in words.
pub fn says(made: &Certificate, template: &Arc<Template>) -> String {
    let over = Over::new(template, made.max_rank.unwrap_or(usize::MAX));
    let class = format!("every {}", over.class());
    let eps = made.max_rse;
    match (&made.priced, made.params) {
        (Some(priced), _) => {
            format!("{class} has phi + {} * RSE of at least {}", priced.lambda, priced.loss)
        }
        (None, Some(params)) => {
            format!("{class} and an RSE of at most {eps:e} has at least {params} params")
        }
        (None, None) => format!("{class} has an RSE above {eps:e}"),
    }
}

/// Errors below which singular values are computed, not their squares.
const SMALL: f64 = 1e-6;

/// Makes proofs for claims about a tensor, by the library. Whoever asks for one checks it.
pub struct Prover<'a> {
    /// The tensor.
    pub target: &'a Target,
    /// How it was reshaped.
    pub reshape: Option<&'a Reshape>,
    /// Cases that a proof may have.
    pub cases: usize,
    /// What may be used.
    pub limit: MemoryLimit,
    /// Asked again and again.
    pub stop: &'a Stop,
    /// Reads a network that a summary names.
    pub read: &'a dyn Fn(&str) -> Result<Network, String>,
}

impl Tools for Prover<'_> {
    fn prove(&self, claim: &Bounded) -> Made {
        match self.certificate(claim) {
            Ok(made) => made,
            Err(why) => Made::Not(why),
        }
    }

    fn graph(&self, name: &str, order: usize) -> Option<Graph> {
        // A name, never a file: a summary does not say what is read.
        let template = Template::parse(name, order).ok()?;
        let several = template.is_formats() || template.is_any_tree() || template.is_any();
        if several || template.copy_vertex().is_some() {
            return None;
        }
        let vertices = (0..template.vertices()).map(|v| Vertex { mode: template.is_external(v) });
        let edges = template.edges().iter().map(|&(u, v)| [u, v]).collect();
        Some(Graph { vertices: vertices.collect(), edges })
    }

    fn network(&self, name: &str) -> Result<tnsearch_verify::Network, String> {
        (self.read)(name).map(|found| network(&found))
    }
}

impl Prover<'_> {
    fn certificate(&self, claim: &Bounded) -> Result<Made, String> {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let order = self.target.dims().len();
        let template = match &claim.template {
            Value::String(name) => Template::parse(name, order).map_err(|e| text(&e))?,
            graph => {
                let reference: TemplateRef =
                    serde_json::from_value(graph.clone()).map_err(|e| text(&e))?;
                Template::from_ref(&reference, order).map_err(|e| text(&e))?
            }
        };
        let template = Arc::new(template);
        let max_rank = claim.max_rank.map_or(usize::MAX, |r| r as usize);
        let asked = |least: Least| match least {
            Least::Params(rse, params) => Claim::at_error(&template, max_rank, rse, params),
            Least::Loss(lambda, loss) => Claim::of_loss(&template, max_rank, lambda, loss),
        };
        // What rounding takes from a small tail decides whether it is above a small error.
        let svd = matches!(claim.least, Least::Params(eps, _) if eps < SMALL);
        let limits = BoundLimits::default().with(|l| l.max_bytes = Some(self.limit.bytes()));
        let spectra = Spectra::within(self.target, svd, &limits).map_err(|e| text(&e))?;
        let bound = CutBound::new(spectra.stoppable(self.stop));
        let proven = |least| prove(&asked(least), &bound, self.cases, self.stop);
        let made = match proven(claim.least) {
            Ok(made) => made,
            Err(NoCertificate::NotProven) if bound.spectra().left_out().text().is_none() => {
                // Nearly so: then rounding decides, and it may be true.
                let nearly = match claim.least {
                    Least::Params(eps, params) => Least::Params(eps * 0.99, params),
                    Least::Loss(lambda, loss) => Least::Loss(lambda, loss * (1.0 - 1e-6)),
                };
                return match proven(nearly) {
                    Err(NoCertificate::NotProven) => {
                        let why = "some structure passes all cuts and goes below it";
                        Ok(Made::Wrong(why.to_owned()))
                    }
                    Ok(_) => Err("it is so near to what the cuts say that rounding decides".into()),
                    Err(why) => Err(text(&why)),
                };
            }
            Err(why) => return Err(text(&why)),
        };
        let written =
            rendered(&made, &template, self.target, self.reshape).map_err(|e| text(&e))?;
        Ok(Made::Certificate(Box::new(Given::parse(&written).map_err(|e| text(&e))?)))
    }
}

#[cfg(test)]
mod tests;
