#!/bin/sh
# After an installation or an upgrade: a service that runs goes on with the new program.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart cantle.service
fi
