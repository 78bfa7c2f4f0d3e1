#!/bin/bash
# Exits with 0 if an XMPP server for DOMAIN answers on this machine: bash prosody-health.sh DOMAIN [PORT]
set -eu

exec 3<>"/dev/tcp/127.0.0.1/${2:-5222}"
printf "<stream:stream to='%s' version='1.0' xmlns='jabber:client' xmlns:stream='%s'>" \
  "$1" http://etherx.jabber.org/streams >&3
read -r -t 5 -d '>' _ <&3
while read -r -t 5 -d '>' tag <&3; do
  case $tag in
    *stream:error*) exit 1 ;;
    *starttls*) printf '</stream:stream>' >&3; exit 0 ;;
  esac
done
exit 1
