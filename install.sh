#!/bin/sh
# Installs bd and bb into ~/.local: install.sh [--version V] [--prefix DIR] [--force] [--uninstall]
#
# Takes the archive of a release, compares its SHA-256 with SHA256SUMS, and unpacks it. The script of a later release
# upgrades. A bd or bb that this script did not install is kept: the script stops, and with --force it renames the file to
# bd.old or bb.old. In a directory with the files of a release, it installs those. Otherwise it downloads them: BEADS_URL is
# the address below which the releases are ($BEADS_URL/v<version>/<file>; file:///… works, too), and its default is the
# address that the release was built for. Without --version, the script of a release installs that release; the one of a
# checkout reads the newest version from $BEADS_URL/latest.
set -eu
export LC_ALL=C

# Filled in by `cargo xtask dist`, the address only with --url URL.
release_url=
release_version=

prefix=${PREFIX:-$HOME/.local}
url=${BEADS_URL:-$release_url}
version=
action=install
force=

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage() {
    echo "usage: install.sh [--version V] [--prefix DIR] [--force] [--uninstall]"
}

describe_options() {
    usage
    echo
    echo "  --version V   install this version instead of the one of this script, or the newest"
    echo "  --prefix DIR  install below DIR instead of ~/.local"
    echo "  --force       replace a bd or bb that this script did not install, and keep it as bd.old or bb.old beside it"
    echo "  --uninstall   remove the files that this script installed below DIR"
}

while [ $# -gt 0 ]; do
    case $1 in
    --version) [ -n "${2:-}" ] || fail "--version needs a value"; version=$2; shift 2 ;;
    --prefix) [ -n "${2:-}" ] || fail "--prefix needs a value"; prefix=$2; shift 2 ;;
    --force) force=yes; shift ;;
    --uninstall) action=uninstall; shift ;;
    -h | --help) describe_options; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
    esac
done
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
given_prefix=$prefix

# Spells the prefix without links, dots and doubled slashes, so that every run writes the same paths into the receipt.
resolve_prefix() {
    if [ -d "$prefix" ]; then
        prefix=$(CDPATH='' cd -- "$prefix" && pwd -P)
    fi
    receipt=$prefix/share/beads/receipt
}
resolve_prefix

# Removes the files that the receipt lists, and the directories that are empty then.
remove_listed() {
    while IFS= read -r file; do
        rm -f "$file"
    done <"$1"
    rm -f "$1"
    rmdir "$prefix/share/beads" "$prefix/share/doc/beads" 2>/dev/null || true
}

if [ "$action" = uninstall ]; then
    [ -f "$receipt" ] || fail "$receipt does not exist: nothing was installed here by this script"
    remove_listed "$receipt"
    echo "removed bd and bb from $given_prefix; stores and settings are untouched (bd uninstall, in each repository, removes those)"
    exit 0
fi

exists() { # FILE, also a link that leads nowhere
    [ -e "$1" ] || [ -L "$1" ]
}

# Another program may have the same name: the installer of the Go bd uses ~/.local/bin/bd, too.
foreign=
for program in bd bb; do
    file=$prefix/bin/$program
    if ! exists "$file" || grep -Fqx -e "$file" -e "$given_prefix/bin/$program" "$receipt" 2>/dev/null; then
        continue
    fi
    [ -n "$force" ] || fail "$file exists, but this script did not install it; nothing was changed. Remove it, choose another \
directory with --prefix DIR, or pass --force, which keeps it as $file.old"
    ! exists "$file.old" || fail "$file cannot be kept as $file.old, because that exists; nothing was changed. Move it away"
    foreign="$foreign $program"
done

