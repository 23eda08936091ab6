//! The cases of the experiment: a tensor, what is asked, and what a user would do otherwise.

/// Where a tensor comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Data {
    /// `tnsearch generate` with these arguments.
    Made(&'static str),
    /// A file of the folder given with --data.
    Measured(&'static str),
    /// A picture of that folder, grey, as 4^8 (256 x 256, column-major, divided by 255).
    Picture(&'static str),
}

/// One search, and the direct methods in the same table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    pub name: &'static str,
    pub data: Data,
    /// What is asked, as options of `search`; those of `goal` also go to `decompose`.
    pub goal: &'static str,
    /// Further options of `search`.
    pub search: &'static str,
    /// Methods of `decompose` to compare with, with their options.
    pub direct: &'static [&'static str],
    /// Whether it is short enough for a quick run.
    pub quick: bool,
}

const TREES: &[&str] = &["tt-svd", "ht-svd", "hosvd"];
const NONE: &[&str] = &[];

const fn case(
    name: &'static str,
    data: Data,
    goal: &'static str,
    search: &'static str,
    direct: &'static [&'static str],
) -> Case {
    Case { name, data, goal, search, direct, quick: false }
}

const FIELD: Data = Data::Made("--example field --dims 50,60,70,40");
const STATE_14: Data = Data::Made("--example heisenberg --order 14 --seed 3");
const STATE_16: Data = Data::Made("--example heisenberg --order 16 --seed 4");
const SMOOTH: Data = Data::Made("--example smooth --dim 16");
const KINETIC: Data = Data::Measured("tensors/kinetic.npy");
const GREY: Data = Data::Picture("images/bsd-gray256/376086.png");
const WEIGHTS: Data = Data::Made("--example weights --dims 768,3072");

pub const CASES: &[Case] = &[
    Case {
        quick: true,
        ..case(
            "small field",
            Data::Made("--example field --dims 10,12,8,9"),
            "--max-re 0.03",
            "",
            TREES,
        )
    },
    case("field", FIELD, "--max-rse 1e-3", "", TREES),
    case("field, ring", FIELD, "--max-rse 1e-3", "--template ring", &["tr-svd"]),
    case("field, path", FIELD, "--max-rse 1e-3", "--template path", &["tt-svd"]),
    case("field, ht", FIELD, "--max-rse 1e-3", "--template ht", &["ht-svd"]),
    case(
        "Heisenberg 14, ring",
        STATE_14,
        "--max-rse 1e-4",
        "--template ring --max-seconds 20",
        TREES,
    ),
    case("Heisenberg 14", STATE_14, "--max-rse 1e-4", "--max-seconds 60", TREES),
    case(
        "Heisenberg 16, ht",
        STATE_16,
        "--max-rse 1e-4",
        "--template ht --max-seconds 20",
        &["ht-svd"],
    ),
    case(
        "picture, RE 0.1, ring",
        GREY,
        "--max-re 0.1",
        "--template ring --max-seconds 20",
        &["tt-svd", "tr-als --ranks 23"],
    ),
    case("picture, RE 0.1", GREY, "--max-re 0.1", "--max-seconds 60", TREES),
    case(
        "picture, 4000 params, ring",
        GREY,
        "--max-params 4000",
        "--template ring --max-seconds 20",
        NONE,
    ),
    case("kinetic, RE 0.1", KINETIC, "--max-re 0.1", "", TREES),
    case("kinetic, RE 0.1, any tree", KINETIC, "--max-re 0.1", "--template any-tree", NONE),
    case("kinetic, RE 0.01", KINETIC, "--max-re 0.01", "--max-seconds 60", TREES),
    case("smooth 16^5", SMOOTH, "--max-re 0.01", "", TREES),
    case("smooth 16^5, any tree", SMOOTH, "--max-re 0.01", "--template any-tree", NONE),
    case(
        "smooth 32^5",
        Data::Made("--example smooth --dim 32"),
        "--max-re 0.01",
        "--max-seconds 60",
        TREES,
    ),
    case(
        "signal 2^24",
        Data::Made("--example signal --order 24"),
        "--max-re 0.01",
        "--max-seconds 300",
        &["tt-svd"],
    ),
    case(
        "weights 768 x 3072",
        WEIGHTS,
        "--max-params 160000",
        "--split auto --max-seconds 60",
        NONE,
    ),
];

/// The pictures of the paper's loss, phi + 5 RSE.
pub const PICTURES: [&str; 4] = ["376086", "291000", "241004", "20069"];
