//! All mutants of a file in one source: each stands beside what it replaces, and a number in the environment turns one on.
//!
//! `a + b` becomes `(match (a, b) { (l, r) => if on(7) { l - r } else { l + r } })`, a body begins with
//! `if on(8) { return 0.0; }`. Operands are written once, so that nested changes do not multiply.

use super::list::{Genre, Mutant};
use anyhow::{Context, Result};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// What turns mutants on, called so in the crate's own files and in those of the crates that use it.
pub const SWITCH: &str = "__mutant";

/// A place with its mutants, and what is written there.
struct Edit {
    range: Range<usize>,
    pieces: Vec<Piece>,
    ids: Vec<usize>,
}

enum Piece {
    Text(String),
    /// Part of the source, with the changes inside of it.
    Source(Range<usize>),
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

/// A file whose mutants can be turned on, and which of those asked for it has.
pub struct Switchable {
    pub text: String,
    pub ids: Vec<usize>,
}

/// Writes the mutants into a source; those that are in constants, or where syn sees something else, are left out.
/// `path` leads to the function that says whether one is on.
pub fn switchable(source: &str, mutants: &[&Mutant], path: &str) -> Result<Switchable> {
    let file = syn::parse_file(source).context("syn cannot read it")?;
    let lines = Lines::new(source);
    let mut at: HashMap<(Genre, usize), Vec<&Mutant>> = HashMap::new();
    for mutant in mutants {
        at.entry((mutant.genre, lines.offset(mutant.start))).or_default().push(mutant);
    }
    let mut finder = Finder { source, at, edits: Vec::new(), path };
    finder.visit_file(&file);
    let mut edits = finder.edits;
    // What is only put in comes before what begins there.
    edits.sort_by_key(|e| (e.range.start, !e.range.is_empty(), Reverse(e.range.end)));
    let ids = edits.iter().flat_map(|e| e.ids.iter().copied()).collect();
    Ok(Switchable { text: render(source, &edits, 0..source.len(), None), ids })
}

/// Writes a part of the source with the changes inside of it; `of` is the change whose part it is.
fn render(source: &str, edits: &[Edit], range: Range<usize>, of: Option<usize>) -> String {
    let mut out = String::new();
    let mut done = range.start;
    for (k, edit) in edits.iter().enumerate() {
        let inside = edit.range.start >= done && edit.range.end <= range.end;
        // A change that begins where the part does may be the one that it is a part of.
        if !inside || of.is_some_and(|of| k <= of) {
            continue;
        }
        out += &source[done..edit.range.start];
        for piece in &edit.pieces {
            match piece {
                Piece::Text(text) => out += text,
                Piece::Source(part) => out += &render(source, edits, part.clone(), Some(k)),
            }
        }
        done = edit.range.end;
    }
    out + &source[done..range.end]
}

struct Finder<'a> {
    source: &'a str,
    at: HashMap<(Genre, usize), Vec<&'a Mutant>>,
    edits: Vec<Edit>,
    path: &'a str,
}

