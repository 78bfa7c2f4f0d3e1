#!/bin/sh
# Puts the pages of the web chat into a folder: sh build.sh TARGET. Needs npm, and what it can reach.
# Converse.js is not part of this repository (MPL-2.0): one version of it is taken, known by its hash.
set -eu

version=14.0.0
sha512=2c5520d37d230da955e3bbc8fefc953ea60f65f2585c56ee6eaf2fd1c1437b6cd735e786124dd4a74163fd64f34fab7ee9da3e700213a32ef77808fb44d0e3d9

target=${1:?the folder to make}
pages=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$target"
target=$(cd "$target" && pwd)

cd "$work"
npm pack --silent --ignore-scripts "converse.js@$version" >/dev/null
echo "$sha512  converse.js-$version.tgz" | sha512sum --check --quiet
tar -xzf "converse.js-$version.tgz"

rm -rf "$target/converse"
mv package/dist "$target/converse"
cp package/LICENSE package/COPYRIGHT "$target/converse/"
# What only developers need is most of it.
cd "$target/converse"
find . -name '*.map' -exec rm {} +
rm -f converse.js converse.css website.css website.min.css
cp "$pages/index.html" "$pages/chat.js" "$target/"
