#!/bin/sh
# Everything of a deployment in one file: sh backup.sh ROOT FILE.tar.gz. Stop the agents before it: a
# database that is written to cannot be copied. The file holds passwords and keys: keep it as such.
set -eu

root=${1:?the folder that 'spade-llm host prepare --to' made}
file=${2:?the file to write}
umask 077
case $file in /*) ;; *) file=$PWD/$file ;; esac

for lock in "$root"/*/agents/*/lock; do
  [ -f "$lock" ] || continue
  if ! flock --nonblock --shared "$lock" true; then
    agent=${lock%/lock}
    echo "${agent##*/} runs: stop it first" >&2
    exit 1
  fi
done

# Sockets and process ids are of a run that is over.
# Folders by name: the one above them may be read-only, and is made by whoever restores.
cd "$root"
tar --create --gzip --file "$file.part" \
  --exclude '*.sock' --exclude '*.pid' --exclude server/web -- */
mv "$file.part" "$file"
echo "backup      $file"
