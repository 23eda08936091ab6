//! `--certificate`: a proof as a file, which others can check without us.

use super::data::Data;
use super::options::count;
use crate::terminal;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::certificate::{Certificate, NoCertificate};
use tnsearch::graph::Template;
use tnsearch_app::certificate;
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
        self.certificate_cases.unwrap_or(certificate::CASES)
    }
}

/// Writes a certificate, and says what there is to say about it.
pub fn write(
    output: &Output,
    made: &Result<Certificate, NoCertificate>,
    template: &Arc<Template>,
    data: &Data,
) -> anyhow::Result<()> {
    if let Some(said) = certificate::write(output, made, template, data)? {
        terminal::note("note", &said);
    }
    Ok(())
}
