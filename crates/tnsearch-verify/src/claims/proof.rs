//! Claims about all structures: the lower bound, by a certificate, and what is said because of it.

use super::class::{CP, has_graph, same_class};
use super::errors::{Goal, measured};
use super::structure::ALL_GRAPHS;
use super::{Checks, Command, close, number};
use crate::Verdict;
use crate::certificate::{Certificate, Class};
use serde_json::{Value, json};

/// What a summary claims about all structures of a class.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Bounded {
    /// The class, as a summary says it.
    pub template: Value,
    /// The same as a graph.
    pub class: Class,
    /// The largest rank of an edge; none: any.
    pub max_rank: Option<u64>,
    /// What none of them goes below.
    pub least: Least,
}

/// What no structure of a class goes below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Least {
    /// Whatever has an RSE of at most the first has at least so many params; none: there is nothing.
    Params(f64, Option<u64>),
    /// With the first as lambda no loss phi + lambda * RSE is below the second.
    Loss(f64, f64),
}

/// What came of an attempt to prove a claim.
#[derive(Debug)]
pub enum Made {
    /// A certificate.
    Certificate(Box<Certificate>),
    /// It cannot be proven.
    Wrong(String),
    /// It was not.
    Not(String),
}

/// A number that is a little less: a bound on an error is met to within a part in 10^9.
const LESS: f64 = 1.0 - 1e-9;

/// Up to so many modes all cuts are looked at, and a certificate proves the bound it was made for.
const WHOLE: usize = 14;