impl Finder<'_> {
    fn take(&mut self, genre: Genre, at: usize) -> Vec<Mutant> {
        self.at.remove(&(genre, at)).unwrap_or_default().into_iter().cloned().collect()
    }

    fn on(&self, mutant: &Mutant) -> String {
        format!("{}({})", self.path, mutant.id)
    }

    /// `if on(1) { first } else if on(2) { second } else { original }`, each between marks that errors are found by.
    fn choice(
        &self,
        mutants: &[Mutant],
        branch: impl Fn(&str) -> String,
        original: &str,
    ) -> String {
        let each = mutants.iter().map(|m| {
            let (on, branch) = (self.on(m), branch(&m.replacement));
            format!("if {on} {{ /*<{0}*/ {branch} /*{0}>*/ }} else ", m.id)
        });
        each.collect::<String>() + &format!("{{ {original} }}")
    }

    fn push(&mut self, range: Range<usize>, ids: &[Mutant], pieces: Vec<Piece>) {
        let ids: Vec<usize> = ids.iter().map(|m| m.id).collect();
        let marks = ids.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let mut all = vec![text(format!("/*[{marks}*/"))];
        all.extend(pieces);
        all.push(text(format!("/*{marks}]*/")));
        self.edits.push(Edit { range, pieces: all, ids });
    }

    fn binary(&mut self, e: &syn::ExprBinary) {
        let (l, r, op) = (range(&e.left), range(&e.right), range(&e.op));
        let mutants = self.take(Genre::Binary, op.start);
        if mutants.is_empty() {
            return;
        }
        let written = self.source[op].to_string();
        let pieces = match &e.op {
            syn::BinOp::And(_) | syn::BinOp::Or(_) => {
                if has_let(&e.left) || has_let(&e.right) {
                    return;
                }
                // One change at most: the other of the two. What is on the right is not looked at before.
                let on = self.on(&mutants[0]);
                let (when, known) = match e.op {
                    syn::BinOp::And(_) => (format!("__l == {on}"), on),
                    _ => (format!("__l != {on}"), format!("!{on}")),
                };
                vec![
                    text("(match ("),
                    Piece::Source(l),
                    text(format!(") {{ __l => if {when} {{ {known} }} else {{ ")),
                    Piece::Source(r),
                    text(" } })"),
                ]
            }
            op if is_assignment(op) => {
                let choice = self.choice(
                    &mutants,
                    |op| format!("*__l {op} __r;"),
                    &format!("*__l {written} __r;"),
                );
                vec![
                    text("match ("),
                    Piece::Source(r),
                    text(") { __r => { let __l = &mut ("),
                    Piece::Source(l),
                    text(format!("); {choice} }} }}")),
                ]
            }
            op if is_comparison(op) => {
                let choice = self.choice(
                    &mutants,
                    |op| format!("*__l {op} *__r"),
                    &format!("*__l {written} *__r"),
                );
                vec![
                    text("(match (&("),
                    Piece::Source(l),
                    text("), &("),
                    Piece::Source(r),
                    text(format!(")) {{ (__l, __r) => {choice} }})")),
                ]
            }
            _ => {
                let choice = self.choice(
                    &mutants,
                    |op| format!("__l {op} __r"),
                    &format!("__l {written} __r"),
                );
                vec![
                    text("(match ("),
                    Piece::Source(l),
                    text(", "),
                    Piece::Source(r),
                    text(format!(") {{ (__l, __r) => {choice} }})")),
                ]
            }
        };
        self.push(range(e), &mutants, pieces);
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        // One type alone can be returned as `impl Trait`.
        if matches!(&signature.output, syn::ReturnType::Type(_, t) if matches!(**t, syn::Type::ImplTrait(_)))
        {
            return;
        }
        let start = range(first).start;
        let mutants = self.take(Genre::Function, start);
        if mutants.is_empty() {
            return;
        }
        let returns = mutants.iter().map(|m| {
            let (on, value) = (self.on(m), &m.replacement);
            format!("if {on} {{ /*<{0}*/ return {value}; /*{0}>*/ }} ", m.id)
        });
        let returns = returns.collect::<String>();
        self.push(start..start, &mutants, vec![text(returns)]);
    }

    fn arm(&mut self, arm: &syn::Arm) {
        let removed = self.take(Genre::Arm, range(arm).start);
        let guard = arm.guard.as_ref().map(|(_, guard)| range(guard));
        let guarded = guard.as_ref().map_or(Vec::new(), |g| self.take(Genre::Guard, g.start));
        if arm.guard.as_ref().is_some_and(|(_, g)| has_let(g)) {
            return;
        }
        let there: String = removed.iter().map(|m| format!("!{} && ", self.on(m))).collect();
        let all = [removed, guarded.clone()].concat();
        if all.is_empty() {
            return;
        }
        match guard {
            None => {
                let end = range(&arm.pat).end;
                let guard = format!(" if {}true", there);
                self.push(end..end, &all, vec![text(guard)]);
            }
            Some(guard) => {
                let of = |word: &str| guarded.iter().find(|m| m.replacement == word);
                let always = of("true").map_or("false".into(), |m| self.on(m));
                let never = of("false").map_or("false".into(), |m| self.on(m));
                let before = text(format!("({there}({always} || !{never} && ("));
                let pieces = vec![before, Piece::Source(guard.clone()), text(")))")];
                self.push(guard, &all, pieces);
            }
        }
    }

    fn fields(&mut self, e: &syn::ExprStruct) {
        let Some(rest) = &e.rest else { return };
        for field in &e.fields {
            let mutants = self.take(Genre::Field, range(field).start);
            if let (Some(mutant), syn::Member::Named(name)) = (mutants.first(), &field.member) {
                let on = self.on(mutant);
                let pieces = vec![
                    text(format!("{name}: if {on} {{ (")),
                    Piece::Source(range(rest)),
                    text(format!(").{name} }} else {{ ")),
                    Piece::Source(range(&field.expr)),
                    text(" }"),
                ];
                self.push(range(field), &mutants, pieces);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        self.binary(e);
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &'ast syn::ExprUnary) {
        let mutants = self.take(Genre::Unary, range(e).start);
        if !mutants.is_empty() {
            let op = &self.source[range(&e.op)];
            let choice = self.choice(&mutants, |_| "__x".into(), &format!("{op}__x"));
            let after = text(format!(") {{ __x => {choice} }})"));
            let pieces = vec![text("(match ("), Piece::Source(range(&e.expr)), after];
            self.push(range(e), &mutants, pieces);
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        if f.sig.constness.is_none() {
            self.function(&f.sig, &f.block);
            visit::visit_item_fn(self, f);
        }
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        if f.sig.constness.is_none() {
            self.function(&f.sig, &f.block);
            visit::visit_impl_item_fn(self, f);
        }
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.function(&f.sig, block);
        }
        visit::visit_trait_item_fn(self, f);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.arm(arm);
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, e: &'ast syn::ExprStruct) {
        self.fields(e);
        visit::visit_expr_struct(self, e);
    }

    // What is built for tests alone is no part of what they test, also where that is not all its condition says.
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let of_tests = |attribute: &syn::Attribute| {
            let range = range(&attribute.meta);
            attribute.path().is_ident("cfg") && self.source[range].contains("test")
        };
        if !module.attrs.iter().any(of_tests) {
            visit::visit_item_mod(self, module);
        }
    }

    // Nothing can be turned on in constants, lengths and patterns.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_expr_repeat(&mut self, e: &'ast syn::ExprRepeat) {
        self.visit_expr(&e.expr);
    }
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
}

