//! A proof as a file, which others can check without us.

use crate::load::Data;
use std::sync::Arc;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::certificate::{Certificate, NoCertificate};
use tnsearch::graph::Template;
use tnsearch_io::output::{Output, OutputError};
use tnsearch_io::verify::{rendered, says};

/// Cases that a certificate, or a proof that is made for a claim, may have where nothing is said.
pub const CASES: usize = 200_000;

/// The cases that a certificate may have. None at all are refused, and a number where no certificate is asked for.
pub fn cases(given: Option<usize>, wanted: bool) -> Result<usize, SettingError> {
    let refused = |cases, why| Err(SettingError::new("certificate-cases", cases, why));
    match given {
        Some(cases) if !wanted => refused(cases, "it needs --certificate"),
        Some(0) => refused(0, "it must be at least 1"),
        given => Ok(given.unwrap_or(CASES)),
    }
}

/// Why a certificate could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// It cannot be put into words.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Writes a certificate; what should be said about it, if anything: where there is none, why. Nothing else is lost by that, but an
/// older one must not stand for it: it is removed.
pub fn write(
    output: &Output,
    made: &Result<Certificate, NoCertificate>,
    template: &Arc<Template>,
    data: &Data,
) -> Result<Option<String>, CertificateError> {
    let made = match made {
        Ok(made) => made,
        Err(why) => {
            let older = match output.remove()? {
                true => format!("; {}, from before, was removed", output.path().display()),
                false => String::new(),
            };
            return Ok(Some(format!("{why}{older}")));
        }
    };
    let short = made.short_of.as_ref().map(|claimed| {
        let says = says(made, template);
        format!(
            "the certificate proves less than the bound: {says}; no proof of {claimed} was found"
        )
    });
    let text = rendered(made, template, &data.target, data.reshape.as_ref())?;
    output.write(|w| w.write_all(text.as_bytes()))?;
    Ok(short)
}
