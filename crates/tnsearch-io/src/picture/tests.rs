use super::*;
use std::fs::File;
use tempfile::TempDir;

/// A gradient with a disc and a bar, of any size.
fn scene(height: usize, width: usize, channels: usize) -> Picture {
    let mut samples = Vec::new();
    for r in 0..height {
        for c in 0..width {
            let (y, x) = (r as f64 / height as f64, c as f64 / width as f64);
            let disc = (y - 0.5).hypot(x - 0.4) < 0.25;
            let tone = if disc { 0.9 } else { 0.2 + 0.5 * x * y };
            samples.extend([tone, 1.0 - tone, 0.3 * y].iter().take(channels));
        }
    }
    Picture::new(height, width, channels, samples).unwrap()
}

fn file(dir: &TempDir, name: &str) -> std::path::PathBuf {
    dir.path().join(name)
}

fn none() -> MemoryLimit {
    MemoryLimit::new(Some(1 << 30))
}

#[test]
fn pictures_come_back_as_they_were_rounded() {
    let dir = tempfile::tempdir().unwrap();
    for (channels, bits) in [(1, 8), (3, 8), (1, 16), (3, 16)] {
        let picture = Picture { bits, ..scene(7, 11, channels) };
        let path = file(&dir, "X.png");
        write(&Output::check(&path).unwrap(), &picture).unwrap();
        assert!(is_picture(&path).unwrap());
        let read = read(&path, none()).unwrap();
        assert_eq!((read.bits, read.dims()), (bits, picture.dims()));
        let half = 0.5 / f64::from((1u32 << bits) - 1);
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > half + 1e-12;
        assert!(!read.samples.iter().zip(&picture.samples).any(far));
        // What was rounded once stays.
        let again = file(&dir, "Y.png");
        write(&Output::check(&again).unwrap(), &read).unwrap();
        assert_eq!(super::read(&again, none()).unwrap(), read);
    }
    let path = file(&dir, "X.jpeg");
    write(&Output::check(&path).unwrap(), &scene(16, 24, 3)).unwrap();
    let read = read(&path, none()).unwrap();
    assert_eq!(read.dims(), [16, 24, 3]);
    assert!(std::fs::read(&path).unwrap().starts_with(b"\xff\xd8\xff"));
}

#[test]
fn palettes_are_expanded_and_what_is_transparent_is_laid_over_white() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.png");
    let save = |bytes: &[u8], colour, depth| {
        let mut encoder = png::Encoder::new(File::create(&path).unwrap(), 2, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
        read(&path, none()).unwrap()
    };
    use png::{BitDepth::*, ColorType::*};
    let clear = save(&[255, 0, 0, 0, 0, 0, 255, 255], Rgba, Eight);
    assert_eq!(clear.samples, [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    assert!(clear.was_transparent);
    let opaque = save(&[51, 255, 255, 255], GrayscaleAlpha, Eight);
    assert_eq!((&opaque.samples[..], opaque.was_transparent), (&[0.2, 1.0][..], false));

    // Sixteen bits a channel, the high byte first.
    let wide =
        |samples: &[u16]| -> Vec<u8> { samples.iter().flat_map(|s| s.to_be_bytes()).collect() };
    let grey = save(&wide(&[65535, 0, 13107, 65535]), GrayscaleAlpha, Sixteen);
    assert_eq!((&grey.samples[..], grey.bits, grey.was_transparent), (&[1.0, 0.2][..], 16, true));
    let colours = [0, 13107, 65535, 65535, 1, 2, 3, 0];
    let colour = save(&wide(&colours), Rgba, Sixteen);
    assert_eq!((&colour.samples[..], colour.bits), (&[0.0, 0.2, 1.0, 1.0, 1.0, 1.0][..], 16));

    // A picture of 2 x 1 with a palette of two colours, one bit a pixel.
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8], data: &[u8]| {
        let body = [name, data].concat();
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(&body);
        png.extend(crc(&body).to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, 1, 3, 0, 0, 0]);
    chunk(b"PLTE", &[255, 0, 51, 0, 255, 0]);
    // One stored block of two bytes: no filter, pixels 0 and 1.
    chunk(b"IDAT", &[0x78, 1, 1, 2, 0, 0xfd, 0xff, 0, 0x40, 0, 0x42, 0, 0x41]);
    chunk(b"IEND", &[]);
    std::fs::write(&path, &png).unwrap();
    let read = read(&path, none()).unwrap();
    assert_eq!(read.samples, [1.0, 0.0, 0.2, 0.0, 1.0, 0.0]);
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &b| {
        (0..8)
            .fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    })
}

