//! Reading JSON without a dependency, so that `cargo xtask` starts within seconds.

use anyhow::{Result, bail};

/// A JSON value. Numbers are doubles, which is enough for what xtask reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads a whole text.
    pub fn parse(text: &str) -> Result<Value> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => bail!("bad JSON: more text at byte {}", reader.at),
        }
    }

    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Result<&Value> {
        match self.find(key) {
            Some(value) => Ok(value),
            None => bail!("the JSON has no \"{key}\""),
        }
    }

    /// The value of a key, if this is an object that has it.
    pub fn find(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(entries) => entries.iter().find(|e| e.0 == key).map(|e| &e.1),
            _ => None,
        }
    }

    /// The number at a key of an object.
    pub fn number(&self, key: &str) -> Result<f64> {
        match self.get(key)? {
            Value::Number(x) => Ok(*x),
            other => bail!("\"{key}\" is {other:?}; it must be a number"),
        }
    }

    /// The string at a key, if there is one.
    pub fn string(&self, key: &str) -> Option<&str> {
        match self.find(key)? {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn elements(&self) -> Result<&[Value]> {
        match self {
            Value::Array(elements) => Ok(elements),
            other => bail!("{other:?} is not an array"),
        }
    }

    /// An array of whole numbers.
    pub fn indices(&self) -> Result<Vec<usize>> {
        let index = |v: &Value| match v {
            Value::Number(x) if *x >= 0.0 && x.fract() == 0.0 => Ok(*x as usize),
            other => bail!("{other:?} is not a whole number"),
        };
        self.elements()?.iter().map(index).collect()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    /// Steps over `c` if it comes next.
    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if !self.take(c) {
            bail!("bad JSON: '{c}' expected at byte {}", self.at);
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Value> {
        match self.peek() {
            Some('{') => {
                let mut entries = Vec::new();
                self.list('{', '}', |r| {
                    r.peek();
                    let key = r.string()?;
                    r.expect(':')?;
                    entries.push((key, r.value()?));
                    Ok(())
                })?;
                Ok(Value::Object(entries))
            }
            Some('[') => {
                let mut elements = Vec::new();
                self.list('[', ']', |r| {
                    elements.push(r.value()?);
                    Ok(())
                })?;
                Ok(Value::Array(elements))
            }
            Some('"') => Ok(Value::String(self.string()?)),
            _ => self.word(),
        }
    }

    fn list(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.expect(open)?;
        if self.take(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.take(',') {
                return self.expect(close);
            }
        }
    }

    fn word(&mut self) -> Result<Value> {
        let inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let end = self.rest().find(|c| !inside(c)).unwrap_or(self.rest().len());
        let word = &self.rest()[..end];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            // Rust also reads "inf" and "nan", which JSON does not have.
            _ => match word.parse() {
                Ok(x) if f64::is_finite(x) => Value::Number(x),
                _ => bail!("bad JSON: '{word}' at byte {}", self.at),
            },
        };
        self.at += end;
        Ok(value)
    }

    fn string(&mut self) -> Result<String> {
        self.expect('"')?;
        let mut out = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((k, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += k + 1;
                    return Ok(out);
                }
                '\\' => match chars.next().map(|e| e.1) {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r') => out.push('\r'),
                    Some('b') => out.push('\u{8}'),
                    Some('f') => out.push('\u{c}'),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|e| e.1).collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        // Halves of surrogate pairs do not occur in what xtask reads.
                        out.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                    }
                    Some(c @ ('"' | '\\' | '/')) => out.push(c),
                    other => bail!("bad JSON: escape {other:?} in a string"),
                },
                c => out.push(c),
            }
        }
        bail!("bad JSON: a string does not end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_summary() {
        let text = r#" {"rse": 1.5e-05, "edges": [[0,1,3], [0, 5, 2]], "lower_bound": null,
            "certified_optimal": false, "history": [{"rse": 0.5}], "note": "a \"b\"\n\u00e9", "e": []} "#;
        let v = Value::parse(text).unwrap();
        assert_eq!(v.number("rse").unwrap(), 1.5e-5);
        assert_eq!(v.get("edges").unwrap().elements().unwrap()[1].indices().unwrap(), [0, 5, 2]);
        assert_eq!(v.find("lower_bound"), Some(&Value::Null));
        assert_eq!(v.find("certified_optimal"), Some(&Value::Bool(false)));
        assert_eq!(v.string("note"), Some("a \"b\"\né"));
        assert_eq!(v.find("e"), Some(&Value::Array(vec![])));
        assert_eq!(v.number("params").unwrap_err().to_string(), "the JSON has no \"params\"");
    }

    #[test]
    fn refuses_what_is_not_json() {
        for text in
            ["", "{", "[1,", "[1,]", "{\"a\" 1}", "nan", "inf", "\"a", "1 2", "{1:2}", "\"\\x\""]
        {
            assert!(Value::parse(text).is_err(), "{text}");
        }
    }
}
