//! Options of the command line, read off the settings that they are.

use super::options::{count, memory, real, seed, whole};
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde::de::value::{Error, MapDeserializer, StringDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use std::any::Any;
use tnsearch::options::{Declared, DeclaredOption, Takes};

/// Settings as arguments.
#[derive(Debug, Clone)]
pub struct Options<T>(pub T);

/// The value of an option that was given. (NaN is one, and has to reach the checks: JSON has none.)
#[derive(Debug, Clone)]
enum Given {
    Flag(bool),
    Whole(u64),
    Wholes(Vec<u64>),
    Real(f64),
    Text(String),
}

/// Which values are taken.
fn parser(takes: Takes) -> ValueParser {
    let names = |names: &'static [&'static str]| {
        move |text: &str| match names.contains(&text) {
            true => Ok(text.to_owned()),
            false => match names.split_last() {
                Some((last, others)) => Err(format!("use {} or {last}", others.join(", "))),
                None => Err("there is none".to_owned()),
            },
        }
    };
    match takes {
        Takes::Count | Takes::Counts => ValueParser::new(count::<u64>),
        Takes::Whole => ValueParser::new(|text: &str| whole(text).map(|n| n as u64)),
        Takes::Seed => ValueParser::new(seed),
        Takes::Real => ValueParser::new(real),
        Takes::Bytes => ValueParser::new(memory),
        Takes::OneOf(all) => ValueParser::new(names(all)),
        Takes::Text | Takes::On | Takes::Off => ValueParser::string(),
    }
}

/// What was given for an option.
fn given(option: &DeclaredOption, matches: &ArgMatches) -> Option<Given> {
    fn one<T: Any + Clone + Send + Sync>(name: &str, matches: &ArgMatches) -> Option<T> {
        matches.get_one::<T>(name).cloned()
    }
    let name = option.field;
    match option.takes {
        Takes::On => matches.get_flag(name).then_some(Given::Flag(true)),
        Takes::Off => matches.get_flag(name).then_some(Given::Flag(false)),
        Takes::Real => one(name, matches).map(Given::Real),
        Takes::Text | Takes::OneOf(_) => one(name, matches).map(Given::Text),
        Takes::Counts => matches.get_many(name).map(|all| Given::Wholes(all.copied().collect())),
        _ => one(name, matches).map(Given::Whole),
    }
}

/// A default in words; none where there is nothing to say.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Number(n) => Some(n.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(shown).collect::<Vec<_>>().join(",")),
        _ => None,
    }
}

impl<T: Declared> Args for Options<T> {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(T::default()).unwrap_or_default();
        T::OPTIONS.iter().fold(command, |command, option| {
            let help = match shown(&defaults[option.field]) {
                Some(default) => format!("{} [default: {default}]", option.help()),
                None => option.help(),
            };
            let arg =
                Arg::new(option.field).long(option.name()).help_heading(option.heading).help(help);
            command.arg(match option.takes {
                Takes::On | Takes::Off => arg.action(ArgAction::SetTrue),
                takes => {
                    let arg = arg.value_name(option.value).value_parser(parser(takes));
                    let arg = arg.allow_negative_numbers(true);
                    if takes == Takes::Counts { arg.value_delimiter(',') } else { arg }
                }
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Declared> FromArgMatches for Options<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let all = T::OPTIONS.iter().filter_map(|o| Some((o.field, given(o, matches)?)));
        let settings = T::deserialize(MapDeserializer::<_, Error>::new(all));
        settings.map(Options).map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, e))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl IntoDeserializer<'_, Error> for Given {
    type Deserializer = Given;

    fn into_deserializer(self) -> Given {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Given::Flag(on) => visitor.visit_bool(on),
            Given::Whole(n) => visitor.visit_u64(n),
            Given::Wholes(all) => visitor
                .visit_seq(serde::de::value::SeqDeserializer::<_, Error>::new(all.into_iter())),
            Given::Real(x) => visitor.visit_f64(x),
            Given::Text(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Given::Text(text) = self else { return self.deserialize_any(visitor) };
        StringDeserializer::new(text).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use tnsearch_models::{AskedModel, Cost};
    use tnsearch_tgp::TrainSettings;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        train: Options<TrainSettings>,
        #[command(subcommand)]
        more: Option<More>,
    }

    #[derive(Debug, clap::Subcommand)]
    enum More {
        Model {
            #[command(flatten)]
            model: Options<AskedModel>,
        },
    }

    fn read(line: &str) -> Result<Line, String> {
        Line::try_parse_from(line.split(' ')).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_given_is_set_and_the_rest_stays() {
        let given = read("x --inducing 4,5 --no-stretch --rate nan --seed 7").unwrap().train.0;
        assert_eq!((&given.inducing[..], given.stretch, given.seed), (&[4, 5][..], false, 7));
        assert!(given.rate.is_nan(), "the checks say what is wrong with it");
        assert_eq!(read("x").unwrap().train.0, TrainSettings::default());
        let model = read("x model --cost multiply-adds --cores bf16 --max-bytes 4KB --keep-re nan");
        let Some(More::Model { model: Options(model) }) = model.unwrap().more else { panic!() };
        assert_eq!((model.cost, model.max_bytes), (Cost::MultiplyAdds, Some(4000)));
        assert!(model.keep_re.is_some_and(f64::is_nan) && model.trees);
    }

    #[test]
    fn help_and_refusals_are_those_of_the_declaration() {
        let said = read("x --help").unwrap_err();
        for part in ["--tt-rank <R>", "[default: 10]", "--no-stretch", "Do not try shorter"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(
            read("x model --cost time").unwrap_err().contains("use params, bytes or multiply-adds")
        );
        assert!(read("x --tt-rank 0").unwrap_err().contains("at least 1"));
    }
}
