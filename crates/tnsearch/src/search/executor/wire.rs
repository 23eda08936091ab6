//! What goes to workers elsewhere and what comes back, as bytes that keep every bit.
//!
//! A worker gets a [`Job`] once (the data and the loss), then requests; it answers each with a result. The bytes are
//! MessagePack with named fields; the entries of tensors are raw.

use super::evaluator::{Evaluator, evaluator_for, makes_single_starts};
use crate::SettingError;
use crate::fit::{FitError, Fitted, Request};
use crate::problem::{DataError, Facts, Loss, LossSpec, Stop, Target};
use crate::tensor::raw::RawTensor;
use crate::tensor::{AnyTensor, Kind, TensorError};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thiserror::Error;

/// What the bytes mean; others are refused.
const VERSION: u32 = 1;

/// Why bytes cannot be used.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// They mean nothing.
    #[error("these bytes are no {what} of tnsearch: {why}")]
    Bytes {
        /// What they should be.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// They come from another version, or from a machine that holds numbers in another order.
    #[error(
        "this worker cannot take the job: {0}; install the same version of tnsearch on all machines"
    )]
    Other(String),
    /// The data is wrong.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The loss is wrong.
    #[error(transparent)]
    Loss(#[from] SettingError),
}

impl From<TensorError> for WireError {
    fn from(error: TensorError) -> Self {
        WireError::Data(error.into())
    }
}

fn write(value: &impl Serialize) -> Vec<u8> {
    // Into memory, and nothing in it refuses to be written.
    rmp_serde::to_vec_named(value).unwrap_or_else(|e| unreachable!("{e}"))
}

fn read<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, WireError> {
    rmp_serde::from_slice(bytes).map_err(|e| WireError::Bytes { what, why: e.to_string() })
}

/// What a worker is made from: the tensor that is fitted, shrunk or not, with all that belongs to it, and the loss. Its
/// entries are apart from the rest, so that a worker on the same machine can map them instead of being sent them.
#[derive(Debug, Clone)]
pub struct Job {
    header: Vec<u8>,
    target: Target,
    single_starts: bool,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    little_endian: bool,
    target: Facts,
    loss: String,
}

impl Job {
    /// Fits of this tensor by that loss, which must be one that has a name.
    pub fn new(target: &Target, loss: &dyn Loss) -> Result<Self, SettingError> {
        let Some(spec) = loss.spec() else {
            let expected =
                "it has no name by which another process could make it; search on threads";
            return Err(SettingError::new("loss", loss.measure().name, expected));
        };
        let header = Header {
            version: VERSION,
            little_endian: cfg!(target_endian = "little"),
            target: target.facts(),
            loss: spec,
        };
        let single_starts = makes_single_starts(target, loss);
        Ok(Job { header: write(&header), target: target.clone(), single_starts })
    }

    /// Everything but the entries: small (a mask takes a bit per entry).
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The tensor that is fitted.
    pub fn tensor(&self) -> &AnyTensor {
        self.target.tensor()
    }

    /// The bytes of its entries.
    pub fn entries(&self) -> &[u8] {
        self.tensor().as_bytes()
    }

    /// Whether its workers know requests for a single start.
    pub fn makes_single_starts(&self) -> bool {
        self.single_starts
    }
}

/// Fits what it is asked for: the other end of a [`Job`].
pub struct Worker {
    evaluator: Arc<dyn Evaluator>,
}

impl Worker {
    /// The kind and the dimensions of the tensor that belongs to a header.
    pub fn shape(header: &[u8]) -> Result<(Kind, Vec<usize>), WireError> {
        let Facts { kind, dims, .. } = Worker::header(header)?.target;
        Ok((kind, dims))
    }

    /// A worker from a job's header and the bytes of its entries, which are copied.
    pub fn new(header: &[u8], entries: &[u8]) -> Result<Self, WireError> {
        let (kind, dims) = Worker::shape(header)?;
        Worker::with_tensor(header, AnyTensor::from_bytes(kind, dims, entries)?)
    }

