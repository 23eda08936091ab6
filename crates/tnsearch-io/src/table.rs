//! Tables of numbers: CSV files with a header, read by row.
//!
//! A cell that is no finite number is refused with its row and column. Rows count from 1, without the header; empty lines do
//! not count.

use crate::text::shown;
use crate::{FileError, MemoryLimit, Problem};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use thiserror::Error;
use tnsearch::tensor::Kind;

/// A table of numbers, every row as long as the header.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The numbers, row after row.
    pub cells: Vec<f64>,
}

/// What is wrong with a table.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// Nothing is in it.
    #[error("the table is empty; the first line must name the columns")]
    Empty,
    /// The header is no header.
    #[error(
        "the first line must name the columns, but its cells are numbers ('{}', ...); add a header",
        shown(.0)
    )]
    NoHeader(String),
    /// A column without a name.
    #[error("column {0} has no name in the header")]
    Unnamed(usize),
    /// Too many columns.
    #[error("the header names {found} columns; the most is {MOST_COLUMNS}")]
    Wide {
        /// The columns.
        found: usize,
    },
    /// Two columns of one name.
    #[error("two columns are called '{}'; every column needs a name of its own", shown(.0))]
    Twice(String),
    /// A row that is too short or too long.
    #[error("row {row} has {found} cells, but the header names {expected} columns")]
    Length {
        /// The row, from 1.
        row: usize,
        /// Its cells.
        found: usize,
        /// The columns.
        expected: usize,
    },
    /// A cell with nothing in it.
    #[error("row {row}, column '{}': the cell is empty; remove the row or fill it", shown(.column))]
    Missing {
        /// The row, from 1.
        row: usize,
        /// The column's name.
        column: String,
    },
    /// A cell that is no number.
    #[error("row {row}, column '{}': '{}' is no finite number", shown(.column), shown(.cell))]
    Cell {
        /// The row, from 1.
        row: usize,
        /// The column's name.
        column: String,
        /// What is in it.
        cell: String,
    },
    /// The bytes are no CSV.
    #[error("not a CSV table: {}", shown(.0))]
    Csv(String),
}

/// The most columns.
const MOST_COLUMNS: usize = 1 << 14;

impl Table {
    /// A table from its rows, one after the other.
    ///
    /// # Panics
    /// If the cells are not whole rows.
    pub fn new(names: Vec<String>, cells: Vec<f64>) -> Self {
        assert!(names.is_empty() || cells.len().is_multiple_of(names.len()), "whole rows");
        Table { names, cells }
    }

    /// The same, where every column has a name of its own and every cell is a finite number.
    pub fn checked(names: Vec<String>, cells: Vec<f64>) -> Result<Self, TableError> {
        check_names(&names)?;
        let table = Table::new(names, cells);
        match table.cells.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                let (row, column) = (at / table.columns(), at % table.columns());
                let (cell, column) = (table.cells[at].to_string(), table.names[column].clone());
                Err(TableError::Cell { row: row + 1, column, cell })
            }
            None => Ok(table),
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.cells.len().checked_div(self.columns()).unwrap_or(0)
    }

    /// A row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.columns()..(row + 1) * self.columns()]
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

/// Reads a CSV file with a header.
pub fn read(path: &Path, limit: MemoryLimit) -> Result<Table, FileError> {
    read_for(path, limit, None)
}

/// The same where only some columns are needed: cells of others may be anything, and are NaN where they are no numbers.
pub fn read_for(
    path: &Path,
    limit: MemoryLimit,
    needed: Option<&[String]>,
) -> Result<Table, FileError> {
    let open = || {
        let about = std::fs::metadata(path)?;
        if about.is_dir() {
            return Err(Problem::NotAFile("a directory"));
        }
        // Opening a pipe would wait for who writes into it.
        if !about.is_file() {
            return Err(Problem::NotAFile("a pipe or a device"));
        }
        // A number takes at least two bytes of text and eight of memory.
        limit.check(u128::from(about.len()) / 2, Kind::F64)?;
        Ok(std::fs::File::open(path)?)
    };
    let missing = |p: Problem| match p {
        Problem::Io(e) if e.kind() == io::ErrorKind::NotFound => Problem::Missing,
        other => other,
    };
    open().and_then(|file| parse_for(file, needed)).map_err(|p| missing(p).of(path))
}

