//! What the writer of a file noted in its header, kept as it stands: in its order, texts or not.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;

/// What the writer of a file noted: `__metadata__`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    notes: Vec<Note>,
    /// Its place among the fields of the header.
    pub(super) place: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    name: String,
    /// The value as JSON, byte for byte.
    json: String,
    /// The value, where it is a text.
    text: Option<String>,
}

impl Notes {
    /// No notes.
    pub fn new() -> Self {
        Notes::default()
    }

    /// Those of a header that is JSON, if it has any. None where they are no object.
    pub(super) fn of_header(header: &str) -> Option<Self> {
        let mut fields = Fields::of(header)?;
        let Some(place) = fields.by_ref().position(|(name, _)| name == "__metadata__") else {
            return Some(Notes::new());
        };
        let (_, json) = Fields::of(header)?.nth(place)?;
        if json == "null" {
            return Some(Notes::new());
        }
        let note = |(name, json): (String, &str)| Note {
            name,
            json: json.to_owned(),
            text: serde_json::from_str(json).ok(),
        };
        Some(Notes { notes: Fields::of(json)?.map(note).collect(), place })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Whether there is one of that name, a text or not.
    pub fn contains_key(&self, name: &str) -> bool {
        self.notes.iter().any(|n| n.name == name)
    }

    /// The text of that name. Of several the last, as JSON has it.
    pub fn get(&self, name: &str) -> Option<&String> {
        self.notes.iter().rfind(|n| n.name == name)?.text.as_ref()
    }

    /// The texts, by their names.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.notes.iter().filter_map(|n| Some((n.name.as_str(), n.text.as_deref()?)))
    }

    /// Notes a text, behind the others.
    pub fn insert(&mut self, name: String, text: String) {
        self.remove(&name);
        self.notes.push(Note { name, json: json!(text).to_string(), text: Some(text) });
    }

    /// Strikes a note.
    pub fn remove(&mut self, name: &str) {
        self.notes.retain(|n| n.name != name);
    }

    /// The object as JSON.
    pub(super) fn json(&self) -> String {
        let field = |n: &Note| format!("{}:{}", json!(n.name), n.json);
        format!("{{{}}}", self.notes.iter().map(field).collect::<Vec<_>>().join(","))
    }
}

impl<const N: usize> From<[(String, String); N]> for Notes {
    fn from(texts: [(String, String); N]) -> Self {
        let mut notes = Notes::new();
        texts.into_iter().for_each(|(name, text)| notes.insert(name, text));
        notes
    }
}

/// The fields of an object that is JSON, as they stand: names, and the text of the values.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn of(object: &'a str) -> Option<Self> {
        object.trim_start().strip_prefix('{').map(Fields)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (String, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start();
        let rest = rest.strip_prefix(',').unwrap_or(rest);
        let (name, rest) = first::<String>(rest.trim_start())?;
        let value = rest.trim_start().strip_prefix(':')?.trim_start();
        let (_, rest) = first::<IgnoredAny>(value)?;
        self.0 = rest;
        Some((name, &value[..value.len() - rest.len()]))
    }
}

/// The first value of a text, and what is behind it.
fn first<T: DeserializeOwned>(text: &str) -> Option<(T, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_kept_as_they_stand() {
        let inside = r#"{"z":1.10,"a":"t\u00e9xt","n":null,"l":[1, {"y":2,"x":3}],"big":123456789012345678901234567890}"#;
        let header = format!(r#" {{"t": {{"x":[1,2]}} , "__metadata__" :{inside}, "u":7}} "#);
        let notes = Notes::of_header(&header).unwrap();
        assert_eq!((notes.json(), notes.place), (inside.to_owned(), 1));
        assert_eq!(notes.get("a").map(String::as_str), Some("t\u{e9}xt"));
        assert_eq!((notes.get("z"), notes.contains_key("z")), (None, true));
        let made = Notes::from([("a".to_owned(), "b".to_owned())]);
        assert_eq!(made.get("a").map(String::as_str), Some("b"));
        assert!(!notes.contains_key("y") && !Notes::default().contains_key("z"));
        let mut more = notes.clone();
        more.insert("k".into(), "\"v\"".into());
        assert_eq!(more.json(), format!("{},\"k\":\"\\\"v\\\"\"}}", &inside[..inside.len() - 1]));
        more.remove("k");
        assert_eq!(more, notes);
    }

    #[test]
    fn headers_without_notes_and_with_odd_ones() {
        for none in ["{}", r#"{"a":1}"#, r#"{"__metadata__":null}"#, r#"{"__metadata__":{}}"#] {
            assert!(Notes::of_header(none).unwrap().is_empty(), "{none}");
        }
        for odd in
            [r#"{"__metadata__":[1]}"#, r#"{"__metadata__":"text"}"#, r#"{"__metadata__":3}"#]
        {
            assert_eq!(Notes::of_header(odd), None, "{odd}");
        }
        let twice = Notes::of_header(r#"{"__metadata__":{"a":"1","a":"2"}}"#).unwrap();
        assert_eq!(twice.get("a").map(String::as_str), Some("2"));
    }
}
