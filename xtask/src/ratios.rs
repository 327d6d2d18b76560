//! How long a command answered by a warm daemon takes, measured in runs of `/bin/true` started the same way. Ratios,
//! because seconds say more about the machine than about the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::arguments::{Arguments, Result};

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = Path::new(arguments.required("dir")?).canonicalize()?;
    let runs = arguments.or("runs", 200_usize)?;
    let bd: PathBuf = arguments.or("bd", "target/release/bd".into())?;
    let bd = bd.canonicalize().map_err(|error| format!("{}: {error}", bd.display()))?;
    let bd = bd.to_string_lossy().into_owned();

    // Also the command that starts the daemon.
    let first =
        Command::new(&bd).args(["list", "--limit", "1", "--json"]).current_dir(&directory).output()?;
    let beads: serde_json::Value = serde_json::from_slice(&first.stdout)?;
    let id = beads[0]["id"].as_str().ok_or("the store has no beads")?.to_owned();

    let commands: Vec<Vec<&str>> = vec![
        vec!["/bin/true"],
        vec![&bd, "show", &id],
        vec![&bd, "ready"],
        vec![&bd, "list", "--limit", "50"],
        vec![&bd, "version"],
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); commands.len()];
    for _ in 0..runs {
        // One of each in turn, so that whatever else the machine does hits all of them alike.
        for (command, times) in commands.iter().zip(&mut times) {
            times.push(time(command, &directory)?);
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    let unit = medians[0].as_secs_f64();
    println!("{runs} runs each, in turn; medians, with /bin/true as 1");
    for (command, median) in commands.iter().zip(&medians) {
        let name =
            if command.len() > 1 { format!("bd {}", command[1..].join(" ")) } else { command[0].to_owned() };
        println!("{:6.2}  {name}", median.as_secs_f64() / unit);
    }
    Ok(())
}

fn time(command: &[&str], directory: &Path) -> Result<Duration> {
    let mut child = Command::new(command[0]);
    child.args(&command[1..]).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = child.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?}: {status}").into()) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
