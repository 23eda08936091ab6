//! Pictures as tensors in the words of users.

use super::{Method, Sides, Tensorise, TensoriseError, parse_digits};
use serde::Deserialize;
use tnsearch::tensor::{ReshapeError, parse_shape};

/// How a picture becomes a tensor, in the words of users.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedPicture {
    /// `vdt`, `reshape` or `none`.
    pub tensorise: Option<String>,
    /// The digits of vdt, or the factors of reshape.
    pub factors: Option<String>,
    /// Make colours grey first.
    pub grey: bool,
    /// Resize first, rows x columns.
    pub resize: Option<String>,
    /// Take the middle of a picture whose sides do not have small factors.
    pub crop: bool,
}

impl AskedPicture {
    /// What is asked for; none where nothing is.
    ///
    /// ```
    /// use tnsearch_app::tensorise::AskedPicture;
    /// assert_eq!(AskedPicture::default().check().unwrap(), None);
    /// let grey = AskedPicture { grey: true, ..AskedPicture::default() };
    /// assert!(grey.check().unwrap().unwrap().grey);
    /// ```
    pub fn check(&self) -> Result<Option<Tensorise>, TensoriseError> {
        let factors = self.factors.as_deref();
        let named = |e: &dyn std::fmt::Display| TensoriseError::Asked(format!("--factors: {e}"));
        let method = match (self.tensorise.as_deref(), factors) {
            (Some("none") | None, Some(_)) => {
                let text = "--factors needs --tensorise vdt or reshape";
                return Err(TensoriseError::Asked(text.to_owned()));
            }
            (Some("none"), None) => Method::Plain,
            (Some("reshape"), f) => {
                Method::Reshape(f.map(str::parse).transpose().map_err(|e: ReshapeError| named(&e))?)
            }
            (Some("vdt") | None, f) => {
                Method::Vdt(f.map(parse_digits).transpose().map_err(|e| named(&e))?)
            }
            (Some(other), _) => {
                let text = format!("--tensorise is '{other}'; use vdt, reshape or none");
                return Err(TensoriseError::Asked(text));
            }
        };
        let resize = match self.resize.as_deref() {
            Some(text) => match parse_shape(text).as_deref() {
                Ok(&[height, width]) => Some([height, width]),
                _ => {
                    let text = format!(
                        "--resize: '{text}' is no size; use rows x columns such as 256x256"
                    );
                    return Err(TensoriseError::Asked(text));
                }
            },
            None => None,
        };
        let asked = self.tensorise.is_some() || self.grey || self.crop || resize.is_some();
        Ok(asked.then(|| {
            Tensorise::default().with(|t| {
                t.method = method;
                t.grey = self.grey;
                t.resize = resize;
                t.sides = if self.crop { Sides::Crop } else { Sides::Pad };
            })
        }))
    }
}
