//! The file of a model: safetensors, the arrays of mean and covariance, everything else in the metadata.

use super::data::{Shares, Standard};
use super::grid::Grid;
use super::kernel::Kernel;
use super::model::Model;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use tnsearch::graph::{Structure, StructureFile};
use tnsearch::network::Network;
use tnsearch::tensor::Tensor;
use tnsearch_io::{FileError, MemoryLimit, Problem, named};

/// The mark of the files, in their metadata.
const FORMAT: &str = "tnsearch-tgp";
/// What the arrays are, in the metadata.
const ARRAYS: &str = "core.<vertex>: the mean of the function at the inducing points, standardised, as a network: its axes are \
    the edges [u,v,rank] of 'structure' at that vertex, in their order there, then its modes; root.<feature>: the lower factor \
    C_k of the covariance, the Kronecker product of all C_k C_k^T";

impl Model {
    /// Writes the model. The same model gives the same bytes.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut notes = BTreeMap::from([
            ("format", FORMAT.to_owned()),
            ("version", "1".to_owned()),
            ("tnsearch", env!("CARGO_PKG_VERSION").to_owned()),
            ("structure", json!(self.mean.structure().to_file()).to_string()),
            ("dims", json!(self.mean.dims()).to_string()),
            ("params", self.mean.params().to_string()),
            ("columns", json!(self.names).to_string()),
            ("standard", json!(self.standard).to_string()),
            ("grids", json!(self.grids).to_string()),
            ("kernel", json!(self.kernel).to_string()),
            ("shares", json!(self.shares).to_string()),
            ("rows", self.rows.to_string()),
            ("fingerprint", self.fingerprint.clone()),
            ("sweeps", self.sweeps.to_string()),
            ("arrays", ARRAYS.to_owned()),
        ]);
        if let Some(figures) = &self.figures {
            notes.insert("figures", json!(figures).to_string());
        }
        let square = |(k, root): (usize, &Vec<f64>)| {
            let m = self.grids[k].points;
            Tensor::new(vec![m, m], root.clone()).map_err(io::Error::other)
        };
        let roots = self.roots.iter().enumerate().map(square).collect::<io::Result<Vec<_>>>()?;
        let cores = self
            .mean
            .cores()
            .iter()
            .map(|c| c.as_f64().ok_or_else(|| io::Error::other("cores of 64 bits")));
        let cores = cores.collect::<io::Result<Vec<_>>>()?;
        let cores = cores.into_iter().enumerate().map(|(v, core)| (format!("core.{v}"), core));
        let arrays: Vec<_> =
            cores.chain(roots.iter().enumerate().map(|(k, r)| (format!("root.{k}"), r))).collect();
        named::write(to, &notes, &arrays)
    }

    /// Reads a model.
    pub fn read(path: &Path, limit: MemoryLimit) -> Result<Model, FileError> {
        let mut file = named::read(path, FORMAT, "Gaussian process", limit)?;
        let not = |why: String| Problem::NotAModel(format!("Gaussian process of tnsearch: {why}"));
        let mut read = || {
            let note = |name: &str| {
                file.notes.get(name).ok_or_else(|| not(format!("its metadata has no '{name}'")))
            };
            fn parsed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Problem> {
                let bad = |e: serde_json::Error| {
                    Problem::NotAModel(format!("Gaussian process of tnsearch: bad '{name}': {e}"))
                };
                serde_json::from_str(text).map_err(bad)
            }
            let version = note("version")?;
            if version != "1" {
                return Err(not(format!(
                    "its format version is {version}; this program knows version 1"
                )));
            }
            let structure: StructureFile = parsed("structure", note("structure")?)?;
            let structure = Structure::from_file(&structure)
                .map_err(|e| not(format!("bad 'structure': {e}")))?;
            let dims: Vec<usize> = parsed("dims", note("dims")?)?;
            let names: Vec<String> = parsed("columns", note("columns")?)?;
            let standard: Standard = parsed("standard", note("standard")?)?;
            let grids: Vec<Grid> = parsed("grids", note("grids")?)?;
            let kernel: Kernel = parsed("kernel", note("kernel")?)?;
            let shares: Shares = parsed("shares", note("shares")?)?;
            let rows: usize = parsed("rows", note("rows")?)?;
            let sweeps: usize = parsed("sweeps", note("sweeps")?)?;
            let fingerprint = note("fingerprint")?.clone();
            let figures =
                file.notes.get("figures").map(|text| parsed("figures", text)).transpose()?;
            let d = grids.len();
            let sound = |g: &Grid| {
                g.points >= 2 && g.step > 0.0 && g.step.is_finite() && g.from.is_finite()
            };
            let fits = names.len() == d + 1
                && (standard.mean.len(), standard.scale.len()) == (d + 1, d + 1)
                && kernel.lengths.len() == d
                && dims.iter().copied().eq(grids.iter().map(|g| g.points))
                && grids.iter().all(sound)
                && standard.scale.iter().all(|s| s.is_normal());
            if d == 0 || !fits {
                return Err(not(
                    "columns, grids, statistics and dimensions do not fit together".to_owned()
                ));
            }
            let mut take = |name: String, m: Option<usize>| {
                let array =
                    file.arrays.remove(&name).ok_or_else(|| not(format!("'{name}' is missing")))?;
                if array.data().iter().any(|x| !x.is_finite()) {
                    return Err(not(format!("'{name}' has numbers that are not finite")));
                }
                match m.filter(|m| array.dims() != [*m, *m]) {
                    Some(m) => {
                        Err(not(format!("'{name}' has shape {:?}, not [{m}, {m}]", array.dims())))
                    }
                    None => Ok(array),
                }
            };
            let cores =
                (0..structure.template().vertices()).map(|v| take(format!("core.{v}"), None));
            let cores = cores.collect::<Result<Vec<_>, _>>()?;
            let roots = grids
                .iter()
                .enumerate()
                .map(|(k, g)| Ok(take(format!("root.{k}"), Some(g.points))?.into_data()));
            let roots = roots.collect::<Result<Vec<_>, Problem>>()?;
            let mean = Network::new(structure, dims, cores).map_err(|e| not(e.to_string()))?;
            Ok(Model {
                names,
                standard,
                grids,
                kernel,
                mean,
                roots,
                shares,
                rows,
                fingerprint,
                sweeps,
                figures,
            })
        };
        read().map_err(|p| p.of(path))
    }
}
