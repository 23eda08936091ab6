//! The lower bound of a summary, by a certificate.

use super::claims::{Checks, same_edges};
use crate::commands::options::{load_graph, load_template};
use crate::commands::{certificate, cuts};
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, needs_svd};
use tnsearch::certificate::{Claim as Asked, NoCertificate, prove};
use tnsearch::graph::{Template, TemplateRef};
use tnsearch::problem::Objective;
use tnsearch_verify::{Certificate, Class, Verdict};

/// What a summary claims about all structures of a class.
struct Claim {
    /// The class, as `bound_over` says it.
    template: Value,
    max_rank: Option<u64>,
    /// Whatever has this RSE at most ...
    max_rse: f64,
    /// ... has so many parameters at least; none: there is nothing.
    params: Option<u64>,
    /// As the summary has it.
    said: Value,
    name: &'static str,
}

/// What came of an attempt to prove a claim.
enum Made {
    Certificate(Box<Certificate>),
    /// It cannot be proven.
    Wrong(String),
    /// It was not.
    Not(String),
}

/// A number that is a little less: a bound on an error is met to within a part in 10^9.
const LESS: f64 = 1.0 - 1e-9;

impl Checks<'_> {
    /// The certificate, and what a summary says no structure can go below.
    pub fn bound(
        &mut self,
        summary: Option<&Value>,
        certificate: Option<&Certificate>,
    ) -> anyhow::Result<()> {
        let proven = certificate.is_some_and(|c| self.certificate(c));
        let Some(summary) = summary else { return Ok(()) };
        match self.claim(summary)? {
            None => {}
            Some(Err((name, said, why))) => self.found.not_checked(name, said, why),
            // Of the objectives, a bound on the error itself may be none.
            Some(Ok(claim))
                if claim.max_rse == 0.0 && summary["objective"]["max_rse"].is_null() =>
            {
                let why = Some("every error is at least zero".to_owned());
                self.found.said(claim.name, claim.said.clone(), claim.said, true, why);
            }
            Some(Ok(claim)) => self.lower_bound(&claim, certificate.filter(|_| proven))?,
        }
        self.optimal(summary);
        Ok(())
    }

    /// Whether a certificate is one of this tensor.
    fn certificate(&mut self, certificate: &Certificate) -> bool {
        let kind = self.data.target.kind().name();
        if !self.data.target.is_whole() {
            let why = "cuts of a tensor with holes bound nothing".to_owned();
            self.found.said("certificate", Value::Null, Value::Null, false, Some(why));
            return false;
        }
        match certificate.check(&self.x, kind, self.limits) {
            Err(why) => self.found.not_checked("certificate", Value::Null, why.to_string()),
            Ok(Err(refused)) => {
                let why = Some(refused.to_string());
                self.found.said("certificate", Value::Null, Value::Null, false, why);
            }
            Ok(Ok(made)) => match made.unchecked.first() {
                Some((cut, why)) => {
                    let (n, all) = (made.unchecked.len(), certificate.cuts.len());
                    let why = format!("{n} of {all} cuts were not computed; cut {cut}: {why}");
                    self.found.not_checked("certificate", Value::Null, why);
                }
                None => {
                    let (says, nodes, cuts) = (statement(certificate), made.nodes, made.cuts);
                    let why = Some(format!("{says} ({nodes} cases, {cuts} cuts)"));
                    self.found.said("certificate", Value::Null, Value::Null, true, why);
                }
            },
        }
        self.found.is("certificate", Verdict::Holds)
    }

    /// What a summary claims; or why that is not clear.
    #[allow(clippy::type_complexity, reason = "a claim, none, or why none")]
    fn claim(
        &self,
        summary: &Value,
    ) -> anyhow::Result<Option<Result<Claim, (&'static str, Value, String)>>> {
        let bound = &summary["lower_bound"];
        let impossible = summary["proven_impossible"].as_bool() == Some(true);
        let (name, said) = match (bound.is_null(), impossible) {
            (false, _) => ("lower_bound", bound.clone()),
            (true, true) => ("proven_impossible", json!(true)),
            (true, false) => return Ok(None),
        };
        let objective = &summary["objective"];
        let number = |v: &Value| v.as_f64();
        let unclear = |why: &str| Ok(Some(Err((name, said.clone(), why.to_owned()))));
        let (max_rse, params) = match (&objective["max_rse"], &objective["max_params"]) {
            (eps, _) if !eps.is_null() => {
                (number(eps), if impossible { None } else { bound["params"].as_u64() })
            }
            (_, most) if !most.is_null() && !impossible => {
                // No structure of so few parameters has a smaller error: whatever has one, has more.
                let more = most.as_u64().and_then(|p| p.checked_add(1));
                (number(&bound["rse"]).map(|b| b * LESS), more)
            }
            (_, most) if !most.is_null() => {
                return unclear("whether any structure is small enough is a matter of counting");
            }
            _ => return unclear("a loss of params and error has no certificate"),
        };
        let Some(max_rse) = max_rse.filter(|e| (0.0..1.0).contains(e)) else {
            return unclear("it has no error that a certificate could be about");
        };
        if params.is_none() && !impossible {
            return unclear("it has no number of params");
        }
        let order = self.x.dims.len();
        let over = &summary["bound_over"];
        let template = match &self.args.template {
            Some(spec) if spec == "any-tree" => json!("any-tree"),
            Some(spec) => serde_json::to_value(load_graph(spec, order)?.to_ref())?,
            None => over["template"].clone(),
        };
        if template.is_null() {
            return unclear(
                "the summary does not say which structures it is about; give --template and --max-rank",
            );
        }
        let max_rank = self.args.max_rank.map(|r| r as u64).or(over["max_rank"].as_u64());
        Ok(Some(Ok(Claim { template, max_rank, max_rse, params, said, name })))
    }

    /// Whether a claim follows from a certificate; where there is none, one is made and checked.
    fn lower_bound(&mut self, claim: &Claim, given: Option<&Certificate>) -> anyhow::Result<()> {
        let order = self.x.dims.len();
        let class = match &claim.template {
            Value::String(name) if name == "any-tree" => Class::Named(name.clone()),
            Value::String(name) => {
                // A name stands for a graph; which one is said here once more.
                let Some((external, edges)) = tnsearch_verify::family(name, order) else {
                    return self.by_graph(claim, name, given);
                };
                let vertices = external.into_iter().map(|mode| tnsearch_verify::Vertex { mode });
                Class::Graph(tnsearch_verify::Graph { vertices: vertices.collect(), edges })
            }
            graph => match serde_json::from_value(graph.clone()) {
                Ok(graph) => Class::Graph(graph),
                Err(e) => {
                    let why = format!("its class of structures is none: {e}");
                    self.found.not_checked(claim.name, claim.said.clone(), why);
                    return Ok(());
                }
            },
        };
        self.follows(claim, &class, given)
    }

    /// The same for a name whose graph only the library knows.
    fn by_graph(
        &mut self,
        claim: &Claim,
        name: &str,
        given: Option<&Certificate>,
    ) -> anyhow::Result<()> {
        let template = load_template(name, self.x.dims.len())?;
        let vertices = (0..template.vertices())
            .map(|v| tnsearch_verify::Vertex { mode: template.is_external(v) })
            .collect();
        let edges = template.edges().iter().map(|&(u, v)| [u, v]).collect();
        self.follows(claim, &Class::Graph(tnsearch_verify::Graph { vertices, edges }), given)
    }

    fn follows(
        &mut self,
        claim: &Claim,
        class: &Class,
        given: Option<&Certificate>,
    ) -> anyhow::Result<()> {
        if let Some(certificate) = given {
            match weaker(claim, class, certificate) {
                None => {
                    let why = Some(statement(certificate));
                    self.found.said(claim.name, claim.said.clone(), claim.said.clone(), true, why);
                    return Ok(());
                }
                Some(why) => {
                    let why = format!("the certificate {why}");
                    self.found.not_checked(claim.name, claim.said.clone(), why);
                    return Ok(());
                }
            }
        }
        match self.made(claim)? {
            Made::Not(why) => self.found.not_checked(claim.name, claim.said.clone(), why),
            Made::Wrong(why) => {
                self.found.said(claim.name, claim.said.clone(), Value::Null, false, Some(why));
            }
            Made::Certificate(made) => {
                // Made by the library, and so checked as one that came from anywhere.
                let kind = self.data.target.kind().name();
                let (said, name) = (claim.said.clone(), claim.name);
                match made.check(&self.x, kind, self.limits) {
                    Err(why) => self.found.not_checked(name, said, why.to_string()),
                    Ok(Err(refused)) => {
                        self.found.said(name, said, Value::Null, false, Some(refused.to_string()));
                    }
                    Ok(Ok(checked)) => {
                        match (checked.unchecked.first(), weaker(claim, class, &made)) {
                            (Some((cut, why)), _) => {
                                let (n, all) = (checked.unchecked.len(), made.cuts.len());
                                let why =
                                    format!("{n} of {all} cuts: not computed; cut {cut}: {why}");
                                self.found.not_checked(name, said, why);
                            }
                            (None, Some(why)) => {
                                self.found.not_checked(
                                    name,
                                    said,
                                    format!("what can be proven {why}"),
                                );
                            }
                            (None, None) => {
                                let (nodes, cuts) = (checked.nodes, checked.cuts);
                                let why =
                                    format!("{}; {nodes} cases, {cuts} cuts", statement(&made));
                                self.found.said(name, said.clone(), said, true, Some(why));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A certificate made for a claim.
    fn made(&self, claim: &Claim) -> anyhow::Result<Made> {
        let (target, order) = (&self.data.target, self.x.dims.len());
        let reference: TemplateRef = serde_json::from_value(claim.template.clone())?;
        let template = Arc::new(match &claim.template {
            Value::String(name) => load_template(name, order)?,
            _ => Template::from_ref(&reference, order)?,
        });
        let asked = Asked {
            template: template.clone(),
            max_rank: claim.max_rank.map_or(usize::MAX, |r| r as usize),
            max_rse: claim.max_rse,
            params: claim.params,
        };
        let limits = cuts::limits(None, self.limit);
        let svd = needs_svd(Objective::MaxError(claim.max_rse));
        let spectra = match Spectra::within(target, svd, &limits) {
            Ok(spectra) => spectra.stoppable(self.stop),
            Err(why) => return Ok(Made::Not(why.to_string())),
        };
        let bound = CutBound::new(spectra);
        let made = match prove(&asked, &bound, self.args.max_cases, self.stop) {
            Ok(made) => made,
            Err(NoCertificate::NotProven) if bound.spectra().left_out().text().is_none() => {
                let why = "some structure with fewer params passes all cuts";
                return Ok(Made::Wrong(why.to_owned()));
            }
            Err(why) => return Ok(Made::Not(why.to_string())),
        };
        let text = certificate::rendered(&made, &template, self.data)?;
        Ok(Made::Certificate(Box::new(Certificate::parse(&text)?)))
    }

    /// Whether what is called optimal meets the bound.
    fn optimal(&mut self, summary: &Value) {
        let net = &summary["net"];
        let claimed = summary["certified_optimal"].as_bool().or(net["certified_optimal"].as_bool());
        let (Some(claimed), Some(network)) = (claimed, &self.network) else { return };
        let (bound, rse) = (&summary["lower_bound"], self.rse());
        let params = network.params().unwrap_or(u128::MAX);
        if claimed && self.found.is("target_reached", Verdict::DoesNotHold) {
            self.found.compared("certified_optimal", claimed, false, false);
            return;
        }
        // Whatever the summary says of it, it has to be what was asked for.
        let objective = &summary["objective"];
        let beyond = objective["max_rse"].as_f64().zip(self.rse().ok());
        let missed = beyond.is_some_and(|(eps, rse)| rse > eps && !self.same(eps, rse));
        let larger = objective["max_params"].as_u64().is_some_and(|most| params > u128::from(most));
        if claimed && (missed || larger) {
            self.found.compared("certified_optimal", claimed, false, false);
            return;
        }
        let proven = ["lower_bound", "proven_impossible"];
        if claimed && !proven.iter().any(|name| self.found.is(name, Verdict::Holds)) {
            let why = "the lower bound was not proven".to_owned();
            self.found.not_checked("certified_optimal", claimed, why);
            return;
        }
        let near = |bound: f64, found: f64| {
            found <= bound * (1.0 + 1e-9) + 4e-12 || self.same(bound, found)
        };
        let met = match (bound["params"].as_u64(), bound["rse"].as_f64(), bound["loss"].as_f64()) {
            (Some(least), ..) => Some(params <= u128::from(least)),
            (_, Some(least), _) => rse.ok().map(|rse| near(least, rse)),
            (_, _, Some(least)) => {
                let loss = summary["loss"].as_f64();
                loss.map(|loss| loss <= least + 2e-9 * least.max(1.0))
            }
            _ => Some(false),
        };
        match met {
            // What is not called optimal may be so all the same: a bound over trees says nothing of cycles.
            Some(met) if !claimed || met => {
                self.found.compared("certified_optimal", claimed, claimed, true);
            }
            Some(_) => self.found.compared("certified_optimal", claimed, false, false),
            None => {
                let why = "the error was not checked".to_owned();
                self.found.not_checked("certified_optimal", claimed, why);
            }
        }
        if let (Some(gap), Some(least)) = (net["gap"].as_f64(), bound["params"].as_u64()) {
            let found = params as f64 / least as f64;
            self.found.compared("gap", gap, found, (gap - found).abs() <= 1e-9 * found);
        }
    }
}

/// What a certificate proves, in words made from its numbers.
fn statement(certificate: &Certificate) -> String {
    let class = match (&certificate.template, certificate.max_rank) {
        (Class::Named(_), _) => "every tree of any topology".to_owned(),
        (Class::Graph(_), Some(rank)) => {
            format!("every structure of its graph with ranks up to {rank}")
        }
        (Class::Graph(_), None) => "every structure of its graph".to_owned(),
    };
    let eps = certificate.max_rse;
    match certificate.params {
        Some(params) => {
            format!("{class} with an RSE of at most {eps:e} has at least {params} params")
        }
        None => format!("{class} has an RSE above {eps:e}"),
    }
}

/// Why a claim does not follow from a certificate; none where it does.
fn weaker(claim: &Claim, class: &Class, certificate: &Certificate) -> Option<String> {
    let same = match (class, &certificate.template) {
        (Class::Graph(a), Class::Graph(b)) => {
            a.vertices == b.vertices && same_edges(&a.edges, &b.edges)
        }
        (a, b) => a == b,
    };
    if !same {
        return Some("is about other structures".to_owned());
    }
    // None stands for any rank.
    let ranks = |rank: Option<u64>| rank.unwrap_or(u64::MAX);
    if ranks(certificate.max_rank) < ranks(claim.max_rank) {
        return Some(format!("is about ranks up to {} only", ranks(certificate.max_rank)));
    }
    if certificate.max_rse < claim.max_rse {
        return Some(format!(
            "is about an RSE of {:e}, not {:e}",
            certificate.max_rse, claim.max_rse
        ));
    }
    let params = |p: Option<u64>| p.unwrap_or(u64::MAX);
    if params(certificate.params) < params(claim.params) {
        return Some(format!("proves {} params only", params(certificate.params)));
    }
    None
}