#[test]
fn what_is_no_picture_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.png");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let text = read(&path, none()).unwrap_err().problem.to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    };
    assert_eq!(refused(b"words"), "not a .png file: it does not start with PNG's signature");
    assert_eq!(refused(b""), "truncated: the file is empty");
    assert!(refused(b"\x93NUMPY\x01\0").starts_with("not a picture"));
    let whole = scene(9, 9, 3).to_png().unwrap();
    for length in 8..whole.len() - 12 {
        let said = refused(&whole[..length]);
        assert!(said.starts_with("truncated: ") || said.starts_with("damaged: "), "{said}");
    }
    // What the decoder says of a damaged picture is passed on.
    let mut wrong = whole.clone();
    wrong[29] ^= 1;
    let said = refused(&wrong);
    assert!(said.starts_with("damaged: ") && said.to_lowercase().contains("crc"), "{said}");
    for at in 8..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let _ = read(&path, none());
    }
    // 4 GB of pixels are refused by the header alone.
    let mut huge = whole.clone();
    huge[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let sum = crc(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.to_be_bytes());
    let text = refused(&huge);
    assert!(text.contains("of memory as 64-bit numbers, but only 1.07 GB is allowed"), "{text}");
}

#[test]
fn steps_before_the_tensor() {
    let grey = scene(6, 8, 3).grey();
    let first = scene(6, 8, 3).samples()[..3].to_vec();
    let by_hand = 0.299 * first[0] + 0.587 * first[1] + 0.114 * first[2];
    assert!((grey.samples()[0] - by_hand).abs() < 1e-15 && grey.dims() == [6, 8]);
    assert_eq!(scene(6, 8, 3).resized(3, 5).dims(), [3, 5, 3]);
    let flat = Picture::new(5, 7, 1, vec![0.25; 35]).unwrap().resized(3, 9);
    assert!(flat.samples().iter().all(|x| (x - 0.25).abs() < 1e-6) && flat.samples().len() == 27);
    let middle = scene(6, 8, 1).cropped(2, 4);
    assert_eq!(middle.samples()[..4], scene(6, 8, 1).samples()[18..22]);
    let tensor = AnyTensor::from(scene(6, 8, 3).into_tensor());
    assert_eq!(Picture::from_tensor(&tensor).unwrap(), scene(6, 8, 3));
    let wrong = tensor.reshaped(vec![6, 4, 2, 3]).unwrap();
    assert!(Picture::from_tensor(&wrong).unwrap_err().to_string().contains("[6, 4, 2, 3]"));
    assert_eq!(Picture::new(1, 2, 1, vec![-0.5, 1.5]).unwrap().bytes(), [0, 255]);
}

#[test]
fn what_is_no_picture_has_other_sides_or_numbers() {
    let of = |height, width, channels, samples| {
        Picture::new(height, width, channels, vec![0.5; samples]).is_some()
    };
    assert!(of(2, 3, 1, 6) && of(2, 3, 3, 18));
    assert!(!of(2, 3, 2, 12) && !of(2, 3, 4, 24) && !of(2, 3, 0, 0) && !of(2, 3, 1, 7));
    assert!(!of(0, 3, 1, 0) && !of(3, 0, 1, 0) && !of(usize::MAX, 2, 1, 6));
    let complex = AnyTensor::from(Tensor::new(vec![2, 3], vec![0.5; 6]).unwrap());
    let complex = complex.to_kind(Kind::C64).unwrap();
    let said = Picture::from_tensor(&complex).unwrap_err().to_string();
    assert!(said.ends_with("not complex128 of shape [2, 3]"), "{said}");
    for dims in [vec![2, 3], vec![2, 3, 1]] {
        let plain = AnyTensor::from(Tensor::new(dims, vec![0.5; 6]).unwrap());
        assert_eq!(Picture::from_tensor(&plain).unwrap().dims(), [2, 3]);
    }
    let picture = scene(2, 3, 3);
    assert_eq!((picture.height(), picture.width(), picture.channels()), (2, 3, 3));
}

