//! A picture beside what is left of it after compression.

use super::document;
use super::html::{figure, section};
use crate::network::network_inline;
use crate::plot::escape;
use std::fmt::Write as _;
use tnsearch::graph::Structure;
use tnsearch::tensor::ModeNames;

/// Pictures narrower than this are shown with their pixels.
const SMALL: usize = 300;

/// What a page about a compressed picture shows.
#[derive(Debug)]
pub struct SideBySide<'a> {
    /// The heading.
    pub title: &'a str,
    /// The numbers on top.
    pub tiles: &'a [Tile],
    /// The pictures, in their order.
    pub pictures: &'a [Shown],
    /// The network, the sides of its modes, and what these are called.
    pub network: (&'a Structure, &'a [usize], ModeNames<'a>),
    /// What to know about the numbers, a sentence each.
    pub notes: &'a [String],
}

/// A number on top of the page: what it is, the number, and more about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The number.
    pub value: String,
    /// More about it.
    pub more: String,
}

/// A picture on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What it is.
    pub name: String,
    /// What to see in it.
    pub caption: String,
    /// A PNG file.
    pub png: Vec<u8>,
    /// Its columns.
    pub width: usize,
    /// Its rows.
    pub height: usize,
}

impl SideBySide<'_> {
    /// The page: one file that makes no request.
    pub fn html(&self) -> String {
        let mut body = tiles(self.tiles);
        body += "<div class=\"pictures\">\n";
        for shown in self.pictures {
            body += &shown.html();
        }
        body += "</div>\n</section>\n";
        let (structure, dims, names) = self.network;
        let drawn = network_inline(structure, dims, names);
        let caption = "Circles carry a mode and say which and its dimension; the number on an edge is its rank.";
        let mut about =
            format!("<div class=\"pair\">{}</div>\n", figure(&drawn, "The network", caption));
        for note in self.notes {
            let _ = writeln!(about, "<p class=\"note\">{}</p>", escape(note));
        }
        body += &section("network", "What is stored", &about);
        document(self.title, "compress", &body, "")
    }
}

/// The beginning of the summary: its numbers.
pub(super) fn tiles(tiles: &[Tile]) -> String {
    let mut body =
        String::from("<section class=\"summary\" aria-label=\"Summary\">\n<dl class=\"tiles\">\n");
    for Tile { name, value, more } in tiles {
        let (name, value, more) = (escape(name), escape(value), escape(more));
        let _ = writeln!(
            body,
            "<div class=\"tile\"><dt>{name}</dt><dd><b>{value}</b><span>{more}</span></dd></div>"
        );
    }
    body + "</dl>\n"
}

impl Shown {
    fn html(&self) -> String {
        let (name, caption) = (escape(&self.name), escape(&self.caption));
        let class = if self.width < SMALL { " class=\"pixels\"" } else { "" };
        format!(
            "<figure class=\"fig\"><img{class} alt=\"{name}\" width=\"{}\" height=\"{}\" src=\"data:image/png;base64,{}\">\
             <figcaption><b>{name}.</b> {caption}</figcaption></figure>\n",
            self.width,
            self.height,
            base64(&self.png)
        )
    }
}

/// Bytes as letters (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let part = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
        let word = part(0) << 16 | part(1) << 8 | part(2);
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::graph::Template;

    #[test]
    fn bytes_become_letters() {
        // The examples of RFC 4648.
        let all = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let letters = all.map(|text| base64(text.as_bytes())).join(" ");
        assert_eq!(letters, " Zg== Zm8= Zm9v Zm9vYg== Zm9vYmE= Zm9vYmFy");
    }

    #[test]
    fn a_page_holds_its_pictures_and_no_links() {
        let structure = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![3]).unwrap();
        let shown = |name: &str| Shown {
            name: name.to_owned(),
            caption: "a <b> & c".to_owned(),
            png: vec![1, 2, 3],
            width: 40,
            height: 30,
        };
        let tile = Tile { name: "PSNR".into(), value: "30 dB".into(), more: "peak 1".into() };
        let page = SideBySide {
            title: "a<b>.png",
            tiles: &[tile],
            pictures: &[shown("original"), shown("difference")],
            network: (&structure, &[4, 5], ModeNames::default()),
            notes: &["A note.".to_owned()],
        };
        let html = page.html().replace("http://www.w3.org/2000/svg", "");
        assert_eq!(html.matches("<img").count(), 2);
        assert!(html.contains("data:image/png;base64,AQID") && html.contains("a&lt;b&gt;.png"));
        assert!(
            html.contains("a &lt;b&gt; &amp; c")
                && !html.contains("http://")
                && !html.contains("https://")
        );
    }
}
