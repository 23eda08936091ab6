//! Pictures that are small in the file and large, or endless, unpacked: whatever stands beside the pixels, and whatever the
//! header says, a reader holds no more than it was told it may.

use tnsearch_fuzz::{LIMIT, TARGETS, try_input};

/// What a reader may hold beside its limit: buffers, and what the test itself makes of an input that is accepted.
const BESIDE: usize = 2 << 20;
/// What the bombs become.
const UNPACKED: usize = 100 << 20;

/// Zeros as zlib packs them, 13 bits for 258: one, and copies of it.
fn zeros(count: usize) -> Vec<u8> {
    let mut bits = Bits(vec![0x78, 1], 0);
    // The last block, with the codes that every reader knows.
    bits.put(0b011, 3);
    bits.code(0x30, 8);
    for _ in 0..count / 258 {
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    bits.code(0, 7);
    let mut bytes = bits.0;
    let sum = ((1 + count / 258 * 258) % 65521) as u32;
    bytes.extend((sum << 16 | 1).to_be_bytes());
    bytes
}

/// Bytes, and how many bits of the last one are used.
struct Bits(Vec<u8>, u32);

impl Bits {
    fn put(&mut self, bits: u32, count: u32) {
        for k in 0..count {
            if self.1 == 0 {
                self.0.push(0);
            }
            *self.0.last_mut().unwrap() |= ((bits >> k & 1) as u8) << self.1;
            self.1 = (self.1 + 1) % 8;
        }
    }

    /// Codes come with their highest bit first.
    fn code(&mut self, bits: u32, count: u32) {
        (0..count).rev().for_each(|k| self.put(bits >> k & 1, 1));
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |c: u32| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 };
    !bytes.iter().fold(!0u32, |crc, &b| (0..8).fold(crc ^ u32::from(b), |c, _| step(c)))
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&name[..], data].concat();
    [&(data.len() as u32).to_be_bytes(), &body[..], &crc(&body).to_be_bytes()].concat()
}

fn good(target: &str) -> Vec<Vec<u8>> {
    (TARGETS.iter().find(|t| t.name == target).unwrap().good)()
}

/// The file with something put in at a place.
fn with(file: &[u8], at: usize, more: &[u8]) -> Vec<u8> {
    [&file[..at], more, &file[at..]].concat()
}

/// Accepted or not, what is held is within the limit; what was made of it.
fn within(target: &str, file: &[u8], what: &str) -> bool {
    let (accepted, held) = try_input(target, file).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(held <= LIMIT as usize + BESIDE, "{what}: {held} bytes held");
    accepted
}

#[test]
fn what_stands_beside_the_pixels_of_a_png_is_not_unpacked() {
    let packed = zeros(UNPACKED);
    let raw = vec![0; 3 << 20];
    let beside: [(&[u8; 4], &[u8], &[u8]); 12] = [
        (b"iCCP", b"x\0\0", &packed),
        (b"zTXt", b"x\0\0", &packed),
        (b"iTXt", b"x\0\x01\0\0\0", &packed),
        (b"zTXt", b"Raw profile type exif\0\0", &packed),
        (b"iTXt", b"XML:com.adobe.xmp\0\x01\0\0\0", &packed),
        (b"tEXt", b"x\0", &raw),
        (b"sPLT", b"x\0\x08", &raw),
        (b"hIST", b"", &raw),
        (b"fdAT", b"\0\0\0\x01", &packed),
        (b"zxAb", b"", &packed),
        (b"iCCP", b"x\0\0", &raw),
        (b"iCCP", b"", &[]),
    ];
    for picture in good("png") {
        // Behind the header, and before the end.
        for at in [33, picture.len() - 12] {
            for (name, start, data) in beside {
                let more = chunk(name, &[start, data].concat());
                let what = format!("{} of {} at {at}", name.escape_ascii(), more.len());
                let accepted = within("png", &with(&picture, at, &more), &what);
                assert!(accepted || name == b"fdAT", "{what} makes the picture unreadable");
            }
        }
        // Notes of the camera are read, up to a size; several bombs are no more than one.
        let notes = chunk(b"eXIf", &raw);
        assert!(!within("png", &with(&picture, 33, &notes), "long notes"));
        let several = chunk(b"iCCP", &[b"x\0\0", &packed[..]].concat()).repeat(3);
        assert!(within("png", &with(&picture, 33, &several), "three bombs"));
    }
}

