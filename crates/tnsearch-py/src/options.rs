//! Options as Python gives them (a dict of plain values) into the settings they are, each checked for its type. Numbers of
//! NumPy are numbers; NaN and infinities reach the checks of the library.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use tnsearch_io::text::shown;
use tnsearch_io::{MemoryLimit, parse_memory};

/// Options of a function: a dict of plain values. A value of the wrong type is a `TypeError` that names the option.
pub fn read<T: DeserializeOwned>(options: &Bound<'_, PyDict>) -> PyResult<T> {
    let items = fields(options, 0)?;
    T::deserialize(Item::Map(items)).map_err(|wrong| match wrong.value {
        true => PyValueError::new_err(wrong.text),
        false => PyTypeError::new_err(wrong.text),
    })
}

/// What may be used: an amount of memory in bytes or words (`"4GB"`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "it must be a number of bytes, or a text such as '4GB'")]
pub enum Memory {
    /// What is available.
    #[default]
    Available,
    Bytes(u64),
    Text(String),
}

impl Memory {
    pub fn limit(&self) -> PyResult<MemoryLimit> {
        Ok(MemoryLimit::new(match self {
            Memory::Available => None,
            Memory::Bytes(bytes) => Some(*bytes),
            Memory::Text(text) => Some(parse_memory(text).map_err(crate::errors::raise)?),
        }))
    }
}

impl<'py> FromPyObject<'_, 'py> for Memory {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Memory::deserialize(item(&object, 0)?)
            .map_err(|wrong| PyTypeError::new_err(format!("max_memory: {}", wrong.text)))
    }
}

/// A plain value.
enum Item {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Item>),
    Map(Vec<(String, Item)>),
}

/// How deep lists and dicts may lie in each other.
const DEEPEST: usize = 32;

fn fields(dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<Vec<(String, Item)>> {
    dict.iter().map(|(name, value)| named(&name, &value, depth)).collect()
}

fn named(
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<(String, Item)> {
    let name: String = name.extract()?;
    let item =
        item(value, depth).map_err(|e| match e.is_instance_of::<PyTypeError>(value.py()) {
            true => PyTypeError::new_err(format!("{}: {}", shown(&name), e.value(value.py()))),
            false => e,
        })?;
    Ok((name, item))
}

fn item(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Item> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err("an option has lists in lists without an end"));
    }
    if value.is_none() {
        return Ok(Item::None);
    }
    if let Ok(b) = value.cast::<PyBool>() {
        return Ok(Item::Bool(b.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Item::Text(text.to_str()?.to_owned()));
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Item::Float(float.value()));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(Item::Map(fields(dict, depth + 1)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|v| item(&v?, depth + 1)).collect::<PyResult<_>>()?;
        return Ok(Item::List(items));
    }
    let whole = value.is_instance_of::<PyInt>() || value.hasattr("__index__")?;
    // Arrays of one number have `__index__` and `__float__`, too, and fail where they have more.
    if whole && let Ok(index) = value.call_method0("__index__") {
        return index
            .extract()
            .map(Item::Int)
            .map_err(|_| PyValueError::new_err(format!("{index} is too large a number")));
    }
    match value.extract::<f64>() {
        Ok(number) => Ok(Item::Float(number)),
        Err(_) => {
            let text = format!("a {} is no value of an option", value.get_type());
            Err(PyTypeError::new_err(text))
        }
    }
}

/// What is wrong with a value: its type, or what it is.
#[derive(Debug)]
struct Wrong {
    text: String,
    value: bool,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: std::fmt::Display>(text: T) -> Self {
        Wrong { text: shown(&text.to_string()), value: false }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Wrong { text: format!("it must be {}, not {found}", words(expected)), value: false }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Wrong { text: format!("it must be {}, not {found}", words(expected)), value: true }
    }

    fn unknown_variant(name: &str, expected: &'static [&'static str]) -> Self {
        Wrong { text: format!("it is '{name}'; use {}", expected.join(", ")), value: true }
    }
}

/// A type of Rust in words.
fn words(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
            "a whole number of at least 0".to_owned()
        }
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "True or False".to_owned(),
        other => other.to_owned(),
    }
}

impl<'de> Deserializer<'de> for Item {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self {
            Item::None => visitor.visit_unit(),
            Item::Bool(b) => visitor.visit_bool(b),
            Item::Int(n) => match (u64::try_from(n), i64::try_from(n)) {
                (Ok(n), _) => visitor.visit_u64(n),
                (_, Ok(n)) => visitor.visit_i64(n),
                _ => visitor.visit_i128(n),
            },
            Item::Float(x) => visitor.visit_f64(x),
            Item::Text(text) => visitor.visit_string(text),
            Item::List(items) => visitor.visit_seq(Items(items.into_iter())),
            Item::Map(fields) => visitor.visit_map(Fields(fields.into_iter(), None)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self {
            Item::None => visitor.visit_none(),
            item => visitor.visit_some(item),
        }
    }

    /// A whole number where any will do.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self {
            Item::Int(n) => visitor.visit_f64(n as f64),
            item => item.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self {
            Item::Text(text) => {
                let value: serde::de::value::StringDeserializer<Wrong> = text.into_deserializer();
                value.deserialize_enum(name, variants, visitor)
            }
            _ => Err(Wrong::custom(format!("it must be one of {}", variants.join(", ")))),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items(std::vec::IntoIter<Item>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }
}

struct Fields(std::vec::IntoIter<(String, Item)>, Option<(String, Item)>);

impl<'de> MapAccess<'de> for Fields {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some((name, item)) = self.0.next() else { return Ok(None) };
        let key = seed.deserialize(Item::Text(name.clone()))?;
        self.1 = Some((name, item));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let Some((name, item)) = self.1.take() else { unreachable!("a key came before") };
        // Options that stand in a group are named as the function names them.
        let group = matches!(item, Item::Map(_));
        seed.deserialize(item).map_err(|wrong| match group {
            true => wrong,
            false => Wrong { text: format!("{name}: {}", wrong.text), ..wrong },
        })
    }
}