    /// A worker from a job's header and its tensor, whose entries may be held elsewhere.
    pub fn with_tensor(header: &[u8], tensor: AnyTensor) -> Result<Self, WireError> {
        let header = Worker::header(header)?;
        let target = Target::from_facts(tensor, &header.target)?;
        let loss = header.loss.parse::<LossSpec>()?.for_target(&target)?;
        Ok(Worker { evaluator: evaluator_for(&target, loss, None) })
    }

    fn header(bytes: &[u8]) -> Result<Header, WireError> {
        let header: Header = read("job", bytes)?;
        if header.version != VERSION {
            let found = header.version;
            return Err(WireError::Other(format!("it is of version {found}, not {VERSION}")));
        }
        if header.little_endian != cfg!(target_endian = "little") {
            return Err(WireError::Other("its numbers have their bytes in another order".into()));
        }
        Ok(header)
    }

    /// The answer to a request that has waited so many seconds since it was submitted. A fit that sees the stop, or the
    /// end of the time it has, ends as far as it has come.
    pub fn run(&self, request: &[u8], waited: f64, stop: &Stop) -> Result<Vec<u8>, WireError> {
        let Asked { request, seconds_left } = Asked::from_bytes(request)?;
        let left = seconds_left.map_or(f64::INFINITY, |left| (left - waited.max(0.0)).max(0.0));
        let stop = stop.within_seconds(left);
        let fitted = catch_unwind(AssertUnwindSafe(|| self.evaluator.evaluate(&request, &stop)));
        let result = match fitted {
            // Cut short, perhaps: not what an undisturbed search would find.
            Ok(Ok(fitted)) if stop.is_set() => Ok(Fitted { interrupted: true, ..fitted }),
            Ok(result) => result,
            Err(panic) => Err(FitError::Elsewhere(format!(
                "a worker has a fault, please report it: {}",
                said(&*panic)
            ))),
        };
        Ok(answer_to_bytes(&result))
    }
}

/// What a panic carried.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}

/// A request, and how long its result is of use.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What is to be fitted.
    pub request: Request,
    /// The seconds that were left when it was submitted; none: no limit.
    pub seconds_left: Option<f64>,
}

/// The warm cores of the request are beside it.
#[derive(Serialize, Deserialize)]
struct RawAsked<'a> {
    request: Request,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    warm: Option<Vec<RawTensor<'a>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seconds_left: Option<f64>,
}

impl Asked {
    /// The request as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let warm = self.request.warm.as_ref();
        let warm = warm.map(|cores| cores.iter().map(RawTensor::from).collect());
        let request = Request { warm: None, ..self.request.clone() };
        write(&RawAsked { request, warm, seconds_left: self.seconds_left })
    }

    /// The request that such bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let RawAsked { mut request, warm, seconds_left } = read("request", bytes)?;
        request.warm = warm.map(tensors).transpose()?.map(Arc::new);
        Ok(Asked { request, seconds_left })
    }
}

fn tensors(raw: Vec<RawTensor<'_>>) -> Result<Vec<AnyTensor>, TensorError> {
    raw.into_iter().map(AnyTensor::try_from).collect()
}

/// A result; the cores are beside it.
#[derive(Serialize, Deserialize)]
struct RawAnswer<'a> {
    result: Result<Fitted, FitError>,
    #[serde(borrow)]
    cores: Vec<RawTensor<'a>>,
}

/// A result as bytes, such as [`Worker::run`] gives.
pub fn answer_to_bytes(result: &Result<Fitted, FitError>) -> Vec<u8> {
    let cores = result.as_ref().map_or(&[][..], |fitted| &fitted.cores);
    let cores = cores.iter().map(RawTensor::from).collect();
    let result = match result {
        Ok(Fitted { error, sweeps, restarts, rescued, interrupted, graph, cores: _ }) => {
            Ok(Fitted {
                cores: Vec::new(),
                error: *error,
                sweeps: *sweeps,
                restarts: *restarts,
                rescued: *rescued,
                interrupted: *interrupted,
                graph: graph.clone(),
            })
        }
        Err(error) => Err(error.clone()),
    };
    write(&RawAnswer { result, cores })
}