#[test]
fn pixels_without_end_are_not_held() {
    // Far more packed pixels than the header promises, in one piece and in many.
    let picture = good("png").remove(0);
    let packed = zeros(UNPACKED);
    let whole = [&picture[..33], &chunk(b"IDAT", &packed), &chunk(b"IEND", &[])].concat();
    within("png", &whole, "one piece");
    let mut pieces = picture[..33].to_vec();
    packed.chunks(1000).for_each(|part| pieces.extend(chunk(b"IDAT", part)));
    pieces.extend(chunk(b"IEND", &[]));
    within("png", &pieces, "many pieces");
}

#[test]
fn a_header_alone_takes_no_memory() {
    let picture = good("png").remove(0);
    let sides = [1, 2, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    for height in sides {
        for width in sides {
            // Grey of 1 and 16 bits, colours, a palette, with transparency; interlaced or not.
            for (depth, colour) in [(1, 0), (16, 0), (8, 2), (16, 2), (8, 3), (8, 4), (16, 6)] {
                for interlaced in [0, 1] {
                    let header = [
                        &u32::to_be_bytes(width)[..],
                        &u32::to_be_bytes(height),
                        &[depth, colour, 0, 0, interlaced],
                    ];
                    let header = chunk(b"IHDR", &header.concat());
                    let palette = chunk(b"PLTE", &[0; 6]);
                    let file = [&picture[..8], &header, &palette, &picture[33..]].concat();
                    let what = format!("{height} x {width}, {depth} bits of colour {colour}");
                    within("png", &file, &what);
                    within("png", &file[..60], &what);
                }
            }
        }
    }
    for picture in good("jpeg") {
        // The frame's header: its length, the bits of a sample, height and width.
        let frame = picture.windows(2).position(|w| w[0] == 0xff && matches!(w[1], 0xc0..=0xc2));
        let frame = frame.unwrap();
        for marker in [0xc0, 0xc1, 0xc2] {
            for sampling in [0x11, 0x22, 0x44, 0x41, 0x14] {
                for (height, width) in [
                    (1, 0xffff),
                    (0xffff, 1),
                    (0xffff, 0xffff),
                    (65_500, 2),
                    (2, 65_500),
                    (0, 1),
                    (500, 500),
                ] {
                    let mut file = picture.clone();
                    file[frame + 1] = marker;
                    file[frame + 5..frame + 7].copy_from_slice(&u16::to_be_bytes(height));
                    file[frame + 7..frame + 9].copy_from_slice(&u16::to_be_bytes(width));
                    file[frame + 11] = sampling;
                    let what = format!("{height} x {width}, marker {marker:x}, {sampling:x}");
                    let (_, held) =
                        try_input("jpeg", &file).unwrap_or_else(|e| panic!("{what}: {e}"));
                    // Blocks of a thin picture are wider than it is: 65535 x 1 pixels are 65535 x 32 samples.
                    assert!(held <= LIMIT as usize + (32 << 20), "{what}: {held}");
                }
            }
        }
    }
}

#[test]
fn what_stands_beside_the_pixels_of_a_jpeg_is_counted() {
    let segment = |marker: u8, start: &[u8]| {
        let data = [start, &vec![0; 65_000 - start.len()]].concat();
        [&[0xff, marker], &(data.len() as u16 + 2).to_be_bytes()[..], &data].concat()
    };
    for (marker, start) in [
        (0xe2, &b"ICC_PROFILE\0\x01\xff"[..]),
        (0xe1, b"Exif\0\0MM\0*\0\0\0\x08"),
        (0xe1, b"http://ns.adobe.com/xap/1.0/\0"),
        (0xed, b"Photoshop 3.0\x008BIM"),
        (0xfe, b"words"),
    ] {
        for picture in good("jpeg") {
            let some = with(&picture, 2, &segment(marker, start).repeat(90));
            within("jpeg", &some, &format!("{marker:x}, some"));
            // Twice its length is beyond the limit: refused before it is read.
            let many = with(&picture, 2, &segment(marker, start).repeat(150));
            let (accepted, held) = try_input("jpeg", &many).unwrap();
            assert!(!accepted && held < 1 << 20, "{marker:x}, many: {held}");
        }
    }
}