/// Whether a condition has `let` in it, which is allowed beside `&&` alone.
fn has_let(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

fn is_comparison(op: &syn::BinOp) -> bool {
    use syn::BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq(_) | Ge(_) | Gt(_) | Le(_) | Lt(_) | Ne(_))
}

fn is_assignment(op: &syn::BinOp) -> bool {
    use syn::BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// Where the lines of a source begin.
struct Lines<'a>(Vec<(usize, &'a str)>);

impl<'a> Lines<'a> {
    fn new(source: &'a str) -> Self {
        let mut at = 0;
        let lines = source.split_inclusive('\n').map(|line| {
            let begin = at;
            at += line.len();
            (begin, line)
        });
        Lines(lines.collect())
    }

    /// The byte of a line and a column from 1.
    fn offset(&self, (line, column): (usize, usize)) -> usize {
        let Some((begin, text)) = self.0.get(line - 1) else { return usize::MAX };
        begin + text.chars().take(column - 1).map(char::len_utf8).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(id: usize, genre: Genre, replacement: &str, start: (usize, usize)) -> Mutant {
        Mutant {
            id,
            name: String::new(),
            file: "a.rs".into(),
            genre,
            replacement: replacement.into(),
            start,
        }
    }

    /// The text without marks and white space.
    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("/*") {
            out += before;
            rest = after.split_once("*/").map_or("", |(_, rest)| rest);
        }
        (out + rest).split_whitespace().collect()
    }

