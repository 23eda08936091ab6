//! Adam (Kingma and Ba, 2015), upwards.

/// The moments of a gradient.
#[derive(Debug, Clone)]
pub struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

impl Adam {
    /// For so many numbers.
    pub fn new(count: usize) -> Self {
        Adam { first: vec![0.0; count], second: vec![0.0; count], steps: 0 }
    }

    /// A step up the gradient.
    pub fn step(&mut self, at: &mut [f64], gradient: &[f64], rate: f64) {
        const DECAY: (f64, f64) = (0.9, 0.99);
        self.steps += 1;
        let (one, two) = (1.0 - DECAY.0.powi(self.steps), 1.0 - DECAY.1.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((x, g), (first, second)) in at.iter_mut().zip(gradient).zip(moments) {
            *first = DECAY.0 * *first + (1.0 - DECAY.0) * g;
            *second = DECAY.1 * *second + (1.0 - DECAY.1) * g * g;
            *x += rate * (*first / one) / ((*second / two).sqrt() + 1e-12);
        }
    }
}
