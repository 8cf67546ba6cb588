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
	return nil, errors.New("this program was built without the engine for TiKV clusters: build it with go build -tags tikv ./cmd/cantle")
}