# An https address must not lead to an unencrypted one, because the sums come the same way.
fetch() { # URL FILE
    https=
    [ "${1#https://}" = "$1" ] || https=yes
    if [ "${1#file://}" != "$1" ]; then
        cp "${1#file://}" "$2"
    elif command -v curl >/dev/null 2>&1; then
        curl ${https:+--proto =https --proto-redir =https} --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1 && [ -z "$https" ]; then
        wget --quiet --output-document="$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        # wget has no such options, but prints where it was sent.
        wget -q -S -O "$2" "$1" 2>"$scratch/headers" && ! grep -Eiq '^ *location: *(http|ftp):' "$scratch/headers"
    else
        fail "curl or wget is needed"
    fi || fail "cannot read $1; nothing was changed"
}

sum_of() { # FILE
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d ' ' -f 1
    else
        shasum -a 256 "$1" | cut -d ' ' -f 1
    fi
}

from_source="use cargo install --locked --path crates/bd in a checkout"
system=$(uname -s)-$(uname -m)
case $system in
Linux-x86_64 | Linux-aarch64) ;;
*) fail "there is no build for $system; $from_source" ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Piped into a shell, the script has no directory.
directory=
if [ "${0##*/}" = install.sh ] && [ -f "$0" ]; then
    directory=$(cd "$(dirname "$0")" && pwd)
fi
if [ -z "${BEADS_URL:-}" ] && [ "${version:-$release_version}" = "$release_version" ] &&
    [ -n "$directory" ] && [ -f "$directory/SHA256SUMS" ]; then
    files=file://$directory
    version=$release_version
else
    [ -n "$url" ] || fail "set BEADS_URL to the address of the releases, or run this script beside the files of a release"
    version=${version:-$release_version}
    if [ -z "$version" ]; then
        fetch "$url/latest" "$scratch/latest"
        version=$(cat "$scratch/latest")
    fi
    files=$url/v$version
fi
name=beads-$version-${system#Linux-}-linux
fetch "$files/SHA256SUMS" "$scratch/SHA256SUMS"
expected=$(sed -n "s/^\([0-9a-f]*\)  $name\.tar\.gz\$/\1/p" "$scratch/SHA256SUMS")
[ -n "$expected" ] || fail "this release has no $name.tar.gz, so nothing was changed; $from_source"
fetch "$files/$name.tar.gz" "$scratch/$name.tar.gz"
found=$(sum_of "$scratch/$name.tar.gz")
[ "$found" = "$expected" ] || fail "$name.tar.gz has the SHA-256 $found instead of $expected; nothing was changed"

tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
root=$scratch/beads-$version
"$root/bin/bd" version >/dev/null || fail "the bd in $name.tar.gz does not run here; nothing was changed"
(cd "$root" && find . -type f) | sort >"$scratch/files"
mkdir -p "$prefix"
resolve_prefix
while IFS= read -r file; do
    echo "$prefix/${file#./}"
done <"$scratch/files" >"$scratch/receipt"
# Until everything is copied, the receipt lists the files of both versions, so that --uninstall finds all of them.
mkdir -p "$prefix/share/beads"
if [ -f "$receipt" ]; then
    sort -u "$receipt" "$scratch/receipt" >"$scratch/both"
    comm -23 "$scratch/both" "$scratch/receipt" >"$scratch/obsolete"
else
    cp "$scratch/receipt" "$scratch/both"
    : >"$scratch/obsolete"
fi
for program in $foreign; do
    mv "$prefix/bin/$program" "$prefix/bin/$program.old"
    echo "kept the earlier $program as $given_prefix/bin/$program.old"
done
cp "$scratch/both" "$receipt"
while IFS= read -r file; do
    rm -f "$file"
done <"$scratch/obsolete"
# Each file is replaced by a rename, so a running bd keeps its old file.
while IFS= read -r file; do
    mkdir -p "$(dirname "$prefix/$file")"
    cp "$root/$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done <"$scratch/files"
cp "$scratch/receipt" "$receipt"

echo "installed bd and bb $version in $given_prefix/bin"
case :$PATH: in
*":$given_prefix/bin:"* | *":$prefix/bin:"*) ;;
*) echo "add it to the search path: export PATH=\"$given_prefix/bin:\$PATH\"" ;;
esac
echo "after an upgrade run bd daemon stop, once per store"
