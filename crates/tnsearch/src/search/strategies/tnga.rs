//! TNGA* and TNGA+: genetic search (Li and Sun, ICML 2020, as extended in the appendix of the TNLS paper).
//!
//! A chromosome is a string of genes. TNGA* has one rank for every pair of modes, a rank of 1 meaning no edge:
//! formats and ranks together, over the complete graph. TNGA+ has one rank for every edge of the template,
//! and one *random key* in [0, 1) a mode; mode n sits on the k-th external vertex when its key is the k-th
//! smallest (Bean 1994): (0.46, 0.91, 0.33) is the permutation 2, 3, 1.
//!
//! The first population is uniform. Each generation is evaluated, sorted by loss, and followed by another:
//!
//! 1. *elimination*: the worst part of the population dies;
//! 2. *reproduction* (Snyder and Daskin 2006): the best few go on unchanged;
//! 3. *recombination*: two parents are drawn from the survivors, the one in place k = 0, 1, ... with weight
//!    `max(ln(alpha / (0.01 + beta k)), 0.01)`, and exchange the genes of one vertex, drawn uniformly: the ranks
//!    of its edges, and its key. Both children count;
//! 4. *mutation*: each gene of a child is drawn anew, uniformly, with a given probability.
//!
//! The weights of recombination and the exchange of a vertex are those of the authors' program; the papers name
//! alpha and beta without a formula. Every place in the population counts, so nothing is pruned.

use super::greedy::MAX_COST;
use super::neighbourhood::structure;
use super::settings::{count, positive, probability};
use super::{Ask, Generation, Outcome, SettingError, Strategy};
use crate::graph::{GraphError, Structure, Template};
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::OptionKind::{Count, Real, Whole};
use crate::search::description::{
    Context, Description, Graphs, OptionDescription, Plan, option, settings_from,
};
use rand::RngExt as _;
use rand::distr::weighted::WeightedIndex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// The settings of TNGA* and TNGA+; the defaults are those of the paper's TT/TR experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TngaSettings {
    /// Generations, the first included.
    pub generations: usize,
    /// Structures a generation.
    pub population: usize,
    /// The part of a generation that dies before recombination.
    pub elimination: f64,
    /// How many of the best go on unchanged.
    pub reproduction: usize,
    /// Weighs the places in the selection of parents: from about `alpha / beta` on they hardly count.
    pub alpha: f64,
    /// The same.
    pub beta: f64,
    /// The probability that a gene of a child is drawn anew.
    pub mutation: f64,
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for TngaSettings {
    fn default() -> Self {
        TngaSettings {
            generations: 30,
            population: 150,
            elimination: 0.36,
            reproduction: 2,
            alpha: 20.0,
            beta: 1.0,
            mutation: 0.24,
            max_rank: 7,
        }
    }
}

impl TngaSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedTnga, SettingError> {
        count("generations", self.generations)?;
        if self.population < 2 {
            let expected = "it must be at least 2";
            return Err(SettingError::new("population", self.population, expected));
        }
        if !(0.0..1.0).contains(&self.elimination) {
            let expected = "it must be at least 0 and below 1";
            return Err(SettingError::new("elimination", self.elimination, expected));
        }
        if self.reproduction >= self.population {
            let expected = "it must be smaller than the population";
            return Err(SettingError::new("reproduction", self.reproduction, expected));
        }
        positive("alpha", self.alpha)?;
        positive("beta", self.beta)?;
        probability("mutation", self.mutation)?;
        count("max-rank", self.max_rank)?;
        Ok(CheckedTnga(self))
    }

    /// How many of a generation live to recombine: at least one.
    fn survivors(&self) -> usize {
        let eliminated = (self.elimination * self.population as f64).round() as usize;
        self.population.saturating_sub(eliminated).max(1)
    }
}

/// Settings that were checked; reads like [`TngaSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedTnga(TngaSettings);

impl Deref for CheckedTnga {
    type Target = TngaSettings;

    fn deref(&self) -> &TngaSettings {
        &self.0
    }
}

