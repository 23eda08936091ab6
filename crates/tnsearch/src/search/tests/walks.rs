//! Walks: fits that change their structure and go on from one another.

use super::*;
use crate::search::strategy::{Adapting, Found, WalkId};
use crate::tensor::{AnyTensor, Tensor};

const DIMS: [usize; 4] = [2, 3, 2, 4];

/// A walk adds a rank to an edge chosen by its seed; its one core counts how often it went on. The error falls with the
/// ranks.
#[derive(Default)]
struct Wandering {
    requests: Mutex<Vec<Request>>,
}

impl Evaluator for Wandering {
    fn evaluate(&self, request: &Request, _: &Stop) -> Result<Fitted, FitError> {
        self.requests.lock().unwrap().push(request.clone());
        let joins = request.adapt.as_ref().unwrap().joins.clone();
        let (u, v) = joins[(request.seed % joins.len() as u64) as usize];
        let mut edges = request.graph.edges().to_vec();
        match edges.iter_mut().find(|e| (e.0, e.1) == (u, v)) {
            Some(edge) => edge.2 += 1,
            None => edges.push((u, v, 2)),
        }
        let ranks: usize = edges.iter().map(|e| e.2).sum();
        let steps = request.warm.as_ref().map_or(0.0, |cores| cores[0].entry(0).re);
        let core: AnyTensor = Tensor::new(vec![1], vec![steps + 1.0]).unwrap().into();
        Ok(Fitted {
            cores: vec![core],
            error: 1.0 / (1.0 + ranks as f64),
            sweeps: 1,
            restarts: 1,
            rescued: false,
            interrupted: false,
            graph: Some(ModeGraph::new(4, 0, edges)),
        })
    }
}

/// Two walks at a time from the better of the last two, so often.
struct Pairs {
    at: (Structure, Option<WalkId>),
    left: usize,
    found: Vec<Option<Found>>,
    seen: Arc<Mutex<Vec<Structure>>>,
}

impl Strategy for Pairs {
    fn name(&self) -> &str {
        "pairs"
    }

    fn ask(&mut self) -> Ask {
        if self.left == 0 {
            return Ask::Done;
        }
        self.left -= 1;
        Generation::walks(vec![self.at.clone(); 2], Adapting::new(9, 3)).ask()
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        self.found = found.to_vec();
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let better = usize::from(outcomes[1].loss < outcomes[0].loss);
        let found = self.found[better].clone().unwrap();
        assert_eq!(found.structure.params(&DIMS), outcomes[better].params, "as it was found");
        self.seen.lock().unwrap().push(found.structure.clone());
        self.at = (found.structure, Some(found.walk));
    }
}

fn search(
    records: Vec<Evaluation>,
    workers: usize,
) -> (SearchResult, Vec<Evaluation>, Vec<Structure>, Vec<Request>) {
    let ring = Arc::new(Template::ring(4).unwrap());
    let start = Structure::identity(ring.clone(), vec![1; 4]).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let evaluator = Arc::new(Wandering::default());
    let mut threads = Local::new(evaluator.clone(), workers).unwrap();
    let mut told = Vec::new();
    let mut listener = |event: &Event<'_>| {
        if let Event::Evaluated(evaluation) = event {
            told.push((*evaluation).clone());
        }
    };
    let fit = FitSettings::default().check().unwrap();
    let result = Engine::new(&DIMS, Objective::Lambda(100.0).check().unwrap(), fit)
        .runs(5, 1, |_| Pairs {
            at: (start.clone(), None),
            left: 5,
            found: Vec::new(),
            seen: seen.clone(),
        })
        .resume(records)
        .listen(&mut listener)
        .run(&mut threads)
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    let requests = evaluator.requests.lock().unwrap().clone();
    (result, told, seen, requests)
}

#[test]
fn a_walk_goes_on_where_another_ended() {
    let (result, told, seen, requests) = search(Vec::new(), 1);
    assert_eq!((result.counts.evaluations, told.len(), requests.len()), (10, 10, 10));
    // Five steps from rank 1 everywhere, each with the cores of the one before it.
    let best = result.best.unwrap();
    assert_eq!(best.structure.ranks().iter().sum::<usize>(), 4 + 5);
    assert_eq!(best.structure, *seen.last().unwrap());
    assert_eq!(best.fitted.cores[0].entry(0).re, 5.0);
    assert_eq!(best.score.params, best.structure.params(&DIMS));
    // Both walks of a generation are walks of their own.
    let keys: std::collections::HashSet<&str> = told.iter().map(|e| e.key.as_str()).collect();
    assert_eq!(keys.len(), 10);
    let seeds: std::collections::HashSet<u64> = requests.iter().map(|r| r.seed).collect();
    assert_eq!(seeds.len(), 10);
}

#[test]
fn walks_are_the_same_on_any_number_of_workers_and_after_a_resume() {
    let (one, told, seen, _) = search(Vec::new(), 1);
    let (four, _, seen_by_four, _) = search(Vec::new(), 4);
    assert_eq!(
        (&one.best.as_ref().unwrap().structure, &seen),
        (&four.best.unwrap().structure, &seen_by_four)
    );
    for kept in [0, 3, 6, 10] {
        let (resumed, more, seen_again, requests) = search(told[..kept].to_vec(), 2);
        assert_eq!((&seen_again, more.len()), (&seen, 10 - kept), "{kept}");
        let (best, again) = (one.best.as_ref().unwrap(), resumed.best.unwrap());
        assert_eq!((&best.structure, &best.fitted), (&again.structure, &again.fitted), "{kept}");
        // At the end of all that was on record only the way to the best is gone once more.
        assert!(kept < 10 || requests.len() == 5, "{}", requests.len());
    }
}

/// A limit that no sweep can keep leaves little to fit; nobody interrupted the search.
#[test]
fn a_cost_that_no_sweep_can_keep_ends_no_search_early() {
    let entry = |k: usize| ((k * k % 97) as f64 / 97.0).sin();
    let tensor = Tensor::new(DIMS.to_vec(), (0..48).map(entry).collect()).unwrap();
    let target = crate::problem::Target::new(tensor).unwrap();
    for description in all_strategies().into_iter().filter(|d| d.graphs == Graphs::Template) {
        let settings = SearchSettings::default().with(|s| {
            s.objective = Objective::Lambda(5.0);
            s.strategy = StrategySpec::new(description.name);
            (s.max_rank, s.max_cost) = (Some(3), Some(1e-300));
            s.budget.threads = Some(1);
        });
        let search =
            crate::Search::new(&target).template(Template::ring(4).unwrap()).settings(settings);
        let result = search.run().unwrap();
        assert_eq!(result.stopped_by, StoppedBy::Finished, "{}", description.name);
        assert!(result.counts.refused > 0 || result.counts.direct > 0, "{}", description.name);
    }
}
