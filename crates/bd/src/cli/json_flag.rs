use beads_engine::dialect::Dialect;

/// The value of `--json`. It is a boolean flag for programs written for the Go `bd`, so it also takes `true`
/// and `false`.
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