#[test]
fn the_middle_is_cropped_in_all_channels() {
    let samples: Vec<f64> = (0..5 * 7 * 3).map(f64::from).collect();
    let whole = Picture::new(5, 7, 3, samples).unwrap();
    let middle = whole.clone().cropped(3, 4);
    let row = |r: u32| (r * 21 + 3..r * 21 + 15).map(f64::from);
    assert_eq!(middle.dims(), [3, 4, 3]);
    assert_eq!(middle.samples(), (1..4).flat_map(row).collect::<Vec<_>>());
    assert_eq!(whole.clone().cropped(9, 9), whole);
    assert_eq!(whole.clone().cropped(0, 0).samples(), [51.0, 52.0, 53.0]);
    // With the sides that it has it is not made anew, what is out of range included.
    assert_eq!(whole.clone().resized(5, 7), whole);
    assert_eq!(whole.clone().resized(5, 6).dims(), [5, 6, 3]);
    assert_eq!(whole.resized(4, 7).dims(), [4, 7, 3]);
    let grey = scene(3, 3, 1);
    assert_eq!(grey.clone().grey(), grey);
}

#[test]
fn steps_are_those_of_the_bits() {
    let samples = vec![-1.0, 0.2, 0.5, 1.0, 7.0, 0.0];
    let of = |bits| Picture { bits, ..Picture::new(2, 3, 1, samples.clone()).unwrap() };
    assert_eq!(of(8).bytes(), [0, 51, 128, 255, 255, 0]);
    assert_eq!(of(8).steps().samples(), [0.0, 51.0, 128.0, 255.0, 255.0, 0.0]);
    assert_eq!(of(16).steps().samples(), [0.0, 13107.0, 32768.0, 65535.0, 65535.0, 0.0]);
    assert_eq!(of(16).wide_bytes()[2..6], [0x33, 0x33, 0x80, 0]);
    assert_eq!((of(8).dtype(), of(16).dtype()), (Dtype::U8, Dtype::U16));
}

#[test]
fn files_are_pictures_by_their_names_and_their_beginnings() {
    let dir = tempfile::tempdir().unwrap();
    for (name, picture) in [("x.png", true), ("x.JPG", true), ("x.jpeg", true), ("x.npy", false)] {
        assert_eq!(is_picture_name(Path::new(name)), picture, "{name}");
    }
    assert!(!is_picture_name(Path::new("png")));
    // Other names are written as PNG.
    let path = file(&dir, "X.dat");
    write(&Output::check(&path).unwrap(), &scene(4, 5, 1)).unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    assert!(is_picture(&path).unwrap());
    std::fs::write(&path, crate::tests::npy_bytes(1, "<f8", false, "(1,)", &[0; 8])).unwrap();
    assert!(!is_picture(&path).unwrap());
    assert!(is_picture(&file(&dir, "gone.png")).is_err());
    assert_eq!(one_line(&"two\n lines"), "two lines");
}

