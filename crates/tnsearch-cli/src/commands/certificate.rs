//! `--certificate`: a proof as a file, which others can check without us.

use super::data::Data;
use super::options::count;
use crate::terminal;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::certificate::{Certificate, NoCertificate};
use tnsearch::graph::Template;
use tnsearch_io::output::Output;
use tnsearch_io::verify::{rendered, says};

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
    if let Some(claimed) = &made.short_of {
        let says = says(made, template);
        terminal::note(
            "note",
            &format!(
                "the certificate proves less than the bound: {says}; no proof of {claimed} was found"
            ),
        );
    }
    let text = rendered(made, template, &data.target, data.reshape.as_ref())?;
    Ok(output.write(|w| w.write_all(text.as_bytes()))?)
}
