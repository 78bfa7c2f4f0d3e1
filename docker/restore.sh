#!/bin/sh
# Puts a backup back: sh restore.sh ROOT FILE.tar.gz. Only where nothing is yet. Run it as the user
# that the files shall belong to; then `spade-llm host prepare` makes the rest.
set -eu

root=${1:?the folder of the deployment}
file=${2:?the file that backup.sh wrote}
umask 077

if [ -n "$(find "$root" -type f -print 2>/dev/null | head -n 1)" ]; then
  echo "there are files in $root: restore into an empty folder, or move these away" >&2
  exit 1
fi
gzip --test "$file"
mkdir -p "$root"
tar --extract --gzip --file "$file" --directory "$root" --no-same-owner --preserve-permissions
echo "restored    $root"
