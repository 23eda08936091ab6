//! Options that are said once: [`declare_options!`](crate::declare_options) makes a type of settings and, from the same lines, what
//! shells say about each of its fields. The command line makes its arguments of [`Declared::OPTIONS`]; Python's dicts of
//! options are read as the type itself.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Settings with options that shells read off them.
pub trait Declared: Default + Serialize + DeserializeOwned {
    /// The options, in the order of their fields.
    const OPTIONS: &'static [DeclaredOption];
}

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredOption {
    /// The field, which is its name in Python.
    pub field: &'static str,
    /// What stands for its value in help texts.
    pub value: &'static str,
    /// Which values it takes.
    pub takes: Takes,
    /// What it is about.
    pub heading: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// Which values an option takes; its range is checked with the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A whole number of at least 1.
    Count,
    /// Whole numbers of at least 1.
    Counts,
    /// A whole number.
    Whole,
    /// A seed.
    Seed,
    /// Any number.
    Real,
    /// Bytes.
    Bytes,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// Any text.
    Text,
    /// True where it is given.
    On,
    /// False where it is given, as `no-` and its name; its help says what is done without it.
    Off,
}

impl DeclaredOption {
    /// One.
    pub const fn new(
        field: &'static str,
        value: &'static str,
        takes: Takes,
        heading: &'static str,
        help: &'static str,
    ) -> Self {
        DeclaredOption { field, value, takes, heading, help }
    }

    /// Its name on the command line, without the hyphens before it.
    pub fn name(&self) -> String {
        let off = if self.takes == Takes::Off { "no-" } else { "" };
        format!("{off}{}", self.field.replace('_', "-"))
    }

    /// What it does, in the words of the command line.
    pub fn help(&self) -> String {
        let help = self.help.trim();
        match (self.takes, help.split_at_checked(1)) {
            (Takes::Off, Some((first, rest))) => format!("Do not {}{rest}", first.to_lowercase()),
            _ => help.to_owned(),
        }
    }
}

/// Declares a type of settings: options, each with its help, its field, its default, and how shells take it; then what is no
/// option, which Rust alone can set.
///
/// ```
/// use tnsearch::options::{Declared, Takes};
/// tnsearch::declare_options! {
///     /// How tea is made.
///     pub struct Tea {
///         /// The minutes that it takes
///         minutes: u64 = 3, Takes::Count, "N", "Making";
///         /// Take milk
///         milk: bool = true, Takes::Off, "", "Drinking";
///     }
///     and {
///         /// Cups that are there.
///         cups: usize = 2;
///     }
/// }
/// let weak = Tea::default().with(|t| t.minutes = 1);
/// assert_eq!((weak.minutes, weak.milk, weak.cups), (1, true, 2));
/// assert_eq!(Tea::OPTIONS[1].name(), "no-milk");
/// assert_eq!(Tea::OPTIONS[1].help(), "Do not take milk");
/// ```
#[macro_export]
macro_rules! declare_options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                #[doc = $help:expr]
                $field:ident: $type:ty = $default:expr, $takes:expr, $value:expr, $heading:expr;
            )+
        }
        and {
            $($(#[$said:meta])+ $other:ident: $other_type:ty = $other_default:expr;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            $(#[doc = $help] pub $field: $type,)+
            $($(#[$said])+ #[serde(skip)] pub $other: $other_type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)+ $($other: $other_default,)* }
            }
        }

        impl $name {
            /// The same with something changed.
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        }

        impl $crate::options::Declared for $name {
            const OPTIONS: &'static [$crate::options::DeclaredOption] = &[$(
                $crate::options::DeclaredOption::new(stringify!($field), $value, $takes, $heading, $help),
            )+];
        }
    };
}
