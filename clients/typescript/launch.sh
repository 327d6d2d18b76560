#!/bin/sh
# Runs bd or bb from the package for this machine. npm installs that package as a dependency of this one, so it is found as
# Node finds modules: in the next node_modules upwards.
set -eu
self=$(readlink -f "$0")
program=${self##*/}
case $(uname -sm) in
"Linux x86_64") package=beads-rs-linux-x64 ;;
"Linux aarch64") package=beads-rs-linux-arm64 ;;
*)
    echo "$program: there is no build for $(uname -sm)" >&2
    exit 127
    ;;
esac
directory=${self%/bin/*}
while [ -n "$directory" ]; do
    if [ -x "$directory/node_modules/$package/bin/$program" ]; then
        exec "$directory/node_modules/$package/bin/$program" "$@"
    fi
    directory=${directory%/*}
done
echo "$program: the package $package is missing. Install it together with beads-rs; npm leaves it out if it is not at hand" >&2
exit 127