impl Checks<'_> {
    /// The certificate, and what a summary says no structure can go below.
    pub(super) fn proof(&mut self, summary: Option<&Value>) {
        let given = self.given.certificate;
        let proven = given.filter(|c| self.certificate(c));
        let Some(summary) = summary else { return };
        if matches!(self.command, Command::Search | Command::Certify) {
            self.agree(summary);
            let class = self.over(summary);
            match self.claimed(summary, class.clone()) {
                None if proven.is_some() => {
                    let why = "the summary claims no bound that it could be the proof of";
                    self.found.refused("certificate of the summary", &Value::Null, why);
                }
                None => {}
                Some((name, Err(why))) => {
                    self.found.not_checked(name, summary[name].clone(), why);
                }
                Some((name, Ok(claim))) => self.lower_bound(summary, name, &claim, proven),
            }
            self.needed_rank(summary, class.as_ref());
            self.optimal(summary, class.as_ref());
            self.statement(summary, class.as_ref());
        }
    }

    /// Whether a certificate is one of this tensor.
    fn certificate(&mut self, certificate: &Certificate) -> bool {
        if self.given.known.is_some() {
            let why = "cuts of a tensor with holes bound nothing";
            self.found.refused("certificate", &Value::Null, why);
            return false;
        }
        match certificate.check(self.given.x, self.given.dtype, self.limits) {
            Err(why) => self.found.not_checked("certificate", Value::Null, why.to_string()),
            Ok(Err(refused)) => {
                self.found.refused("certificate", &Value::Null, refused.to_string())
            }
            Ok(Ok(made)) => match made.unchecked.first() {
                Some((cut, why)) => {
                    let (n, all) = (made.unchecked.len(), certificate.cuts.len());
                    let why = format!("{n} of {all} cuts were not computed; cut {cut}: {why}");
                    self.found.not_checked("certificate", Value::Null, why);
                }
                None => {
                    let (says, nodes, cuts) = (certificate.says(), made.nodes, made.cuts);
                    let why = Some(format!("{says} ({nodes} cases, {cuts} cuts)"));
                    self.found.said("certificate", Value::Null, Value::Null, true, why);
                }
            },
        }
        self.found.is("certificate", Verdict::Holds)
    }

    /// Claims that cannot stand beside each other.
    fn agree(&mut self, summary: &Value) {
        let (bound, over) = (&summary["lower_bound"], &summary["bound_over"]);
        let impossible = summary["proven_impossible"].as_bool() == Some(true);
        let said = |name: &str| summary.get(name).is_some();
        self.strangers("bound_over", over, &["template", "max_rank"]);
        if impossible && !bound.is_null() {
            let why = "there is a lower bound of what it says there is none of";
            self.found.refused("proven_impossible", &json!(true), why);
        }
        if impossible && summary["objective"].get("lambda").is_some() {
            let why = "every structure has a loss: none is out of reach";
            self.found.refused("proven_impossible", &json!(true), why);
        }
        let claims = impossible || !bound.is_null();
        if claims && said("bound_over") && over.is_null() && self.given.template.is_none() {
            let why = "something is proven, of no structures";
            self.found.refused("bound_over", over, why);
        }
        let named = [&over["template"], &summary["template"]].map(|t| self.class(t));
        if let [Some(Class::Graph(bounded)), Some(Class::Graph(own))] = named
            && !over.is_null()
            && !ALL_GRAPHS.iter().any(|s| summary["strategy"] == json!(s))
            && !same_class(&Class::Graph(bounded), &Class::Graph(own))
        {
            let why = "another template was searched";
            self.found.refused("bound_over", over, why);
        }
        if !claims && !over.is_null() && self.command == Command::Search {
            self.found.refused("bound_over", over, "nothing is proven of these structures");
        }
        if self.command == Command::Certify
            && !over["max_rank"].is_null()
            && summary.get("max_rank").is_some()
            && over["max_rank"] != summary["max_rank"]
        {
            self.found.refused("max_rank", &summary["max_rank"], "the bound is about other ranks");
        }
        let id = measured(summary).0;
        self.strangers("lower_bound", bound, &["params", id, "loss"]);
        if bound.is_null() {
            return;
        }
        // Of the three that was minimised is a number.
        let of = |name: &str| number(bound, name).is_some_and(|b| b.is_finite() && b >= 0.0);
        let set = ["params", id, "loss"].map(|name| !bound[name].is_null());
        let expected = match Goal::of(&summary["objective"], id) {
            None => return,
            Some(Goal::MaxError(_)) => ([true, false, false], "params"),
            Some(Goal::MaxParams(_)) => ([false, true, false], id),
            Some(Goal::Lambda(_)) => ([false, false, true], "loss"),
        };
        if set != expected.0 || !of(expected.1) {
            let why = format!(
                "what was asked for has a bound on its {}, and on nothing else",
                expected.1
            );
            self.found.refused("lower_bound", bound, why);
        }
    }

    /// The structures that the bound is about.
    fn over(&mut self, summary: &Value) -> Option<Class> {
        let over = &summary["bound_over"];
        let template = self.given.template.clone().unwrap_or(over["template"].clone());
        if template.is_null() {
            return None;
        }
        let class = self.class(&template);
        let ranked = over["max_rank"].as_u64().is_some_and(|r| r > 0);
        let fits = match &class {
            Some(Class::Named(name)) if name == CP => true,
            Some(Class::Named(_)) => over["max_rank"].is_null(),
            Some(Class::Graph(_)) => ranked || self.given.max_rank.is_some(),
            None => false,
        };
        if over.is_null() || self.is_wrong("bound_over") {
            return class;
        }
        match (&class, fits) {
            (None, _) => {
                let why = "its class of structures is none that is known here";
                self.found.not_checked("bound_over", over.clone(), why);
            }
            (_, false) => {
                let why = "graphs have a largest rank, trees of any topology have none";
                self.found.refused("bound_over", over, why);
            }
            (_, true) => {
                let why = Some("what the bound below is proven of".to_owned());
                self.found.said("bound_over", over.clone(), Value::Null, true, why);
            }
        }
        class
    }

    /// What a summary claims; or why that is not clear.
    fn claimed(
        &self,
        summary: &Value,
        class: Option<Class>,
    ) -> Option<(&'static str, Result<Bounded, String>)> {
        let bound = &summary["lower_bound"];
        let impossible = summary["proven_impossible"].as_bool() == Some(true);
        let name = match (bound.is_null(), impossible) {
            (false, _) => "lower_bound",
            (true, true) => "proven_impossible",
            (true, false) => return None,
        };
        Some((name, self.claim(summary, class, impossible)))
    }

    fn claim(
        &self,
        summary: &Value,
        class: Option<Class>,
        impossible: bool,
    ) -> Result<Bounded, String> {
        let (bound, objective) = (&summary["lower_bound"], &summary["objective"]);
        let (id, _) = measured(summary);
        if id != "rse" {
            return Err(format!("cuts bound the squared error, not {id}"));
        }
        let least = match Goal::of(objective, id) {
            None => return Err("the summary does not say what was asked for".to_owned()),
            Some(Goal::MaxError(eps)) if impossible => Least::Params(eps, None),
            Some(Goal::MaxError(eps)) => {
                let params = bound["params"].as_u64().ok_or("it has no number of params")?;
                Least::Params(eps, Some(params))
            }
            Some(Goal::MaxParams(_)) if impossible => {
                let why = "whether any structure is small enough is a matter of counting";
                return Err(why.to_owned());
            }
            // No structure of so few parameters has a smaller error: whatever has one, has more.
            Some(Goal::MaxParams(_)) => {
                let rse = number(bound, "rse").ok_or("it has no error")?;
                let most = objective["max_params"].as_u64().and_then(|p| p.checked_add(1));
                Least::Params(rse * LESS, Some(most.ok_or("it has no number of params")?))
            }
            Some(Goal::Lambda(lambda)) => {
                Least::Loss(lambda, number(bound, "loss").ok_or("it has no loss")? * LESS)
            }
        };
        if let Least::Params(eps, _) = least
            && !(0.0..1.0).contains(&eps)
        {
            return Err("it has no error that a certificate could be about".to_owned());
        }
        let over = &summary["bound_over"];
        let template = self.given.template.clone().unwrap_or(over["template"].clone());
        if template.is_null() {
            return Err(
                "the summary does not say which structures it is about; give --template and --max-rank".to_owned()
            );
        }
        let class = class.ok_or("its class of structures is none that is known here")?;
        let max_rank = self.given.max_rank.or(over["max_rank"].as_u64());
        Ok(Bounded { template, class, max_rank, least })
    }

    /// Whether a claim follows from a certificate; where there is none, one is made and checked.
    fn lower_bound(
        &mut self,
        summary: &Value,
        name: &'static str,
        claim: &Bounded,
        given: Option<&Certificate>,
    ) {
        let said = summary[name].clone();
        if let Some(why) = self.refuted(claim) {
            return self.found.refused(name, &said, why);
        }
        if self.given.known.is_some() {
            let why = "cuts of a tensor with holes bound nothing";
            return self.found.refused(name, &said, why);
        }
        // Every error is at least zero.
        if matches!(claim.least, Least::Params(0.0, _))
            && summary["objective"].get("max_params").is_some()
        {
            let why = Some("every error is at least zero".to_owned());
            return self.found.said(name, said, Value::Null, true, why);
        }
        if let Some(certificate) = given {
            match weaker(claim, certificate) {
                None => {
                    let why = Some(certificate.says());
                    self.found.said(
                        "certificate of the summary",
                        Value::Null,
                        Value::Null,
                        true,
                        Some("it proves the bound".to_owned()),
                    );
                    return self.found.said(name, said.clone(), said, true, why);
                }
                // Of many modes a certificate may be a proof of less: it says nothing against the claim.
                Some((why, true)) if self.given.x.dims.len() > WHOLE => {
                    let why = Some(format!("it is about the same structures, and {why}"));
                    let name = "certificate of the summary";
                    self.found.said(name, Value::Null, Value::Null, true, why);
                }
                // The files do not belong together. The claim may be true all the same.
                Some((why, _)) => {
                    let why = format!("it {why}");
                    self.found.refused("certificate of the summary", &Value::Null, why);
                }
            }
        }
        let made = match self.tools.prove(claim) {
            Made::Not(why) => return self.found.not_checked(name, said, why),
            Made::Wrong(why) => return self.found.refused(name, &said, why),
            Made::Certificate(made) => made,
        };
        // Made by others, and so checked as one that came from anywhere.
        let checked = match made.check(self.given.x, self.given.dtype, self.limits) {
            Err(why) => return self.found.not_checked(name, said, why.to_string()),
            Ok(Err(refused)) => return self.found.refused(name, &said, refused.to_string()),
            Ok(Ok(checked)) => checked,
        };
        match (checked.unchecked.first(), weaker(claim, &made)) {
            (Some((cut, why)), _) => {
                let (n, all) = (checked.unchecked.len(), made.cuts.len());
                let why = format!("{n} of {all} cuts: not computed; cut {cut}: {why}");
                self.found.not_checked(name, said, why);
            }
            (None, Some((why, _))) => {
                self.found.not_checked(name, said, format!("what can be proven {why}"));
            }
            (None, None) => {
                let (nodes, cuts) = (checked.nodes, checked.cuts);
                let why = format!("{}; {nodes} cases, {cuts} cuts", made.says());
                self.found.said(name, said.clone(), said, true, Some(why));
            }
        }
    }

    /// Why the network itself is what a claim says that there is not.
    fn refuted(&self, claim: &Bounded) -> Option<String> {
        let network = self.network?;
        if self.is_in(&claim.class, claim.max_rank) != Some(true) {
            return None;
        }
        let (rse, params) = (self.rse().ok()?, network.params()?);
        match claim.least {
            Least::Params(eps, least) => {
                let fewer = least.is_none_or(|least| params < u128::from(least));
                let near = rse <= eps && !self.same(eps, rse);
                (near && fewer).then(|| {
                    format!("the network is one of these structures and has {params} params and an RSE of {rse:.3e}")
                })
            }
            Least::Loss(lambda, least) => {
                let entries = network.dims.iter().map(|&d| d as f64).product::<f64>();
                let loss = params as f64 / entries + lambda * rse;
                (loss < least - 2e-9 * least.max(1.0)).then(|| {
                    format!("the network is one of these structures and has a loss of {loss}")
                })
            }
        }
    }

    /// Whether what is called optimal meets the bound, and whether what is not does not.
    fn optimal(&mut self, summary: &Value, class: Option<&Class>) {
        let net = &summary["net"];
        let name = "certified_optimal";
        let claimed = summary[name].as_bool().or(net[name].as_bool());
        if let Some(false) = summary["proven_impossible"].as_bool()
            && !self.found.has("proven_impossible")
        {
            let why = Some("nothing is claimed".to_owned());
            self.found.said("proven_impossible", false, Value::Null, true, why);
        }
        let Some(claimed) = claimed else { return self.net(summary) };
        let (bound, impossible) =
            (&summary["lower_bound"], summary["proven_impossible"].as_bool() == Some(true));
        if claimed && (bound.is_null() || impossible) {
            let why = "there is no lower bound that it could meet";
            self.found.refused(name, &json!(claimed), why);
            return self.net(summary);
        }
        let Some(network) = self.network else {
            match claimed {
                true => self.found.not_checked(name, claimed, "there is no network"),
                false => self.found.said(
                    name,
                    claimed,
                    Value::Null,
                    true,
                    Some("nothing is claimed".to_owned()),
                ),
            }
            return self.net(summary);
        };
        let params = network.params().unwrap_or(u128::MAX);
        let goal = Goal::of(&summary["objective"], measured(summary).0);
        let rse = self.rse();
        let reached = match (goal, &rse) {
            (Some(Goal::MaxError(eps)), Ok(rse)) => *rse <= eps || self.same(eps, *rse),
            (Some(goal), _) => goal.reached(params as f64, 0.0),
            (None, _) => false,
        };
        let wrong = self.found.is("target_reached", Verdict::DoesNotHold);
        let near = |bound: f64, found: f64| {
            found <= bound * (1.0 + 1e-9) + 4e-12 || self.same(bound, found)
        };
        let entries = network.dims.iter().map(|&d| d as f64).product::<f64>();
        let met =
            match (bound["params"].as_u64(), number(bound, "rse"), number(bound, "loss"), goal) {
                (Some(least), ..) => Some(params <= u128::from(least)),
                (_, Some(least), ..) => rse.as_ref().ok().map(|rse| near(least, *rse)),
                (_, _, Some(least), Some(Goal::Lambda(lambda))) => rse.as_ref().ok().map(|rse| {
                    params as f64 / entries + lambda * rse <= least + 2e-9 * least.max(1.0)
                }),
                _ => Some(false),
            };
        // Not only by what rounding may take.
        let clearly = match (number(bound, "rse"), number(bound, "loss"), goal, &rse) {
            (Some(least), _, _, Ok(rse)) => *rse <= least * (1.0 + 5e-10) + 2e-12,
            (_, Some(least), Some(Goal::Lambda(lambda)), Ok(rse)) => {
                params as f64 / entries + lambda * rse <= least + 5e-10 * least
            }
            _ => bound["params"].is_u64(),
        };
        // A bound over trees says nothing of what has a cycle.
        let inside = class.map(|class| has_graph(network, class));
        let most = summary["bound_over"]["max_rank"].as_u64();
        let inside_ranks = class.is_some_and(|class| self.is_in(class, most) == Some(true));
        let proven = self.holds("lower_bound");
        match (claimed, met, inside) {
            (true, ..) if !reached || wrong => self.found.compared(name, true, false, false),
            (true, Some(false), _) => self.found.compared(name, true, false, false),
            (true, _, Some(Some(false))) => {
                let why = "the network is none of the structures that the bound is about";
                self.found.refused(name, &json!(true), why);
            }
            (true, ..) if self.is_wrong("lower_bound") => {
                self.found.refused(name, &json!(true), "the lower bound does not hold");
            }
            (true, ..) if !proven => {
                self.found.not_checked(name, true, "the lower bound was not proven");
            }
            (true, None, _) | (true, _, Some(None)) => {
                let why = "the error, or the class of the network, was not checked";
                self.found.not_checked(name, true, why);
            }
            (true, Some(true), _) => self.found.compared(name, true, true, true),
            (false, Some(true), _) if clearly && proven && reached && inside_ranks => {
                let why = "the network meets the bound, and is what was asked for";
                self.found.refused(name, &json!(false), why);
            }
            (false, ..) => {
                let why = Some("nothing is claimed".to_owned());
                self.found.said(name, false, Value::Null, true, why);
            }
        }
        self.net(summary);
    }

    /// What `certify` says of the network given.
    fn net(&mut self, summary: &Value) {
        let net = &summary["net"];
        if net.is_null() || self.command != Command::Certify {
            return;
        }
        let Some(network) = self.network else {
            return self.found.not_checked("net", net.clone(), "there is no network");
        };
        let (bound, rse) = (&summary["lower_bound"], number(net, "rse"));
        let params = network.params().unwrap_or(u128::MAX) as f64;
        let reaches = net["reaches"].as_bool() == Some(true);
        let loss = Goal::of(&summary["objective"], "rse").zip(rse).map(|(goal, rse)| {
            let entries = network.dims.iter().map(|&d| d as f64).product::<f64>();
            goal.loss(params, entries, rse)
        });
        let found = match (number(bound, "params"), number(bound, "rse"), number(bound, "loss")) {
            (Some(least), ..) => Some(params / least),
            (_, Some(least), _) => rse.map(|rse| rse / least),
            (_, _, Some(least)) => loss.map(|loss| loss / least),
            _ => None,
        };
        let found = found.filter(|gap| reaches && gap.is_finite());
        let said = number(net, "gap");
        let holds = Self::equal(said, found) && said.is_some() != net["gap"].is_null();
        self.found.compared("gap", net["gap"].clone(), found, holds);
        let why = Some("its parts are above".to_owned());
        self.found.said("net", Value::Null, Value::Null, true, why);
    }

    /// What is proven, in one word and one sentence.
    fn statement(&mut self, summary: &Value, class: Option<&Class>) {
        let Some(said) = summary.get("statement").filter(|s| !s.is_null()) else { return };
        let fields = ["proven", "over", "text", "answer", "reason", "needed"];
        self.strangers("statement", said, &fields);
        let most = summary["bound_over"]["max_rank"].as_u64();
        let place = class.zip(self.network).and_then(|(class, network)| {
            Some(match (has_graph(network, class)?, self.is_in(class, most)?, class) {
                (true, true, _) => "inside",
                (true, false, _) => "ranks",
                (false, _, Class::Named(name)) if name != CP && network.hub.is_none() => "cyclic",
                (false, ..) => "elsewhere",
            })
        });
        let elsewhere = match (said["answer"].as_str(), place) {
            (Some("undecided") | None, _) | (_, None) => false,
            (Some(said), Some(place)) => said != place,
        };
        let needed = &said["needed"]["rank"];
        let is = |name: &str| summary[name].as_bool() == Some(true);
        let net = &summary["net"]["certified_optimal"];
        let proven = match (is("proven_impossible"), is("certified_optimal") || *net == json!(true))
        {
            (true, _) => "impossible",
            (_, true) => "optimal",
            _ if !summary["lower_bound"].is_null() => "lower_bound",
            _ => "nothing",
        };
        let text = said["text"].as_str().unwrap_or_default();
        let number = summary["lower_bound"]["params"].as_u64();
        let named = number.is_none_or(|n| proven != "lower_bound" || text.contains(&n.to_string()));
        // Where a bound says nothing (an error of at least 0), nothing is proven.
        let idle = proven == "lower_bound"
            && ["rse", "loss"].iter().any(|name| summary["lower_bound"][name] == json!(0.0));
        let why = match () {
            () if said["proven"] != json!(proven)
                && !(idle && said["proven"] == json!("nothing")) =>
            {
                Some(format!("the other fields say '{proven}'"))
            }
            () if said.get("over").is_some_and(|over| {
                *over != summary["bound_over"]
                    && !(over.is_null() && said["proven"] == json!("nothing"))
            }) =>
            {
                Some("'bound_over' names other structures".to_owned())
            }
            () if !said["answer"].is_null() && !said["answer"].is_string() => {
                Some("whether the answer is one of them is a word".to_owned())
            }
            () if !said["reason"].is_null() && said["proven"] != json!("nothing") => {
                Some("it has a reason why nothing is proven, and something is".to_owned())
            }
            () if elsewhere => Some(format!("the network is '{}'", place.unwrap_or_default())),
            () if !needed.is_null() && *needed != summary["needed_rank"]["rank"] => {
                Some("'needed_rank' is another".to_owned())
            }
            () if text.is_empty() => Some("it has no sentence".to_owned()),
            () if !named => Some("its sentence does not name the bound".to_owned()),
            () => None,
        };
        match why {
            Some(why) => self.found.refused("statement", said, why),
            None => {
                let why = Some("it agrees with the other fields; its sentence is words".to_owned());
                self.found.said("statement", said["proven"].clone(), Value::Null, true, why);
            }
        }
    }
}