/// Genetic search on the template.
pub(crate) const TNGA_PLUS: Description = Description {
    options: &OPTIONS,
    ..Description::new("tnga-plus", "genetic search", |options, plan| {
        Ok(Box::new(Plus(checked(options, plan.max_rank)?)))
    })
};

/// Genetic search over all graphs.
pub(crate) const TNGA_STAR: Description = Description {
    name: "tnga-star",
    summary: "genetic search",
    graphs: Graphs::All,
    any_graph: true,
    max_cost: Some(MAX_COST),
    plan: |options, plan| Ok(Box::new(Star(checked(options, plan.max_rank)?))),
    ..TNGA_PLUS
};

const OPTIONS: [OptionDescription; 7] = [
    option("generations", "N", Count, "Generations"),
    option("population", "N", Count, "Structures per generation"),
    option("elimination", "P", Real, "The part of a generation that has no children"),
    option("reproduction", "N", Whole, "How many of the best go on unchanged"),
    option(
        "alpha",
        "ALPHA",
        Real,
        "Parent k = 0, 1, ... is drawn with weight ln(ALPHA / (0.01 + BETA k))",
    ),
    option("beta", "BETA", Real, "See --alpha"),
    option(
        "mutation",
        "P",
        Real,
        "The probability that a gene (a rank, a place) of a child is drawn anew",
    ),
];

fn checked(options: &Map<String, Value>, max_rank: usize) -> Result<CheckedTnga, SettingError> {
    settings_from::<TngaSettings>(options, max_rank)?.check()
}

/// TNGA+ with its settings.
struct Plus(CheckedTnga);

/// TNGA* with its settings.
struct Star(CheckedTnga);

impl Plan for Plus {
    fn settings(&self) -> Value {
        json!(*self.0)
    }

    fn at_once(&self) -> (&'static str, usize) {
        ("population", self.0.population)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(Tnga::plus(context.template.clone(), self.0.clone(), seed)))
    }
}

impl Plan for Star {
    fn settings(&self) -> Value {
        json!(*self.0)
    }

    fn at_once(&self) -> (&'static str, usize) {
        ("population", self.0.population)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(Tnga::star(context.dims.len(), self.0.clone(), seed)?))
    }
}

/// A string of genes.
#[derive(Debug, Clone, PartialEq)]
struct Chromosome {
    /// One rank per edge of the template.
    ranks: Vec<usize>,
    /// One key per mode (TNGA+), or none (TNGA*: the graph has every permutation in it).
    keys: Vec<f64>,
}

/// The genetic strategies, both on a template: TNGA+ on the one that is searched, TNGA* on the complete graph.
#[derive(Debug)]
pub struct Tnga {
    name: &'static str,
    template: Arc<Template>,
    settings: CheckedTnga,
    rng: Rng,
    population: Vec<Chromosome>,
    /// The loss of the last parent of the generation before that counts for much.
    far: Option<f64>,
    /// Generations told so far.
    generation: usize,
}

impl Tnga {
    /// TNGA* for tensors of an order: formats and ranks, over the complete graph.
    pub fn star(order: usize, settings: CheckedTnga, seed: u64) -> Result<Self, GraphError> {
        let template = Arc::new(Template::complete(order)?);
        Ok(Self::new("tnga-star", template, settings, seed, 0))
    }

    /// TNGA+: permutations and ranks on a template.
    pub fn plus(template: Arc<Template>, settings: CheckedTnga, seed: u64) -> Self {
        let keys = template.order();
        Self::new("tnga-plus", template, settings, seed, keys)
    }

    fn new(
        name: &'static str,
        template: Arc<Template>,
        settings: CheckedTnga,
        seed: u64,
        keys: usize,
    ) -> Self {
        let mut rng = rng::stream(seed, name.as_bytes());
        let edges = template.edges().len();
        let mut random = || Chromosome {
            ranks: (0..edges).map(|_| rng.random_range(1..=settings.max_rank)).collect(),
            keys: (0..keys).map(|_| rng.random()).collect(),
        };
        let population = (0..settings.population).map(|_| random()).collect();
        Tnga { name, template, settings, rng, population, far: None, generation: 0 }
    }

