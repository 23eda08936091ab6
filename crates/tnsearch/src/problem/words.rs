//! Objectives, bounds and errors in words: what reports and commands say about them.

use super::{LowerBound, Measure, Objective, Score};
use crate::error::figure;

/// A number with the digits it needs, up to six: `1e-4`, `3.162e-1`. A square that rounding has touched is as short as
/// what was meant.
fn brief(x: f64) -> String {
    let written = (0..6).map(|digits| format!("{x:.digits$e}"));
    let same = |text: &String| text.parse().is_ok_and(|y: f64| (y - x).abs() <= 1e-12 * x.abs());
    written.clone().find(same).unwrap_or_else(|| format!("{x:.3e}"))
}

impl Measure {
    /// The article of its name: "an" RSE, "a" KL.
    pub fn article(&self) -> &'static str {
        let mut letters = self.name.chars();
        let (first, next) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
        // The letters of an abbreviation are spoken one by one.
        let vowels = if next.is_uppercase() { "AEFHILMNORSX" } else { "AEIOUaeiou" };
        if vowels.contains(first) { "an" } else { "a" }
    }

    /// The error and its root, where that has a name, in one breath: "RSE 4 (relative error RE 2)".
    pub fn short_text(&self, error: f64, number: impl Fn(f64) -> String) -> String {
        let value = format!("{} {}", self.name, number(error));
        match &self.root {
            Some(root) => {
                let (meaning, name) = (&root.meaning, &root.name);
                format!("{value} ({meaning} {name} {})", number(error.sqrt()))
            }
            None => value,
        }
    }
}

impl Objective {
    /// The objective in words.
    pub fn text(self, measure: &Measure) -> String {
        let name = &measure.name;
        match self {
            Objective::Lambda(l) => format!("smallest phi + {} * {name}", figure(l)),
            Objective::MaxError(e) => {
                let root = measure.root.as_ref();
                let root = root.map(|r| format!(" ({} <= {})", r.name, brief(e.sqrt())));
                format!("fewest params with {name} <= {}{}", brief(e), root.unwrap_or_default())
            }
            Objective::MaxParams(p) => format!("smallest {name} with at most {p} params"),
        }
    }

    /// An answer in a few words, by what is looked for: params, the error's root where it has a name, and the loss
    /// where that is what is minimised.
    pub fn score_text(
        self,
        score: &Score,
        measure: &Measure,
        number: impl Fn(f64) -> String,
    ) -> String {
        let Score { loss, error, params } = *score;
        let error = match &measure.root {
            Some(root) => format!("{} {}", root.name, number(error.sqrt())),
            None => format!("{} {}", measure.name, number(error)),
        };
        match self {
            Objective::Lambda(_) => format!("loss {}, {params} params, {error}", number(loss)),
            Objective::MaxError(_) => format!("{params} params, {error}"),
            Objective::MaxParams(_) => format!("{error}, {params} params"),
        }
    }

    /// What is set, how it binds, and to what: `("rse", "<=", "1e-4")`.
    pub fn parts(self, measure: &Measure) -> (&str, &'static str, String) {
        match self {
            Objective::Lambda(l) => ("lambda", "=", figure(l)),
            Objective::MaxError(e) => (&measure.id, "<=", format!("{e:e}")),
            Objective::MaxParams(p) => ("params", "<=", p.to_string()),
        }
    }

    /// The objective as options of the command: `--max-rse 1e-4`, with the loss where it is another.
    ///
    /// ```
    /// use tnsearch::problem::{Measure, Objective};
    /// assert_eq!(Objective::MaxError(1e-4).option(&Measure::RSE), "--max-rse 1e-4");
    /// let kl = Measure::new("kl", "KL", "Kullback-Leibler divergence", None);
    /// assert_eq!(Objective::MaxError(0.5).option(&kl), "--loss kl --max-loss 5e-1");
    /// ```
    pub fn option(self, measure: &Measure) -> String {
        let plain = *measure == Measure::RSE;
        let loss = if plain { String::new() } else { format!("--loss {} ", measure.id) };
        match (self, self.parts(measure)) {
            (Objective::MaxError(_), (_, _, value)) if !plain => {
                format!("{loss}--max-loss {value}")
            }
            (_, (what, "=", value)) => format!("{loss}--{what} {value}"),
            (_, (what, _, value)) => format!("{loss}--max-{what} {value}"),
        }
    }

    /// Which network is looked for, for a sentence; `number` writes a quantity.
    pub fn aim(self, measure: &Measure, number: impl Fn(f64) -> String) -> String {
        let Measure { name, meaning, .. } = measure;
        match self {
            Objective::MaxError(eps) => {
                let root = measure.root.as_ref().map(|root| {
                    let (meaning, name) = (&root.meaning, &root.name);
                    format!(", which is a {meaning} ({name}) of at most {}", number(eps.sqrt()))
                });
                format!(
                    "the one with the fewest parameters whose {meaning} ({name}) is at most {}{}",
                    number(eps),
                    root.unwrap_or_default()
                )
            }
            Objective::MaxParams(p) => {
                let p = number(p as f64);
                format!("the one with the smallest error among those with at most {p} parameters")
            }
            Objective::Lambda(l) => format!(
                "the one with the smallest loss φ + {} · {name}, where φ is its share of the tensor's entries",
                number(l)
            ),
        }
    }

    /// What the loss of a structure is, for a sentence.
    pub fn loss_text(self, measure: &Measure) -> String {
        let name = &measure.name;
        match self {
            Objective::Lambda(_) => format!("The loss that was minimised, φ + λ · {name}."),
            Objective::MaxError(_) => {
                "The loss that guides the search: φ, and a penalty where the error is not reached."
                    .to_owned()
            }
            Objective::MaxParams(_) => {
                format!("The loss that guides the search: the {name} within the budget.")
            }
        }
    }
}

