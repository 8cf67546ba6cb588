//go:build !cgo

package tikvengine

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
)

// collectors is nil without TiKV's client.
var collectors func() []prometheus.Collector

// open returns an error: TiKV's client reads the time of its process by github.com/cloudfoundry/gosigar, which has no
// code for macOS without C.
func open(string, daemon.RemoteSettings) (storage.Store, error) {
	return nil, errors.New("this program has no engine for TiKV clusters, as it was built for macOS without C: build it there with CGO_ENABLED=1 go build ./cmd/cantle, or run the server on Linux or Windows")
}