    /// The structure that a chromosome means.
    fn decode(&self, chromosome: &Chromosome) -> Structure {
        let external = self.template.external_vertices();
        let permutation = match chromosome.keys.is_empty() {
            true => external,
            false => places(&chromosome.keys).iter().map(|&k| external[k]).collect(),
        };
        structure(&self.template, permutation, chromosome.ranks.clone())
    }

    /// Exchanges the genes of a vertex: the ranks of its edges and, if it is the k-th external vertex, key k.
    fn recombine(&self, a: &mut Chromosome, b: &mut Chromosome, vertex: usize) {
        for e in self.template.incident(vertex) {
            std::mem::swap(&mut a.ranks[e], &mut b.ranks[e]);
        }
        if self.template.is_external(vertex) && !a.keys.is_empty() {
            let k = (0..vertex).filter(|&v| self.template.is_external(v)).count();
            std::mem::swap(&mut a.keys[k], &mut b.keys[k]);
        }
    }

    fn mutate(&mut self, chromosome: &mut Chromosome) {
        let (probability, max_rank) = (self.settings.mutation, self.settings.max_rank);
        for rank in &mut chromosome.ranks {
            if self.rng.random_bool(probability) {
                *rank = self.rng.random_range(1..=max_rank);
            }
        }
        for key in &mut chromosome.keys {
            if self.rng.random_bool(probability) {
                *key = self.rng.random();
            }
        }
    }

    /// The generation after one that is sorted by loss.
    fn evolve(&mut self, mut sorted: Vec<Chromosome>) -> Vec<Chromosome> {
        let settings = self.settings.clone();
        let mut next: Vec<Chromosome> = sorted[..settings.reproduction].to_vec();
        sorted.truncate(settings.survivors());
        let weights = (0..sorted.len()).map(|k| weight(k, settings.alpha, settings.beta));
        let parents = WeightedIndex::new(weights).expect("weights of at least 0.01, one or more");
        while next.len() < settings.population {
            let mut a = sorted[self.rng.sample(&parents)].clone();
            let mut b = sorted[self.rng.sample(&parents)].clone();
            let vertex = self.rng.random_range(0..self.template.vertices());
            self.recombine(&mut a, &mut b, vertex);
            for mut child in [a, b] {
                self.mutate(&mut child);
                next.push(child);
            }
        }
        next.truncate(settings.population);
        next
    }
}

/// The weight of place k = 0, 1, ... in the selection of parents.
fn weight(k: usize, alpha: f64, beta: f64) -> f64 {
    // The quotient may overflow; the logarithm of a number never comes near 1000.
    (alpha / (0.01 + beta * k as f64)).ln().clamp(0.01, 1000.0)
}

/// The place of each key among all, from 0; equal keys in their order.
fn places(keys: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    let mut places = vec![0; keys.len()];
    for (place, n) in order.into_iter().enumerate() {
        places[n] = place;
    }
    places
}

impl Strategy for Tnga {
    fn name(&self) -> &str {
        self.name
    }

    fn ask(&mut self) -> Ask {
        if self.generation == self.settings.generations {
            return Ask::Done;
        }
        let structures = self.population.iter().map(|c| self.decode(c)).collect();
        Generation::new(structures).far(self.far).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.generation += 1;
        let population = std::mem::take(&mut self.population);
        if self.generation < self.settings.generations {
            let mut told: Vec<(Chromosome, f64)> =
                population.into_iter().zip(outcomes.iter().map(|o| o.loss)).collect();
            told.sort_by(|a, b| a.1.total_cmp(&b.1));
            // Beyond it all places weigh the same, and next to nothing.
            let last = (self.settings.alpha / self.settings.beta) as usize;
            self.far = told.get(last).map(|(_, loss)| *loss);
            self.population = self.evolve(told.into_iter().map(|(c, _)| c).collect());
        }
    }

