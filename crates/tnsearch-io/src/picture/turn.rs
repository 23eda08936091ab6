//! How a camera was held: the one thing that is read of what stands beside the pixels.

/// What is to be done with a picture so that it is seen as it was taken (the orientations 1 to 8 of Exif).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Rows become columns, before all else.
    transposed: bool,
    rows_reversed: bool,
    columns_reversed: bool,
}

impl Turn {
    /// As it lies in the file.
    pub const NONE: Turn =
        Turn { transposed: false, rows_reversed: false, columns_reversed: false };

    /// By its number.
    fn numbered(number: u16) -> Option<Turn> {
        let (transposed, rows_reversed, columns_reversed) = match number {
            1 => (false, false, false),
            2 => (false, false, true),
            3 => (false, true, true),
            4 => (false, true, false),
            5 => (true, false, false),
            6 => (true, false, true),
            7 => (true, true, true),
            8 => (true, true, false),
            _ => return None,
        };
        Some(Turn { transposed, rows_reversed, columns_reversed })
    }

    /// What a camera's notes say; none where they say nothing that can be read.
    pub fn from_exif(notes: &[u8]) -> Option<Turn> {
        const ORIENTATION: u32 = 0x112;
        const SHORT: u32 = 3;
        let little = match notes.get(..4)? {
            [b'I', b'I', 42, 0] => true,
            [b'M', b'M', 0, 42] => false,
            _ => return None,
        };
        let number = |at: usize, bytes: usize| -> Option<u32> {
            let read = |n: u32, b: &u8| n << 8 | u32::from(*b);
            let bytes = notes.get(at..at.checked_add(bytes)?)?;
            Some(match little {
                true => bytes.iter().rev().fold(0, read),
                false => bytes.iter().fold(0, read),
            })
        };
        let table = usize::try_from(number(4, 4)?).ok()?;
        let entry = |k: usize| table.checked_add(2 + 12 * k);
        for k in 0..number(table, 2)? as usize {
            let at = entry(k)?;
            let (tag, format, count) = (number(at, 2)?, number(at + 2, 2)?, number(at + 4, 4)?);
            if (tag, format, count) == (ORIENTATION, SHORT, 1) {
                return Turn::numbered(number(at + 8, 2)? as u16);
            }
        }
        None
    }

    /// Goes over the pixels of a picture in the order in which they are seen, and gives the sides it is seen with.
    pub fn seen(
        self,
        (height, width): (usize, usize),
        mut pixel: impl FnMut(usize, usize),
    ) -> (usize, usize) {
        let (rows, columns) = if self.transposed { (width, height) } else { (height, width) };
        for r in 0..rows {
            for c in 0..columns {
                let r = if self.rows_reversed { rows - 1 - r } else { r };
                let c = if self.columns_reversed { columns - 1 - c } else { c };
                if self.transposed { pixel(c, r) } else { pixel(r, c) }
            }
        }
        (rows, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_seen_as_the_standard_says() {
        // Where the first row and the first column of the file are seen (Exif 2.32, 4.6.4).
        let told = [
            ("abc def", (2, 3)),
            ("cba fed", (2, 3)),
            ("fed cba", (2, 3)),
            ("def abc", (2, 3)),
            ("ad be cf", (3, 2)),
            ("da eb fc", (3, 2)),
            ("fc eb da", (3, 2)),
            ("cf be ad", (3, 2)),
        ];
        for (number, (seen, sides)) in (1..).zip(told) {
            let mut text = String::new();
            let turn = Turn::numbered(number).unwrap();
            let found = turn.seen((2, 3), |r, c| text.push(char::from(b"abcdef"[3 * r + c])));
            assert_eq!((text, found), (seen.replace(' ', ""), sides), "{number}");
        }
        assert_eq!((Turn::numbered(0), Turn::numbered(9)), (None, None));
        assert_eq!(Turn::numbered(1), Some(Turn::NONE));
    }

    #[test]
    fn notes_are_read_in_both_orders_and_never_beyond_their_end() {
        let little = b"II\x2a\0\x08\0\0\0\x02\0\x10\x01\x02\0\x01\0\0\0\0\0\0\0\
                       \x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        let big = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
        assert_eq!(Turn::from_exif(little), Turn::numbered(6));
        assert_eq!(Turn::from_exif(big), Turn::numbered(8));
        for notes in [&little[..], &big[..]] {
            for length in 0..notes.len() - 2 {
                assert_eq!(Turn::from_exif(&notes[..length]), None, "{length}");
            }
        }
        let mut far = big.to_vec();
        far[4..8].fill(0xff);
        assert_eq!(Turn::from_exif(&far), None);
        far[4..8].copy_from_slice(&[0, 0, 0, 8]);
        far[19] = 77;
        assert_eq!(Turn::from_exif(&far), None);
    }
}
