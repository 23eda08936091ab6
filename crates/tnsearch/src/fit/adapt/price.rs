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

/// About how fast parameters grow as the error falls: `phi ~ error^-FALL`.
pub(super) const FALL: f64 = 1.5;

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

    /// The price at which a network of so many parameters and this error pays, where it moves: with `phi ~ error^-a`,
    /// `-d phi / d error = a phi / error`.
    pub fn fair(&mut self, params: f64, error: f64) {
        if self.moves() && error > 0.0 {
            self.weight = FALL * params / self.entries / error;
        }
    }

    /// The same for a network of which so much is known: what was asked for, and what it is at most.
    pub fn fair_at_goal(&mut self, params: f64, error: f64) {
        match self.objective {
            Objective::MaxError(eps) => self.fair(params, eps),
            Objective::MaxParams(most) => self.fair(most as f64, error),
            Objective::Lambda(_) => {}
        }
    }

    pub fn price(&self) -> Price {
        Price { param: 1.0 / self.entries, error: self.weight }
    }

    /// The error that was asked for, where one was.
    pub fn max_error(&self) -> Option<f64> {
        self.objective.max_error()
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