impl LowerBound {
    /// What is bounded: the params, the error by its name, or the loss.
    pub fn of<'m>(&self, measure: &'m Measure) -> &'m str {
        match (self.params, self.error) {
            (Some(_), _) => "params",
            (_, Some(_)) => &measure.name,
            _ => "loss",
        }
    }

    /// Which structures it is about, to stand after what they are called.
    pub fn about(&self) -> &'static str {
        match (self.params, self.error) {
            (Some(_), _) => " that reaches the error",
            (_, Some(_)) => " within the budget",
            _ => "",
        }
    }

    /// What such a structure has, and how much of it at least: `("a loss of ", "at least 3")`.
    pub fn claim(&self, measure: &Measure, number: impl Fn(f64) -> String) -> (String, String) {
        let value = number(self.value());
        match (self.params, self.error) {
            (Some(_), _) => (String::new(), format!("at least {value} parameters")),
            (_, Some(_)) => {
                (format!("{} {} of ", measure.article(), measure.name), format!("at least {value}"))
            }
            _ => ("a loss of ".to_owned(), format!("at least {value}")),
        }
    }

    /// Whether it says nothing: no error and no loss is below zero, no network without a parameter.
    pub fn says_nothing(&self) -> bool {
        self.value() <= 0.0
    }

    /// What is proven of every `class` ("structure", "ring with ranks up to 7"), in words; `number` writes a
    /// quantity.
    pub fn text(&self, class: &str, measure: &Measure, number: impl Fn(f64) -> String) -> String {
        let about = self.about();
        if self.says_nothing() {
            let of = self.of(measure);
            return format!("nothing: the cuts of the tensor allow a {class}{about} with {of} 0");
        }
        let has = match (self.params, self.error) {
            (Some(params), _) => format!("at least {params} params"),
            (_, Some(error)) => format!("{} >= {}", measure.name, number(error)),
            _ => format!("a loss of at least {}", number(self.value())),
        };
        format!("every {class}{about} has {has}")
    }

    /// The same in a few words.
    pub fn short_text(&self, measure: &Measure, number: impl Fn(f64) -> String) -> String {
        match self.params {
            _ if self.says_nothing() => "nothing".to_owned(),
            Some(params) => format!("at least {params} params"),
            None => format!("{} at least {}", self.of(measure), number(self.value())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_asked_for_is_said_with_its_root() {
        let text = |e: f64| Objective::MaxError(e).text(&Measure::RSE);
        assert_eq!(text(1e-4), "fewest params with RSE <= 1e-4 (RE <= 1e-2)");
        assert_eq!(text(0.1), "fewest params with RSE <= 1e-1 (RE <= 3.162e-1)");
        assert_eq!(text(0.1 * 0.1), "fewest params with RSE <= 1e-2 (RE <= 1e-1)");
        let aim = Objective::MaxError(0.01).aim(&Measure::RSE, |x| x.to_string());
        assert!(
            aim.ends_with("(RSE) is at most 0.01, which is a relative error (RE) of at most 0.1"),
            "{aim}"
        );
    }

    #[test]
    fn an_answer_is_said_by_what_was_asked_for() {
        let score = Score { loss: 0.5, error: 0.25, params: 30 };
        let text = |o: Objective| o.score_text(&score, &Measure::RSE, |x| x.to_string());
        assert_eq!(text(Objective::MaxError(0.1)), "30 params, RE 0.5");
        assert_eq!(text(Objective::MaxParams(40)), "RE 0.5, 30 params");
        assert_eq!(text(Objective::Lambda(1.0)), "loss 0.5, 30 params, RE 0.5");
    }

    #[test]
    fn a_bound_of_zero_is_no_bound() {
        let plain = |x: f64| x.to_string();
        let bound = Objective::MaxParams(9).lower_bound(0.0);
        assert!(bound.says_nothing());
        let said = bound.text("ring", &Measure::RSE, plain);
        assert_eq!(
            said,
            "nothing: the cuts of the tensor allow a ring within the budget with RSE 0"
        );
        assert_eq!(bound.short_text(&Measure::RSE, plain), "nothing");
        assert!(!Objective::MaxError(0.1).lower_bound(3.0).says_nothing());
    }

    #[test]
    fn another_loss_is_called_by_its_own_names() {
        let kl = Measure::new("kl", "KL", "Kullback-Leibler divergence", None);
        let plain = |x: f64| x.to_string();
        assert_eq!(kl.short_text(0.25, plain), "KL 0.25");
        assert_eq!((kl.article(), Measure::RSE.article()), ("a", "an"));
        assert_eq!(Measure::RSE.short_text(0.25, plain), "RSE 0.25 (relative error RE 0.5)");
        for objective in [Objective::Lambda(2.0), Objective::MaxError(0.1), Objective::MaxParams(9)]
        {
            let bound = objective.lower_bound(3.0);
            let said = [
                objective.text(&kl),
                objective.option(&kl),
                objective.aim(&kl, plain),
                objective.loss_text(&kl),
                bound.text("ring", &kl, plain),
                bound.short_text(&kl, plain),
                bound.claim(&kl, plain).0,
            ];
            assert!(said.iter().all(|s| !s.to_lowercase().contains("rse")), "{said:?}");
        }
        let bound = Objective::MaxParams(9).lower_bound(3.0);
        assert_eq!(bound.text("ring", &kl, plain), "every ring within the budget has KL >= 3");
        assert_eq!(bound.claim(&kl, plain), ("a KL of ".to_owned(), "at least 3".to_owned()));
    }
}
