#!/bin/sh
# Makes every account below ROOT on the Prosody of that deployment, or gives it the password in its
# file: sh accounts.sh ROOT. The server may run meanwhile. What was done before is not done again, so
# that people who changed their password keep it; a new file in accounts/ sets it.
# Exits with 0 only if every account has been made; says on stderr which was not, and why.
set -eu

fail() {
  echo "accounts.sh: $*" >&2
  exit 1
}

root=${1:-}
[ -n "$root" ] || fail "name the folder that 'spade-llm host prepare --to' made: sh accounts.sh ROOT"
config=$root/server/prosody.cfg.lua
[ -e "$config" ] || fail "there is no $config, or $(id -un) may not look there:" \
  "run 'spade-llm host prepare --to $root' first, and this as the same user"
[ -r "$config" ] || fail "$(id -un) may not read $config: run this as $(stat -c %U "$config")"
# Files of another user's making could not be read by the server.
[ "$(id -u)" = "$(stat -c %u "$config")" ] \
  || fail "this is $(id -un), and $root belongs to $(stat -c %U "$config"): run this as that user"
command -v prosodyctl >/dev/null || fail "prosodyctl is not on PATH: install Prosody"

done_before=$root/server/registered
umask 077
mkdir -p "$done_before"

found=0
failed=0
for file in "$root"/*/accounts/*@*; do
  [ -f "$file" ] || continue
  found=1
  jid=${file##*/}
  # 160 random bits or a person's: compared by hash, so that no second copy of a password is kept.
  mark=$(sha256sum <"$file")
  if [ "$(cat "$done_before/$jid" 2>/dev/null)" = "$mark" ]; then
    continue
  fi
  # Twice, on standard input: arguments can be read by everybody in the list of processes.
  if said=$(cat "$file" "$file" \
    | prosodyctl --config "$config" register "${jid%%@*}" "${jid#*@}" 2>&1); then
    printf '%s\n' "$mark" >"$done_before/$jid"
    echo "account     $jid"
  else
    failed=1
    echo "accounts.sh: $jid was not made; prosodyctl said: $said" >&2
  fi
done
[ "$found" = 1 ] || fail "there is no password in $root/*/accounts: run 'spade-llm host prepare' first"
exit "$failed"
