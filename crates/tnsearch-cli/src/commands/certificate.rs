//! `--certificate`: a proof as a file, which others can check without us.

use super::data::Data;
use super::options::count;
use super::verify::given;
use crate::terminal;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::certificate::{Certificate, NoCertificate};
use tnsearch::graph::Template;
use tnsearch::problem::Over;
use tnsearch::tensor::Reshape;
use tnsearch_io::output::Output;

/// A proof as a file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct CertificateOptions {
    /// Write a proof of the lower bound that anybody can check without this program ('verify --certificate', or
    /// docs/check_certificate.py with numpy)
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Cases that it may have [default: 200000]
    #[arg(long, value_name = "N", requires = "certificate", value_parser = count::<usize>, allow_negative_numbers = true)]
    certificate_cases: Option<usize>,
}

impl CertificateOptions {
    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.certificate.as_deref()
    }

    /// Checks that it can be written.
    pub fn check(&self) -> anyhow::Result<Option<Output>> {
        Ok(self.path().map(Output::check).transpose()?)
    }

    /// How many cases it may have.
    pub fn cases(&self) -> usize {
        self.certificate_cases.unwrap_or(200_000)
    }
}

/// Which tensor a certificate is about.
#[derive(Serialize)]
struct DataFacts<'a> {
    dims: &'a [usize],
    dtype: &'a str,
    sha256: String,
    norm: Option<f64>,
}

/// Writes a certificate; where there is none, says why. Nothing else is lost by that, but an older one must not stand for
/// it: it is removed.
pub fn write(
    output: &Output,
    made: &Result<Certificate, NoCertificate>,
    template: &Arc<Template>,
    data: &Data,
) -> anyhow::Result<()> {
    let made = match made {
        Ok(made) => made,
        Err(why) => {
            let older = match output.remove()? {
                true => format!("; {}, from before, was removed", output.path().display()),
                false => String::new(),
            };
            terminal::note("note", &format!("{why}{older}"));
            return Ok(());
        }
    };
    let text = rendered(made, template, data)?;
    Ok(output.write(|w| w.write_all(text.as_bytes()))?)
}

/// A certificate as text: a line for each field, each cut and each case.
pub fn rendered(
    made: &Certificate,
    template: &Arc<Template>,
    data: &Data,
) -> anyhow::Result<String> {
    let target = &data.target;
    let x = given::tensor(target);
    let kind = target.kind().name();
    let facts = DataFacts {
        dims: &x.dims,
        dtype: kind,
        sha256: tnsearch_verify::fingerprint(&x, kind),
        norm: Some(target.norm_squared().sqrt() * target.scale()).filter(|n| n.is_finite()),
    };
    let reshaped: Option<&Reshape> = data.reshape.as_ref();
    let fields = [
        ("format", serde_json::to_string("tnsearch-certificate")?),
        ("version", "1".to_owned()),
        ("tnsearch", serde_json::to_string(env!("CARGO_PKG_VERSION"))?),
        ("says", serde_json::to_string(&says(made, template))?),
        ("data", serde_json::to_string(&facts)?),
        ("reshaped", serde_json::to_string(&reshaped)?),
        ("template", serde_json::to_string(&made.template)?),
        ("max_rank", serde_json::to_string(&made.max_rank)?),
        ("max_rse", serde_json::to_string(&made.max_rse)?),
        ("params", serde_json::to_string(&made.params)?),
        ("lost", serde_json::to_string(&made.lost)?),
    ];
    let mut out = "{\n".to_owned();
    for (name, value) in fields {
        out += &format!("  \"{name}\": {value},\n");
    }
    out +=
        &format!("  \"cuts\": {},\n  \"tree\": {}\n}}\n", lines(&made.cuts)?, lines(&made.tree)?);
    Ok(out)
}

/// A list with one line for each.
fn lines<T: Serialize>(items: &[T]) -> anyhow::Result<String> {
    let items = items.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>()?;
    Ok(format!("[\n    {}]", items.join(",\n    ")))
}

/// What it proves, in words.
fn says(made: &Certificate, template: &Arc<Template>) -> String {
    let over = Over::new(template, made.max_rank.unwrap_or(usize::MAX));
    let class = format!("every {}", over.class());
    let eps = made.max_rse;
    match made.params {
        Some(params) => {
            format!("{class} and an RSE of at most {eps:e} has at least {params} params")
        }
        None => format!("{class} has an RSE above {eps:e}"),
    }
}
