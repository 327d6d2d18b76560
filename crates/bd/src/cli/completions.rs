use beads_engine::request::Reply;
use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Globals, stdout_reply};

/// Print a shell completion script
///
/// In bash, zsh and fish, the script also completes ids with their titles, statuses, labels, actors and types
/// of the store at hand.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd completions bash > ~/.local/share/bash-completion/completions/bd\n  bd completions zsh > ~/.zfunc/_bd\n  bd completions fish > ~/.config/fish/completions/bd.fish"
)]
pub struct Args {
    /// Shell to print the script for
    shell: Shell,
}

impl Args {
    pub fn run(self, _: &Globals) -> Reply {
        stdout_reply(match self.shell {
            Shell::Bash => BASH.to_owned(),
            Shell::Zsh => ZSH.to_owned(),
            Shell::Fish => FISH.to_owned(),
            other => {
                let mut script = Vec::new();
                clap_complete::generate(other, &mut Cli::command(), "bd", &mut script);
                String::from_utf8_lossy(&script).into_owned()
            }
        })
    }
}

/// Asks `bd complete`, and falls back to file names. Bash replaces only the part after the last word break
/// (`@`, `=` or `:`), so the part before it is removed. Descriptions are shown only in a list.
const BASH: &str = r#"_bd() {
    local line="${COMP_LINE:0:COMP_POINT}" words=() current value about
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current="${words[${#words[@]}-1]}"
    local broken="${current%"${current##*[@=:]}"}" values=() abouts=()
    while IFS=$'\t' read -r value about; do
        values+=("${value#"$broken"}")
        abouts+=("$about")
    done < <(bd complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${values[@]}")
    if [[ ${#values[@]} -gt 1 && $COMP_TYPE == 63 ]]; then
        local number
        for number in "${!values[@]}"; do
            [[ -n ${abouts[number]} ]] && COMPREPLY[number]="${values[number]}  (${abouts[number]})"
        done
    fi
}
complete -o default -o nosort -F _bd bd 2>/dev/null || complete -o default -F _bd bd
"#;

const ZSH: &str = r#"#compdef bd
_bd() {
    local line value about
    local -a items
    for line in "${(@f)$(bd complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -z $line ]] && continue
        value="${line%%$'\t'*}"
        about="${line#*$'\t'}"
        [[ $about == "$line" ]] && about=""
        items+=("${value//:/\\:}:${about}")
    done
    if (( ${#items} )); then
        _describe -V 'bd' items
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_bd" ]; then
    _bd "$@"
else
    compdef _bd bd
fi
"#;

const FISH: &str = r#"function __bd_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (bd complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c bd -f -k -a '(__bd_complete)'
"#;