impl Certificate {
    /// What it proves, in words made from its numbers.
    pub fn says(&self) -> String {
        let class = match (&self.template, self.max_rank) {
            (Class::Named(_), _) => "every tree of any topology".to_owned(),
            (Class::Graph(_), Some(rank)) => {
                format!("every structure of its graph with ranks up to {rank}")
            }
            (Class::Graph(_), None) => "every structure of its graph".to_owned(),
        };
        let eps = self.max_rse;
        match (self.params, self.lambda, self.loss) {
            (_, Some(lambda), Some(loss)) => {
                format!("{class} has phi + {lambda} * RSE of at least {loss}")
            }
            (Some(params), ..) => {
                format!("{class} with an RSE of at most {eps:e} has at least {params} params")
            }
            (None, ..) => format!("{class} has an RSE above {eps:e}"),
        }
    }
}

/// Why a claim does not follow from a certificate, and whether that is of the same and only proves less; none where it does.
fn weaker(claim: &Bounded, certificate: &Certificate) -> Option<(String, bool)> {
    let other = |why: String| Some((why, false));
    if !same_class(&claim.class, &certificate.template) {
        return other("is about other structures".to_owned());
    }
    // None stands for any rank.
    let ranks = |rank: Option<u64>| rank.unwrap_or(u64::MAX);
    if ranks(certificate.max_rank) < ranks(claim.max_rank) {
        return other(format!("is about ranks up to {} only", ranks(certificate.max_rank)));
    }
    match (claim.least, certificate.lambda.zip(certificate.loss)) {
        (Least::Params(eps, params), None) => {
            if certificate.max_rse < eps {
                return other(format!("is about an RSE of {:e}, not {eps:e}", certificate.max_rse));
            }
            let least = |p: Option<u64>| p.unwrap_or(u64::MAX);
            let proven = least(certificate.params);
            (proven < least(params)).then(|| (format!("proves {proven} params only"), true))
        }
        (Least::Loss(lambda, loss), Some((own, proven))) => {
            if own > lambda && !close(own, lambda) {
                return other(format!("is about lambda {own}, not {lambda}"));
            }
            (proven < loss).then(|| (format!("proves a loss of {proven} only"), true))
        }
        _ => other("is about another objective".to_owned()),
    }
}

#[cfg(test)]
mod tests;
