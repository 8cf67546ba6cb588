//go:build !tikv

package daemon

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
)

// tikvCollectors are none.
var tikvCollectors func() []prometheus.Collector

// openTiKV says where the engine is: its libraries are two fifths of a program that most
// people run on files, so they are left out unless asked for.
func openTiKV(string, storeSettings) (storage.Store, error) {
	return nil, errors.New("this program has no engine for TiKV clusters: use cantle-tikv, which is released beside it for Linux, or build one with go build -tags tikv ./cmd/cantle")
}
