#!/bin/sh
# After the package is gone. The data is never removed with it.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "${1:-}" = purge ] && [ -d "${DPKG_ROOT:-}/var/lib/cantle" ]; then
	echo "cantle: the data stays in /var/lib/cantle; remove it yourself if nobody wants it"
fi