    fn planned_samples(&self) -> Option<u64> {
        let (generations, population) = (self.settings.generations, self.settings.population);
        Some((generations as u64).saturating_mul(population as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{asked, generation, told};

    fn small() -> TngaSettings {
        TngaSettings { generations: 4, population: 10, ..TngaSettings::default() }
    }

    fn plus(template: Template, settings: TngaSettings, seed: u64) -> Tnga {
        Tnga::plus(Arc::new(template), settings.check().unwrap(), seed)
    }

    fn star(order: usize, settings: TngaSettings, seed: u64) -> Tnga {
        Tnga::star(order, settings.check().unwrap(), seed).unwrap()
    }

    #[test]
    fn refuses_settings_that_mean_nothing() {
        let bad = |change: fn(&mut TngaSettings)| {
            let mut s = TngaSettings::default();
            change(&mut s);
            s.check().unwrap_err().to_string()
        };
        assert_eq!(bad(|s| s.population = 1), "population is 1; it must be at least 2");
        assert!(bad(|s| s.elimination = 1.0).starts_with("elimination is 1"));
        assert!(bad(|s| s.elimination = f64::NAN).starts_with("elimination is NaN"));
        assert!(bad(|s| s.reproduction = 150).starts_with("reproduction is 150"));
        assert!(bad(|s| s.alpha = 0.0).starts_with("alpha is 0"));
        assert!(bad(|s| s.beta = -1.0).starts_with("beta is -1"));
        assert!(bad(|s| s.mutation = 1.1).starts_with("mutation is 1.1"));
        assert!(bad(|s| s.generations = 0).starts_with("generations is 0"));
    }

    #[test]
    fn keys_are_read_as_in_the_paper() {
        assert_eq!(places(&[0.46, 0.91, 0.33]), [1, 2, 0], "2 -> 3 -> 1");
        assert_eq!(places(&[0.5, 0.1, 0.5]), [1, 0, 2]);
        // Only external vertices are permuted: those of the tree of HT stay.
        let mut t = plus(Template::ht(4).unwrap(), small(), 1);
        let keys = vec![0.3, 0.2, 0.9, 0.1];
        let ranks = vec![2; t.template.edges().len()];
        assert_eq!(t.decode(&Chromosome { ranks, keys }).permutation(), [2, 1, 3, 0]);
        assert!(asked(&mut t).iter().all(|s| s.permutation().iter().all(|&v| v < 4)));
    }

    #[test]
    fn parents_are_weighed_by_their_place() {
        let weights: Vec<f64> = (0..4).map(|k| weight(k, 20.0, 1.0)).collect();
        // ln 2000, ln(20 / 1.01), ln(20 / 2.01), ln(20 / 3.01)
        for (w, by_hand) in weights.iter().zip([7.6009, 2.9858, 2.2976, 1.8938]) {
            assert!((w - by_hand).abs() < 1e-4, "{w}, {by_hand}");
        }
        assert_eq!(weight(20, 20.0, 1.0), 0.01, "from alpha / beta on");
        assert_eq!(weight(0, f64::MAX, 1.0), 1000.0, "finite whatever the settings");
        assert_eq!(weight(9, 20.0, f64::MAX), 0.01);
        assert_eq!(TngaSettings::default().survivors(), 96);
        let almost_all = TngaSettings { population: 2, elimination: 0.9, ..small() };
        assert_eq!(almost_all.survivors(), 1);
    }

    #[test]
    fn parents_exchange_a_vertex() {
        // Ring of 4: edges (0,1), (0,3), (1,2), (2,3). Vertex 2 has the last two.
        let t = plus(Template::ring(4).unwrap(), small(), 1);
        let mut a = Chromosome { ranks: vec![1, 2, 3, 4], keys: vec![0.1, 0.2, 0.3, 0.4] };
        let mut b = Chromosome { ranks: vec![5, 6, 7, 1], keys: vec![0.5, 0.6, 0.7, 0.8] };
        t.recombine(&mut a, &mut b, 2);
        assert_eq!((a.ranks, a.keys), (vec![1, 2, 7, 1], vec![0.1, 0.2, 0.7, 0.4]));
        assert_eq!((b.ranks, b.keys), (vec![5, 6, 3, 4], vec![0.5, 0.6, 0.3, 0.8]));
        // Complete graph of 3: edges (0,1), (0,2), (1,2), no keys.
        let t = star(3, small(), 1);
        let mut a = Chromosome { ranks: vec![1, 2, 3], keys: vec![] };
        let mut b = Chromosome { ranks: vec![4, 5, 6], keys: vec![] };
        t.recombine(&mut a, &mut b, 0);
        assert_eq!((a.ranks, b.ranks), (vec![4, 5, 3], vec![1, 2, 6]));
    }

    #[test]
    fn each_gene_mutates_with_its_probability() {
        let settings = TngaSettings { mutation: 0.24, max_rank: 1_000_000, ..small() };
        let mut t = plus(Template::ring(6).unwrap(), settings, 3);
        let (mut ranks, mut keys, rounds) = (0, 0, 2000);
        for _ in 0..rounds {
            let mut c = Chromosome { ranks: vec![1; 6], keys: vec![-1.0; 6] };
            t.mutate(&mut c);
            ranks += c.ranks.iter().filter(|&&r| r != 1).count();
            keys += c.keys.iter().filter(|&&k| (0.0..1.0).contains(&k)).count();
        }
        for mutated in [ranks, keys] {
            let rate = mutated as f64 / (6 * rounds) as f64;
            assert!((rate - 0.24).abs() < 0.02, "{rate}");
        }
    }

    #[test]
    fn the_best_go_on_and_the_worst_leave_nothing() {
        // Without mutation every gene of the next generation is that of a survivor.
        let settings = TngaSettings { mutation: 0.0, elimination: 0.5, max_rank: 1000, ..small() };
        let mut t = plus(Template::ring(4).unwrap(), settings, 5);
        let first = t.population.clone();
        t.ask();
        // Individual k has loss 10 - k: the last is the best.
        t.tell(&(0..10).map(|k| told(10.0 - k as f64)).collect::<Vec<_>>());
        assert_eq!(t.population.len(), 10);
        assert_eq!(t.population[..2], [first[9].clone(), first[8].clone()]);
        for child in &t.population {
            for e in 0..4 {
                assert!(first[5..].iter().any(|c| c.ranks[e] == child.ranks[e]));
                assert!(first[5..].iter().any(|c| c.keys[e] == child.keys[e]));
            }
        }
        assert!(t.population[2..].iter().any(|child| !first.contains(child)), "they mix");
    }

    #[test]
    fn proposals_keep_to_their_space() {
        for (mut t, edges) in [
            (
                plus(Template::mera(8).unwrap(), small(), 2),
                Template::mera(8).unwrap().edges().len(),
            ),
            (star(5, small(), 2), 10),
        ] {
            let mut all = 0;
            while let Ask::Generation(asked) = t.ask() {
                assert_eq!((asked.structures.len(), asked.only_below), (10, None));
                let asked = asked.structures;
                for s in &asked {
                    assert_eq!(s.ranks().len(), edges);
                    assert!(s.ranks().iter().all(|r| (1..=7).contains(r)));
                }
                all += asked.len() as u64;
                t.tell(&asked.iter().map(|s| told(s.ranks()[0] as f64)).collect::<Vec<_>>());
            }
            assert_eq!(Some(all), t.planned_samples());
        }
    }

    #[test]
    fn repeats_with_its_seed() {
        let walk = |seed| {
            let mut t = plus(Template::ring(5).unwrap(), small(), seed);
            let mut all = asked(&mut t);
            for _ in 0..3 {
                t.tell(&(0..10).map(|k| told(f64::from(k * 7 % 10))).collect::<Vec<_>>());
                all.extend(generation(&mut t).structures);
            }
            all
        };
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}
