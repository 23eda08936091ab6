//! placeholder
use clap::Args;
/// demo
#[derive(Debug, Args)]
pub struct Demo {}
pub fn run(_: &Demo) -> anyhow::Result<crate::Exit> {
    anyhow::bail!("not yet")
}