/// Reads a table from its bytes.
pub fn parse(from: impl io::Read) -> Result<Table, Problem> {
    parse_for(from, None)
}

fn parse_for(from: impl io::Read, needed: Option<&[String]>) -> Result<Table, Problem> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(from);
    let names: Vec<String> = header(reader.headers().map_err(problem)?)?;
    let aside: Vec<bool> =
        names.iter().map(|name| needed.is_some_and(|n| !n.contains(name))).collect();
    let mut cells = Vec::new();
    let mut record = csv::StringRecord::new();
    let mut row = 0;
    while reader.read_record(&mut record).map_err(problem)? {
        row += 1;
        if record.len() != names.len() {
            // What is missing at the end of a row is named.
            let missing = names.get(record.len()).filter(|_| record.len() + 1 == names.len());
            return Err(match missing {
                Some(column) => TableError::Missing { row, column: column.clone() },
                None => TableError::Length { row, found: record.len(), expected: names.len() },
            }
            .into());
        }
        for ((cell, column), aside) in record.iter().zip(&names).zip(&aside) {
            let column = || column.clone();
            match cell.parse::<f64>() {
                Ok(x) if x.is_finite() => cells.push(x),
                _ if *aside => cells.push(f64::NAN),
                _ if cell.is_empty() => {
                    return Err(TableError::Missing { row, column: column() }.into());
                }
                _ => {
                    let cell = cell.chars().take(40).collect();
                    return Err(TableError::Cell { row, column: column(), cell }.into());
                }
            }
        }
    }
    Ok(Table { names, cells })
}

fn header(found: &csv::StringRecord) -> Result<Vec<String>, TableError> {
    let clean = |name: &str| name.trim_start_matches('\u{feff}').trim().to_owned();
    let names: Vec<String> = found.iter().map(clean).collect();
    if names.iter().all(|n| n.parse::<f64>().is_ok()) && !names.is_empty() {
        return Err(TableError::NoHeader(names[0].clone()));
    }
    check_names(&names)?;
    Ok(names)
}

/// Refuses columns that have no name of their own, or are too many.
fn check_names(names: &[String]) -> Result<(), TableError> {
    if names.len() > MOST_COLUMNS {
        return Err(TableError::Wide { found: names.len() });
    }
    if names.iter().all(String::is_empty) {
        return Err(TableError::Empty);
    }
    let mut seen = HashSet::new();
    for (k, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(TableError::Unnamed(k + 1));
        }
        if !seen.insert(name) {
            return Err(TableError::Twice(name.clone()));
        }
    }
    Ok(())
}

fn problem(e: csv::Error) -> Problem {
    let text = e.to_string();
    match e.into_kind() {
        csv::ErrorKind::Io(e) => Problem::Io(e),
        _ => TableError::Csv(text).into(),
    }
}

