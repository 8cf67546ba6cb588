#!/bin/sh
# Before the package goes: the service ends. Not before an upgrade ("upgrade" by dpkg, 1 by rpm).
set -e
case "${1:-}" in
remove | 0)
	if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now cantle.service
	fi
	;;
esac
