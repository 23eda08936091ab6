//! What parameters and error cost, by the objective.

use crate::problem::Objective;

/// `loss = param * params + error * error`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price {
    pub param: f64,
    pub error: f64,
}

impl Price {
    pub fn of(&self, params: f64, error: f64) -> f64 {
        self.param * params + self.error * error
    }
}

/// How fast the price of error follows what is missing.
const STEP: f64 = 1.03;

/// An objective as a price of error that is raised and lowered until it is met.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    objective: Objective,
    entries: f64,
    /// What error costs, in units of phi.
    pub weight: f64,
}

impl Goal {
    pub fn new(objective: Objective, entries: f64) -> Self {
        let weight = match objective {
            Objective::Lambda(lambda) => lambda,
            Objective::MaxError(eps) => 0.02 / eps,
            _ => 5.0,
        };
        Goal { objective, entries, weight }
    }

    pub fn price(&self) -> Price {
        Price { param: 1.0 / self.entries, error: self.weight }
    }

    /// Whether the price follows.
    pub fn moves(&self) -> bool {
        !matches!(self.objective, Objective::Lambda(_))
    }

    /// Whether the price need not rise any more.
    pub fn is_enough(&self, params: u128, error: f64) -> bool {
        match self.objective {
            Objective::MaxError(eps) => error <= eps,
            Objective::MaxParams(most) => params > most,
            Objective::Lambda(_) => true,
        }
    }

    /// The order of answers: what is met comes first.
    pub fn merit(&self, params: u128, error: f64) -> f64 {
        let phi = params as f64 / self.entries;
        match self.objective {
            Objective::Lambda(lambda) => phi + lambda * error,
            Objective::MaxError(eps) if error <= eps => phi * (1.0 + 1e-6 * error / eps),
            Objective::MaxError(eps) => 1e6 + error / eps,
            Objective::MaxParams(most) if params <= most => error,
            Objective::MaxParams(most) => 1e6 + params as f64 / most as f64,
        }
    }

    /// Raises the price of error where it is missed, lowers it where there is room.
    pub fn adjust(&mut self, params: u128, error: f64) {
        let dearer = match self.objective {
            Objective::Lambda(_) => return,
            Objective::MaxError(eps) => error > eps,
            Objective::MaxParams(most) => params <= most,
        };
        self.weight *= if dearer { STEP } else { 1.0 / STEP };
    }
}