#[test]
fn jpegs_are_grey_or_coloured_and_have_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.jpg");
    for channels in [1, 3] {
        let picture = scene(24, 40, channels);
        write(&Output::check(&path).unwrap(), &picture).unwrap();
        let read = read(&path, none()).unwrap();
        assert_eq!((read.dims(), read.bits), (picture.dims(), 8));
        let away = read.samples.iter().zip(&picture.samples).map(|(a, b)| (a - b).abs());
        assert!(away.sum::<f64>() < 0.03 * picture.samples.len() as f64);
    }
    let most = decode::JPEG_SIDE;
    for (height, width, fits) in [(1, most, true), (1, most + 1, false), (most + 1, 1, false)] {
        let flat = Picture::new(height, width, 1, vec![0.5; height * width]).unwrap();
        let mut bytes = Vec::new();
        let made = flat.encode(&mut bytes, PictureFormat::Jpeg).map_err(|e| e.to_string());
        let said = "a JPEG has sides of 65500 at most; use .png".to_owned();
        assert_eq!(made, if fits { Ok(()) } else { Err(said) }, "{height} {width}");
        if fits {
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path, none()).unwrap().width(), most);
            // One pixel more in the header.
            let frame = bytes.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
            bytes[frame + 8] += 1;
            std::fs::write(&path, &bytes).unwrap();
            let said = read(&path, none()).unwrap_err().problem.to_string();
            assert!(said.starts_with("damaged: a picture of 1 x 65501 pixels"), "{said}");
        }
    }
    // What cannot be written is the error of who writes.
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in [PictureFormat::Png, PictureFormat::Jpeg] {
        let error = scene(8, 8, 1).encode(&mut Full, format).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format:?}");
    }
}

#[test]
fn what_a_jpeg_takes_is_counted_before_it_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.jpg");
    write(&Output::check(&path).unwrap(), &scene(40, 33, 3)).unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    // The file twice, 8 bytes and 1 for each sample, and 2 for each of blocks of 64 x 64.
    let needed = 2 * length + 9 * 3 * 40 * 33 + 2 * 3 * 64 * 64;
    assert!(read(&path, MemoryLimit::new(Some(needed))).is_ok());
    let said = read(&path, MemoryLimit::new(Some(needed - 1))).unwrap_err().problem.to_string();
    assert!(said.contains("of memory as 64-bit numbers"), "{said}");
    // Twice the file alone.
    let said = read(&path, MemoryLimit::new(Some(2 * length - 1))).unwrap_err().problem;
    assert!(!said.to_string().contains("64-bit numbers"), "{said}");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..30]).unwrap();
    let said = read(&path, none()).unwrap_err().problem.to_string();
    assert!(said.starts_with("damaged: ") || said.starts_with("truncated: "), "{said}");
}

#[test]
fn notes_of_a_camera_turn_a_picture_and_long_ones_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.png");
    let save = |notes: Vec<u8>| {
        let mut info = png::Info::with_size(2, 1);
        (info.color_type, info.bit_depth) = (png::ColorType::Grayscale, png::BitDepth::Eight);
        info.exif_metadata = Some(notes.into());
        let encoder = png::Encoder::with_info(File::create(&path).unwrap(), info).unwrap();
        encoder.write_header().unwrap().write_image_data(&[0, 255]).unwrap();
        read(&path, none()).map_err(|e| e.problem.to_string())
    };
    let turned = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
    let seen = save(turned.to_vec()).unwrap();
    assert_eq!((seen.dims(), seen.samples()), (vec![2, 1], &[1.0, 0.0][..]));
    assert!(save(vec![0; 1 << 19]).is_ok());
    let said = save(vec![0; (1 << 20) + 64]).unwrap_err();
    assert_eq!(said, "damaged: more than 1 MB of notes stand beside the pixels");
}

#[test]
fn what_a_png_takes_is_counted_by_its_header_and_long_rows_fit() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "X.png");
    for (channels, each) in [(1, 9), (3, 27)] {
        std::fs::write(&path, scene(6, 7, channels).to_png().unwrap()).unwrap();
        assert!(read(&path, MemoryLimit::new(Some(42 * each))).is_ok());
        assert!(read(&path, MemoryLimit::new(Some(42 * each - 1))).is_err());
    }
    // A row of more than the notes may have.
    let long = Picture { bits: 16, ..Picture::new(1, 300_000, 3, vec![0.5; 900_000]).unwrap() };
    std::fs::write(&path, long.to_png().unwrap()).unwrap();
    assert_eq!(read(&path, none()).unwrap().width(), 300_000);
}
