//! The few Python literals that the header of a .npy file is made of.

/// A Python value.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `'text'` or `"text"`.
    Text(String),
    /// `True`, `False`.
    Bool(bool),
    /// A whole number, not negative.
    Int(u64),
    /// A tuple or a list.
    Sequence(Vec<Literal>),
    /// A dictionary, in order.
    Dict(Vec<(Literal, Literal)>),
    /// `None`.
    None,
}

impl Literal {
    /// Parses a whole text; none if it is not such a literal.
    pub fn parse(text: &str) -> Option<Literal> {
        let mut parser = Parser { rest: text };
        let value = parser.value(0)?;
        parser.skip();
        parser.rest.is_empty().then_some(value)
    }

    /// The value of a key of a dictionary; of several the last, as in Python.
    pub fn get(&self, key: &str) -> Option<&Literal> {
        let Literal::Dict(pairs) = self else { return None };
        pairs.iter().rev().find(|(k, _)| matches!(k, Literal::Text(t) if t == key)).map(|(_, v)| v)
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        // Headers nest three deep; a hostile one must not exhaust the stack.
        if depth > 32 {
            return None;
        }
        self.skip();
        match self.rest.chars().next()? {
            quote @ ('\'' | '"') => {
                let (text, rest) = self.rest[1..].split_once(quote)?;
                self.rest = rest;
                // Names of numpy types hold no escapes.
                (!text.contains('\\')).then(|| Literal::Text(text.to_owned()))
            }
            '{' => {
                self.eat("{");
                let mut pairs = Vec::new();
                while !self.eat("}") {
                    let key = self.value(depth + 1)?;
                    if !self.eat(":") {
                        return None;
                    }
                    pairs.push((key, self.value(depth + 1)?));
                    if !self.eat(",") {
                        return self.eat("}").then_some(Literal::Dict(pairs));
                    }
                }
                Some(Literal::Dict(pairs))
            }
            open @ ('(' | '[') => {
                let close = if open == '(' { ")" } else { "]" };
                self.rest = &self.rest[1..];
                let mut items = Vec::new();
                while !self.eat(close) {
                    items.push(self.value(depth + 1)?);
                    if !self.eat(",") {
                        return self.eat(close).then_some(Literal::Sequence(items));
                    }
                }
                Some(Literal::Sequence(items))
            }
            '0'..='9' => {
                let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let number = self.rest[..end].parse().ok()?;
                self.rest = &self.rest[end..];
                // Python 2 wrote long integers as 3L.
                self.rest = self.rest.strip_prefix('L').unwrap_or(self.rest);
                Some(Literal::Int(number))
            }
            _ if self.eat("True") => Some(Literal::Bool(true)),
            _ if self.eat("False") => Some(Literal::Bool(false)),
            _ if self.eat("None") => Some(Literal::None),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Literal::{self, Bool, Int, Sequence, Text};

    #[test]
    fn reads_what_numpy_writes() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4L), }          \n";
        let dict = Literal::parse(header).unwrap();
        assert_eq!(dict.get("descr"), Some(&Text("<f8".into())));
        assert_eq!(dict.get("fortran_order"), Some(&Bool(false)));
        assert_eq!(dict.get("shape"), Some(&Sequence(vec![Int(3), Int(4)])));
        let twice = Literal::parse("{'shape': (1,), 'shape': 2}").unwrap();
        assert_eq!(twice.get("shape"), Some(&Int(2)), "the last counts, as in Python");
        assert_eq!(Literal::parse("(5,)"), Some(Sequence(vec![Int(5)])));
        assert_eq!(Literal::parse("()"), Some(Sequence(vec![])));
    }

    #[test]
    fn refuses_everything_else() {
        for bad in ["", "{", "(1, 2", "{'a' 1}", "-1", "1.5", "'a\\x00'", "f(1)", "(1,,2)", "1 2"] {
            assert_eq!(Literal::parse(bad), None, "{bad:?}");
        }
        assert_eq!(Literal::parse(&"(".repeat(100_000)), None);
        assert_eq!(Literal::parse("99999999999999999999999"), None);
    }

    #[test]
    fn values_nest_to_a_depth_and_no_deeper() {
        // The value inside 32 others is the last that is read, whatever these are.
        let nested = |depth: usize, [open, close]: [&str; 2]| {
            Literal::parse(&format!("{}None{}", open.repeat(depth), close.repeat(depth)))
        };
        for pair in [["(", ",)"], ["[", "]"], ["{'a':", "}"], ["{", ": 1}"]] {
            let mut value = nested(32, pair);
            for _ in 0..32 {
                value = match value.unwrap() {
                    Sequence(mut items) => items.pop(),
                    Literal::Dict(mut pairs) => {
                        let (key, value) = pairs.pop().unwrap();
                        Some(if pair[0] == "{" { key } else { value })
                    }
                    other => panic!("{other:?}"),
                };
            }
            assert_eq!(value, Some(Literal::None), "{pair:?}");
            assert_eq!(nested(33, pair), None, "{pair:?}");
        }
    }
}
