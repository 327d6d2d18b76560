#!/bin/sh
# Installs bd and bb into ~/.local: install.sh [--version V] [--prefix DIR] [--uninstall]
#
# Takes the archive of a release, compares its SHA-256 with SHA256SUMS, and unpacks it. The script of a later release
# upgrades. In a directory with the files of a release, it installs those. Otherwise it downloads them: BEADS_URL is the
# address below which the releases are ($BEADS_URL/v<version>/<file>; file:///… works, too), and its default is the address
# that the release was built for. Without --version, the script of a release installs that release; the one of a checkout
# reads the newest version from $BEADS_URL/latest.
set -eu
export LC_ALL=C

# Filled in by `cargo xtask dist`, the address only with --url URL.
release_url=
release_version=

prefix=${PREFIX:-$HOME/.local}
url=${BEADS_URL:-$release_url}
version=
action=install

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage() {
    echo "usage: install.sh [--version V] [--prefix DIR] [--uninstall]"
}

while [ $# -gt 0 ]; do
    case $1 in
    --version) [ $# -ge 2 ] || fail "--version needs a value"; version=$2; shift 2 ;;
    --prefix) [ $# -ge 2 ] || fail "--prefix needs a value"; prefix=$2; shift 2 ;;
    --uninstall) action=uninstall; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
    esac
done
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
receipt=$prefix/share/beads/receipt

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
    echo "removed bd and bb from $prefix; stores and settings are untouched (bd uninstall, in each repository, removes those)"
    exit 0
fi

fetch() { # URL FILE
    if [ "${1#file://}" != "$1" ]; then
        cp "${1#file://}" "$2"
    elif command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --output-document="$2" "$1"
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
if [ -z "${BEADS_URL:-}$version" ] && [ -n "$directory" ] && [ -f "$directory/SHA256SUMS" ]; then
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
cp "$scratch/both" "$receipt"
# Each file is replaced by a rename, so a running bd keeps its old file.
while IFS= read -r file; do
    mkdir -p "$(dirname "$prefix/$file")"
    cp "$root/$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done <"$scratch/files"
while IFS= read -r file; do
    rm -f "$file"
done <"$scratch/obsolete"
cp "$scratch/receipt" "$receipt"

echo "installed bd and bb $version in $prefix/bin"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "add it to the search path: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "after an upgrade run bd daemon stop, once per store"
