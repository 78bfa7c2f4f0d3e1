#!/bin/sh
# Makes every account below ROOT on the Prosody of that deployment, or gives it the password in its
# file: sh accounts.sh ROOT. The server may run meanwhile. What was done before is not done again, so
# that people who changed their password keep it; a new file in accounts/ sets it.
set -eu

root=${1:?the folder that 'spade-llm host prepare --to' made}
config=$root/server/prosody.cfg.lua
done_before=$root/server/registered
umask 077
mkdir -p "$done_before"

for file in "$root"/*/accounts/*@*; do
  [ -f "$file" ] || continue
  jid=${file##*/}
  # 160 random bits or a person's: compared by hash, so that no second copy of a password is kept.
  mark=$(sha256sum <"$file")
  if [ "$(cat "$done_before/$jid" 2>/dev/null)" = "$mark" ]; then
    continue
  fi
  # Twice, on standard input: arguments can be read by everybody in the list of processes.
  cat "$file" "$file" | prosodyctl --config "$config" register "${jid%%@*}" "${jid#*@}" >/dev/null
  printf '%s\n' "$mark" >"$done_before/$jid"
  echo "account     $jid"
done
