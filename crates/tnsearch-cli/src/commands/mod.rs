//! The commands, one file each.

mod bound;
mod certificate;
mod certify;
mod compare;
mod complete;
mod completions;
mod compress;
mod compress_model;
mod cuts;
mod data;
mod declared;
mod decompose;
mod decompress;
mod decompress_model;
mod demo;
mod describe;
mod distance;
mod fit;
mod generate;
mod holes;
mod info;
mod options;
mod outputs;
mod pick;
mod pictures;
mod reconstruct;
mod report;
mod reproduce;
mod round;
mod search;
mod space;
mod tgp;
mod verify;
mod watch;

use crate::Exit;
use clap::{Parser, Subcommand};

/// Finds the smallest tensor network for a tensor.
///
/// Give it a tensor and an error you can live with; it returns which mode sits on which vertex, how
/// wide each edge is, and the cores.
#[derive(Debug, Parser)]
#[command(
    name = "tnsearch",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  tnsearch demo                                     see it work, within seconds
  tnsearch search X.npy --max-rse 1e-4 -o net.safetensors
  tnsearch compare X.npy --max-re 0.1               all methods side by side
  tnsearch certify X.npy --max-rse 1e-4 --net net.safetensors
  tnsearch verify X.npy net.safetensors out.json    check every claim anew
  tnsearch space --template ring --order 8          how large a search would be
  tnsearch complete X.npy --nan-missing -o full.npy  fill the holes of a tensor
  tnsearch info net.safetensors
  tnsearch reconstruct net.safetensors -o X2.npy
  tnsearch round net.safetensors --max-re 0.01 -o small.safetensors
  tnsearch compress photo.png -o photo.safetensors --page photo.html
  tnsearch compress-model model.safetensors --keep-re 0.05 -o small.safetensors
  tnsearch tgp train train.csv -o model.safetensors  Gaussian process regression

Exit codes: 0 done; 1 the target was not reached (the best so far is still written);
2 bad usage or bad input; 3 verify found nothing wrong but could not check all; 130 on Ctrl-C (the best so far is written)."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Search(Box<search::Search>),
    Fit(fit::Fit),
    Decompose(decompose::Decompose),
    Compare(Box<compare::Compare>),
    Complete(Box<complete::Complete>),
    Compress(Box<compress::Compress>),
    Decompress(decompress::Decompress),
    CompressModel(Box<compress_model::CompressModel>),
    DecompressModel(decompress_model::DecompressModel),
    Bound(bound::Bound),
    Certify(certify::Certify),
    Verify(Box<verify::Verify>),
    Space(space::Space),
    Distance(distance::Distance),
    Reconstruct(reconstruct::Reconstruct),
    Round(round::Round),
    Pick(pick::Pick),
    Report(report::Report),
    Watch(watch::Watch),
    Info(info::Info),
    Tgp(Box<tgp::Tgp>),
    Demo(demo::Demo),
    Generate(generate::Generate),
    Reproduce(reproduce::Reproduce),
    Completions(completions::Completions),
}

/// Runs a command.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Search(args) => search::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Decompose(args) => decompose::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Complete(args) => complete::run(&args),
        Command::Compress(args) => compress::run(&args),
        Command::Decompress(args) => decompress::run(&args),
        Command::CompressModel(args) => compress_model::run(&args),
        Command::DecompressModel(args) => decompress_model::run(&args),
        Command::Bound(args) => bound::run(&args),
        Command::Certify(args) => certify::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Space(args) => space::run(&args),
        Command::Distance(args) => distance::run(&args),
        Command::Reconstruct(args) => reconstruct::run(&args),
        Command::Round(args) => round::run(&args),
        Command::Pick(args) => pick::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Tgp(args) => tgp::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