    fn written(source: &str, mutants: &[Mutant]) -> (String, Vec<usize>) {
        let made = switchable(source, &mutants.iter().collect::<Vec<_>>(), "on").unwrap();
        syn::parse_file(&made.text).expect("what is written is Rust");
        (plain(&made.text), made.ids)
    }

    #[test]
    fn operands_are_written_once() {
        let source = "fn f(a: i32) -> i32 {\n    a + a * 2\n}\n";
        let mutants = [
            mutant(1, Genre::Function, "0", (2, 5)),
            mutant(2, Genre::Binary, "-", (2, 7)),
            mutant(3, Genre::Binary, "+", (2, 11)),
            mutant(4, Genre::Binary, "/", (2, 11)),
        ];
        let (text, ids) = written(source, &mutants);
        let inner = "(match(a,2){(__l,__r)=>ifon(3){__l+__r}elseifon(4){__l/__r}else{__l*__r}})";
        let outer = format!("(match(a,{inner}){{(__l,__r)=>ifon(2){{__l-__r}}else{{__l+__r}}}})");
        assert_eq!(text, format!("fnf(a:i32)->i32{{ifon(1){{return0;}}{outer}}}"));
        assert_eq!(ids, [1, 2, 3, 4]);
    }

    #[test]
    fn the_right_of_a_conjunction_is_looked_at_when_it_counts() {
        let source = "fn f(a: bool, b: bool) -> bool {\n    a && !b\n}\n";
        let mutants =
            [mutant(1, Genre::Binary, "||", (2, 7)), mutant(2, Genre::Unary, "", (2, 10))];
        let (text, _) = written(source, &mutants);
        let not = "(match(b){__x=>ifon(2){__x}else{!__x}})";
        assert!(text.contains(&format!("__l=>if__l==on(1){{on(1)}}else{{{not}}}")), "{text}");
    }

    #[test]
    fn arms_guards_fields_and_assignments() {
        let source = "fn f(a: u8) -> S {\n    match a {\n        1 if a > 2 => s(),\n        3 => s(),\n        _ => {}\n    }\n    x[a] += 1;\n    S { b: 1, ..s() }\n}\n";
        let mutants = [
            mutant(1, Genre::Guard, "true", (3, 14)),
            mutant(2, Genre::Guard, "false", (3, 14)),
            mutant(3, Genre::Arm, "", (4, 9)),
            mutant(4, Genre::Binary, "-=", (7, 10)),
            mutant(5, Genre::Field, "", (8, 9)),
        ];
        let (text, ids) = written(source, &mutants);
        for part in [
            "1if((on(1)||!on(2)&&(a>2)))=>",
            "3if!on(3)&&true=>",
            "match(1){__r=>{let__l=&mut(x[a]);ifon(4){*__l-=__r;}else{*__l+=__r;}}}",
            "b:ifon(5){(s()).b}else{1},..s()",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(ids, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn tests_stay_as_they_are() {
        let source =
            "#[cfg(all(test, unix))]\nmod tests {\n    fn f() -> u8 {\n        1 + 2\n    }\n}\n";
        let mutants = [mutant(1, Genre::Binary, "-", (4, 11))];
        assert_eq!(written(source, &mutants), (plain(source), vec![]));
        let built = source.replace("all(test, unix)", "unix");
        assert_eq!(written(&built, &mutants).1, [1]);
    }

    #[test]
    fn constants_stay_as_they_are() {
        let source = "const N: usize = 1 + 2;\nconst fn g() -> usize {\n    1 + 2\n}\n";
        let mutants =
            [mutant(1, Genre::Binary, "-", (1, 20)), mutant(2, Genre::Binary, "-", (3, 7))];
        assert_eq!(written(source, &mutants), (plain(source), vec![]));
    }
}
