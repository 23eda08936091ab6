//! `--strategy` and the options of all strategies, read off their descriptions.

use super::super::options::{count, real, whole};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;
use std::fmt::Write as _;
use tnsearch::search::{
    Description, Graphs, OptionDescription, OptionKind, StrategySpec, all_strategies,
};

/// How structures are proposed.
#[derive(Debug, Clone, Default)]
pub struct StrategyOptions {
    name: String,
    /// The options that were given.
    given: Vec<(&'static str, Value)>,
}

impl StrategyOptions {
    /// The strategy asked for; refused in the words of the command line.
    pub fn spec(&self) -> anyhow::Result<StrategySpec> {
        let strategies = all_strategies();
        let names: Vec<&str> = strategies.iter().map(|d| d.name).collect();
        let Ok(description) = Description::named(&self.name) else {
            anyhow::bail!("unknown strategy '{}'; use {}", self.name, names.join(", "));
        };
        // Where no format is named, the first stands for others, whose options are then looked at with the template.
        let stands_for =
            strategies.iter().filter(|d| matches!(d.graphs, Graphs::Formats | Graphs::Trees));
        let others = stands_for.filter(|_| description.name == StrategySpec::default().name);
        let all: Vec<&OptionDescription> =
            description.options.iter().chain(others.flat_map(|d| d.options)).collect();
        let known = |name: &str| all.iter().any(|o| o.name == name);
        if let Some((option, _)) = self.given.iter().find(|(name, _)| !known(name)) {
            let knows: Vec<String> =
                description.options.iter().map(|o| format!("--{}", o.name)).collect();
            let knows = if knows.is_empty() { "none".to_owned() } else { knows.join(", ") };
            let name = description.name;
            anyhow::bail!("--{option} is no option of strategy {name}; its own are: {knows}");
        }
        let spec = StrategySpec::new(self.name.as_str());
        Ok(self.given.iter().fold(spec, |spec, (name, value)| spec.set(name, value.clone())))
    }
}

/// Every option of any strategy, once, with the strategies that have it.
fn all_options() -> Vec<(&'static OptionDescription, Vec<&'static Description>)> {
    let mut all: Vec<(&'static OptionDescription, Vec<&'static Description>)> = Vec::new();
    for description in all_strategies() {
        for option in description.options {
            match all.iter_mut().find(|(known, _)| known.name == option.name) {
                Some((_, with)) => with.push(description),
                None => all.push((option, vec![description])),
            }
        }
    }
    all
}

/// What `--help` says about an option: what it does, for which strategies, and its defaults.
fn help(option: &OptionDescription, with: &[&Description]) -> String {
    let names: Vec<&str> = with.iter().map(|d| d.name).collect();
    let mut text = format!("{} ({})", option.help, names.join(", "));
    let mut defaults: Vec<(Value, Vec<&str>)> = Vec::new();
    for description in with {
        let Some(value) = description.default_of(option.name) else { continue };
        match defaults.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(description.name),
            None => defaults.push((value, vec![description.name])),
        }
    }
    let shown: Vec<String> = match &defaults[..] {
        [(value, _)] => vec![value.to_string()],
        several => several.iter().map(|(v, names)| format!("{} {v}", names.join(", "))).collect(),
    };
    if !shown.is_empty() {
        let _ = write!(text, " [default: {}]", shown.join("; "));
    }
    text
}

/// What `--help` says about `--strategy`.
fn strategies_help() -> String {
    let said = |graphs: Graphs| {
        let of = all_strategies().into_iter().filter(|d| d.graphs == graphs);
        of.map(|d| format!("{} ({})", d.name, d.summary)).collect::<Vec<_>>().join("; ")
    };
    format!(
        "How structures are proposed: {}; over all graphs, leaving the template: {}; over all trees: {}",
        said(Graphs::Template),
        said(Graphs::All),
        said(Graphs::Trees)
    )
}

impl Args for StrategyOptions {
    fn augment_args(command: Command) -> Command {
        let strategy = Arg::new("strategy")
            .long("strategy")
            .value_name("NAME")
            .default_value(all_strategies()[0].name)
            .help_heading("Search")
            .help(strategies_help());
        all_options().into_iter().fold(command.arg(strategy), |command, (option, with)| {
            let arg = Arg::new(option.name)
                .long(option.name)
                .value_name(option.value)
                .allow_negative_numbers(true)
                .help_heading("Search")
                .help(help(option, &with));
            command.arg(match option.kind {
                OptionKind::Count => arg.value_parser(count::<u64>),
                OptionKind::Whole => arg.value_parser(|text: &str| whole(text).map(|n| n as u64)),
                _ => arg.value_parser(real),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StrategyOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = StrategyOptions::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.name = matches.get_one::<String>("strategy").cloned().unwrap_or_default();
        self.given = all_options()
            .into_iter()
            .filter_map(|(option, _)| {
                let value = match option.kind {
                    OptionKind::Count | OptionKind::Whole => {
                        matches.get_one::<u64>(option.name).map(|n| Value::from(*n))
                    }
                    _ => matches.get_one::<f64>(option.name).map(|x| Value::from(*x)),
                };
                value.map(|value| (option.name, value))
            })
            .collect();
        Ok(())
    }
}