/// Writes a table: numbers so that they come back bit for bit.
pub fn write(to: &mut dyn Write, table: &Table) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(&table.names)?;
    for row in 0..table.rows() {
        writer.write_record(table.row(row).iter().map(f64::to_string))?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn tables_come_back_bit_for_bit() {
        let table = parse("\u{feff}a,\"b,c\", y\n1, 2.5 ,-3e-4\n\n4,5,6\r\n".as_bytes()).unwrap();
        assert_eq!(table.names, ["a", "b,c", "y"]);
        assert_eq!(
            (table.rows(), table.row(0), table.row(1)),
            (2, &[1.0, 2.5, -3e-4][..], &[4.0, 5.0, 6.0][..])
        );
        assert_eq!((table.column("y"), table.column("z")), (Some(2), None));
        let mut table = table;
        table.cells[1] = 0.1 + 0.2;
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        assert_eq!(parse(&bytes[..]).unwrap(), table);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_before_it_is_opened() {
        if cfg!(unix) {
            let said = read(Path::new("/dev/zero"), MemoryLimit::new(None)).unwrap_err();
            assert!(said.to_string().contains("a pipe or a device"), "{said}");
        }
    }

    #[test]
    fn files_that_are_missing_or_too_large_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        let said = |limit: u64| {
            read(&path, MemoryLimit::new(Some(limit))).unwrap_err().problem.to_string()
        };
        assert_eq!(said(1 << 20), "no such file");
        std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
        // Twelve bytes of text: at most six numbers of eight bytes.
        assert!(read(&path, MemoryLimit::new(Some(48))).is_ok());
        assert!(said(47).starts_with("its 6 entries need 48 bytes"), "{}", said(47));
        let folder = read(dir.path(), MemoryLimit::new(None)).unwrap_err();
        assert!(folder.to_string().contains("a directory"), "{folder}");
    }

    #[test]
    fn a_disk_that_fails_is_not_blamed_on_the_table() {
        struct Failing;
        impl io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        assert!(matches!(parse(Failing), Err(Problem::Io(_))));
    }

    #[test]
    fn as_many_columns_as_are_allowed_are_read() {
        let wide: Vec<String> = (0..MOST_COLUMNS).map(|k| format!("c{k}")).collect();
        assert_eq!(parse(wide.join(",").as_bytes()).unwrap().columns(), MOST_COLUMNS);
    }

    #[test]
    fn columns_that_are_not_needed_may_hold_anything() {
        let text = "a,note,y\n1,hello,2\n3,,4\n".as_bytes();
        let needed = ["a", "y"].map(str::to_owned);
        let table = parse_for(text, Some(&needed)).unwrap();
        assert_eq!((table.row(1)[0], table.row(1)[2]), (3.0, 4.0));
        assert!(table.row(0)[1].is_nan() && table.row(1)[1].is_nan());
        assert!(parse_for(text, Some(&needed[..1])).is_ok() && parse(text).is_err());
        assert!(parse_for("a,y\nx,2\n".as_bytes(), Some(&needed)).is_err());
    }

    #[test]
    fn what_is_wrong_is_named_by_row_and_column() {
        for (text, said) in [
            ("", "the table is empty; the first line must name the columns"),
            (
                "1,2\n3,4\n",
                "the first line must name the columns, but its cells are numbers ('1', ...); add a header",
            ),
            ("a,,b\n", "column 2 has no name in the header"),
            ("a,b,a\n", "two columns are called 'a'; every column needs a name of its own"),
            ("a,b\n1,2\n3,x\n", "row 2, column 'b': 'x' is no finite number"),
            ("a,b\n1,nan\n", "row 1, column 'b': 'nan' is no finite number"),
            ("a,b\n1,2\n,4\n", "row 2, column 'a': the cell is empty; remove the row or fill it"),
            ("a,b\n1\n", "row 1, column 'b': the cell is empty; remove the row or fill it"),
            ("a,b\n1,2,3\n", "row 1 has 3 cells, but the header names 2 columns"),
        ] {
            assert_eq!(refused(text), said, "{text:?}");
        }
        let wide: String = (0..20_000).map(|k| format!("c{k},")).collect();
        assert_eq!(refused(&wide), "the header names 20001 columns; the most is 16384");
        assert!(
            parse(&b"a,b\n1,\xff\n"[..]).unwrap_err().to_string().starts_with("not a CSV table")
        );
    }

    #[test]
    fn what_cannot_be_opened_is_told_from_what_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.csv");
        std::fs::write(&file, "a\n1\n").unwrap();
        let problem = |path: &Path| read(path, MemoryLimit::new(None)).unwrap_err().problem;
        assert!(matches!(problem(&dir.path().join("none.csv")), Problem::Missing));
        assert!(matches!(problem(&file.join("inside.csv")), Problem::Io(_)));
        assert!(matches!(problem(dir.path()), Problem::NotAFile("a directory")));
    }
}
