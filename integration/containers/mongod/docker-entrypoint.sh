#!/bin/sh
# As the official image's: options alone are mongod's, which is to be reached
# from other containers.
case "${1:-}" in
-*) set -- mongod "$@" ;;
esac
case "$*" in
*--bind_ip*) ;;
mongod | "mongod "*) set -- "$@" --bind_ip_all ;;
esac
exec "$@"
