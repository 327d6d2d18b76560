use beads_engine::dialect::Dialect;

/// The value of `--json`. Programs written for the Go `bd` know it as a boolean flag, so it may also be told that it is
/// meant, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFlag {
    Off,
    On,
    In(Dialect),
}

impl std::str::FromStr for JsonFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(Self::On),
            "false" => Ok(Self::Off),
            _ => text.parse().map(Self::In).map_err(|_| format!("{text:?} is not spec or compat")),
        }
    }
}
