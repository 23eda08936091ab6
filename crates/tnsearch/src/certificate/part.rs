//! All trees of very many modes: a part of these is contracted with unit vectors.
//!
//! `||X u - Z u|| <= ||X - Z||`, and `Z u` is a tree with at least `I_n - 1` entries less (`bound/trees/cheap.rs`). So what no
//! tree of the contracted tensor goes below, and these entries, no tree of X goes below. Who checks it has the vectors.

use super::{Certificate, Claim, Contracted, Cut, NoCertificate, Priced};
use crate::bound::{ModeSet, Spectra, TreeBound};
use crate::problem::{Stop, Target};
use crate::tensor::Complex;
use std::collections::BTreeMap;

/// A proof of a claim about all trees, with so many modes left.
pub(super) fn prove(
    claim: &Claim,
    spectra: &Spectra,
    left: usize,
    stop: &Stop,
) -> Result<Certificate, NoCertificate> {
    let order = spectra.order();
    let trees = TreeBound::of_part(spectra, left, stop);
    let part = trees.contracted().ok_or(NoCertificate::Stopped)?;
    let errors = match claim.priced {
        Some((lambda, loss)) => trees.steps(lambda, loss),
        None => {
            let proven = claim.params.is_some_and(|p| trees.params(claim.max_rse) >= p.into());
            proven.then(|| vec![claim.max_rse])
        }
    };
    let errors = match errors {
        _ if stop.is_set() => return Err(NoCertificate::Stopped),
        None => return Err(NoCertificate::Part(order)),
        Some(errors) => errors,
    };
    let mut cuts = Vec::new();
    for half in 1..1u64 << (part.left.len() - 1) {
        if stop.is_set() {
            return Err(NoCertificate::Stopped);
        }
        let set: ModeSet = half << 1;
        let modes = || (0..part.left.len()).filter(|k| set >> k & 1 == 1).map(|k| part.left[k]);
        // One of each width.
        let of = errors.iter().filter_map(|&error| part.cut(set, error));
        let of: BTreeMap<usize, _> = of.map(|cut| (cut.width, cut)).collect();
        cuts.extend(of.into_iter().map(|(width, cut)| {
            let (tail, slack) = (cut.tail, cut.slack);
            Cut { modes: modes().collect(), width: width as u64, tail, slack }
        }));
    }
    let target = spectra.target();
    let vectors = part.vectors.iter().map(|(mode, u)| lifted(target, *mode, u));
    Ok(Certificate {
        template: claim.template.to_ref(),
        max_rank: None,
        max_rse: claim.max_rse,
        params: claim.params,
        priced: claim.priced.map(|(lambda, loss)| Priced { lambda, loss, errors }),
        lost: target.lost(),
        contracted: vectors.collect::<Option<_>>().ok_or(NoCertificate::Part(order))?,
        cuts,
        tree: Vec::new(),
        short_of: None,
    })
}

/// A vector for a mode of the tensor given, where that of a smaller one in its place is known; none where it has no basis.
fn lifted(target: &Target, mode: usize, u: &[Complex<f64>]) -> Option<Contracted> {
    let long = target.full_dims()[mode];
    let basis = target.shrunk().and_then(|shrunk| shrunk.basis(mode));
    let vector: Vec<Complex<f64>> = match basis {
        None => u.to_vec(),
        Some(basis) => {
            let row = |a: usize| (0..u.len()).map(move |k| basis.entry(a * u.len() + k) * u[k]);
            (0..long).map(|a| row(a).sum()).collect()
        }
    };
    let complex = target.kind().is_complex();
    let im = vector.iter().filter(|_| complex).map(|x| x.im).collect();
    (vector.len() == long).then(|| Contracted {
        mode,
        re: vector.iter().map(|x| x.re).collect(),
        im,
    })
}