/// The result that such bytes are.
pub fn answer_from_bytes(bytes: &[u8]) -> Result<Result<Fitted, FitError>, WireError> {
    let RawAnswer { result, cores } = read("answer", bytes)?;
    let cores = tensors(cores)?;
    Ok(result.map(|fitted| Fitted { cores, ..fitted }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::FitSettings;
    use crate::graph::ModeGraph;
    use crate::problem::{Huber, Mask, Measure, Objective, SquaredError};
    use crate::tensor::{Complex, Scalar, Tensor};
    use crate::{MemoryError, rng};

    fn noise<T: Scalar>(dims: &[usize], size: f64) -> AnyTensor {
        let mut rng = rng::stream(7, b"wire");
        let mut entry = || {
            let x = T::normal(&mut rng);
            T::from_parts(size * x.re(), size * x.im())
        };
        let data = (0..dims.iter().product()).map(|_| entry()).collect();
        Tensor::<T>::new(dims.to_vec(), data).unwrap().into()
    }

    fn asked(order: usize, warm: Option<Vec<AnyTensor>>) -> Asked {
        let settings = FitSettings { max_sweeps: 5, restarts: 2, ..FitSettings::default() };
        let edges = (1..order).map(|v| (v - 1, v, 2)).collect();
        let graph = ModeGraph::new(order, 0, edges);
        let mut request = Request::new(graph, Arc::new(settings.check().unwrap()), 3);
        request.warm = warm.map(Arc::new);
        Asked { request, seconds_left: None }
    }

    /// The same fit here and by a worker; a request that begins at its cores, too.
    fn same(target: &Target, loss: Arc<dyn Loss>) {
        let job = Job::new(target, &*loss).unwrap();
        let worker = Worker::new(job.header(), job.entries()).unwrap();
        let here = evaluator_for(target, loss, None);
        let mut warm = None;
        for _ in 0..2 {
            let asked = asked(target.dims().len(), warm.take());
            let bytes = asked.to_bytes();
            assert_eq!(Asked::from_bytes(&bytes).unwrap(), asked);
            let expected = here.evaluate(&asked.request, &Stop::new());
            let answer = worker.run(&bytes, 0.0, &Stop::new()).unwrap();
            let found = answer_from_bytes(&answer).unwrap();
            assert_eq!(found, expected);
            assert_eq!(answer, answer_to_bytes(&expected));
            warm = Some(expected.unwrap().cores);
        }
    }

    #[test]
    fn a_worker_fits_as_this_process_does() {
        let squared = || Arc::new(SquaredError);
        // One large enough to be scaled.
        for size in [1.0, 1e30] {
            same(&Target::new(noise::<f64>(&[3, 4, 2], size)).unwrap(), squared());
            same(&Target::new(noise::<f32>(&[3, 4, 2], size)).unwrap(), squared());
            same(&Target::new(noise::<Complex<f64>>(&[3, 4, 2], size)).unwrap(), squared());
            same(&Target::new(noise::<Complex<f32>>(&[3, 4, 2], size)).unwrap(), squared());
        }
        let x = noise::<f64>(&[3, 5, 4], 1.0);
        let mask = |keep: fn(usize) -> bool| {
            Mask::new(vec![3, 5, 4], (0..60).map(keep).collect()).unwrap()
        };
        let holes = Target::with_holes(x.clone(), &mask(|k| k % 7 != 0)).unwrap();
        same(&holes, squared());
        same(&holes.holding_out(&mask(|k| k % 5 == 1)).unwrap(), squared());
        same(&Target::new(x.clone()).unwrap(), Arc::new(Huber::new(0.1 + 0.2)));
        same(&holes, Arc::new(Huber::new(1e-3)));
        let counts = (0..60).map(|k| f64::from(k * k % 7)).collect();
        let counts = Target::new(Tensor::new(vec![3, 5, 4], counts).unwrap()).unwrap();
        for name in ["kl", "poisson", "huber"] {
            same(&counts, name.parse::<LossSpec>().unwrap().for_target(&counts).unwrap());
        }
    }

    #[test]
    fn a_shrunk_target_keeps_what_was_lost() {
        let entry = |n: usize| (n / 256 + 2 * (n / 16 % 16) + 4 * (n % 16)) as f64;
        let noise = |n: usize| entry(n) + 1e-3 * (n as f64).sin();
        let x = Tensor::new(vec![16; 3], (0..4096).map(noise).collect()).unwrap();
        let small = Target::new(x).unwrap();
        let small = small.shrink(Objective::MaxError(1e-2), &Default::default()).unwrap();
        assert!(small.lost() > 0.0 && small.entries() < 4096);
        let again = Target::from_facts(small.tensor().clone(), &small.facts()).unwrap();
        assert_eq!(again.facts(), small.facts());
        assert_eq!((again.lost(), again.full_dims()), (small.lost(), small.full_dims()));
        same(&small, Arc::new(SquaredError));
    }

    #[test]
    fn every_error_survives() {
        let errors = [
            FitError::Setting(SettingError::new("a", 1, "b")),
            FitError::Tensor(TensorError::Length { dims: vec![2], expected: 1 << 100, found: 3 }),
            FitError::Tensor(TensorError::NotFinite { index: vec![0, 1], value: "NaN".into() }),
            FitError::Tensor(TensorError::Zero),
            FitError::Modes { structure: 3, tensor: 4 },
            FitError::Memory(MemoryError::new("it", f64::INFINITY, 1.0)),
            FitError::Time,
            FitError::NoSweep,
            FitError::OneVertex,
            FitError::WarmStart { vertex: 1, found: vec![2], expected: vec![3, 4] },
            FitError::WarmKind { vertex: 0, found: Kind::C32, expected: Kind::F64 },
            FitError::Holes("so it is".into()),
            FitError::Interrupted,
            FitError::Elsewhere("gone".into()),
        ];
        for error in errors {
            let bytes = answer_to_bytes(&Err(error.clone()));
            assert_eq!(answer_from_bytes(&bytes).unwrap(), Err(error));
        }
    }

    #[test]
    fn a_time_that_is_over_is_told() {
        let target = Target::new(noise::<f64>(&[3, 4, 2], 1.0)).unwrap();
        let job = Job::new(&target, &SquaredError).unwrap();
        let worker = Worker::new(job.header(), job.entries()).unwrap();
        let late = Asked { seconds_left: Some(5.0), ..asked(3, None) }.to_bytes();
        let answer = worker.run(&late, 6.0, &Stop::new()).unwrap();
        match answer_from_bytes(&answer).unwrap() {
            Ok(fitted) => assert!(fitted.interrupted),
            Err(error) => assert!(matches!(error, FitError::Time | FitError::Interrupted)),
        }
    }

    #[test]
    fn bytes_that_mean_nothing_are_refused() {
        let target = Target::new(noise::<f64>(&[3, 4, 2], 1.0)).unwrap();
        let job = Job::new(&target, &SquaredError).unwrap();
        let whole = (job.header(), job.entries());
        for cut in 0..whole.0.len() {
            assert!(Worker::new(&whole.0[..cut], whole.1).is_err());
        }
        assert!(Worker::new(whole.0, &whole.1[8..]).is_err());
        let worker = Worker::new(whole.0, whole.1).unwrap();
        let request = asked(3, Some(vec![target.tensor().clone()])).to_bytes();
        for cut in 0..request.len() {
            assert!(worker.run(&request[..cut], 0.0, &Stop::new()).is_err());
            assert!(answer_from_bytes(&request[..cut]).is_err());
        }
        let other = Header { version: 9, ..Worker::header(whole.0).unwrap() };
        let refused = Worker::new(&write(&other), whole.1).err().unwrap().to_string();
        assert!(refused.contains("version 9"), "{refused}");
    }

    #[test]
    fn a_loss_without_a_name_stays_here() {
        #[derive(Debug)]
        struct Own;
        impl Loss for Own {
            fn measure(&self) -> Measure {
                Measure::new("own", "Own", "a loss of one's own", None)
            }
            fn value(&self, x: f64, z: f64) -> f64 {
                (x - z).powi(4)
            }
            fn derivative(&self, x: f64, z: f64) -> f64 {
                4.0 * (z - x).powi(3)
            }
        }
        let target = Target::new(noise::<f64>(&[3, 4, 2], 1.0)).unwrap();
        let refused = Job::new(&target, &Own).unwrap_err().to_string();
        assert!(refused.contains("Own") && refused.contains("threads"), "{refused}");
    }
}
