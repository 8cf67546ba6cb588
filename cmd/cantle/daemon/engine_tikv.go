package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
)

// tikvCollectors are the metrics of TiKV's client.
var tikvCollectors = tikvkv.Collectors

// openTiKV opens a store in a TiKV cluster.
func openTiKV(where string, s storeSettings) (storage.Store, error) {
	l, err := tikvkv.ParseLocation(where)
	if err != nil {
		return nil, fmt.Errorf("--storage: %w", err)
	}
	if s.readOnly {
		return nil, errors.New("--serve-damaged is for data in files of this machine; mend a TiKV cluster with its own tools")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	return tikvkv.Open(context.Background(), l, tikvkv.Options{
		Self:        fmt.Sprintf("the server on %s, process %d", host, os.Getpid()),
		Several:     !l.Exclusive,
		TxnBytesMax: s.shares.txnBytes, TxnMemory: s.shares.writes, Clock: time.Now, Log: s.log,
		Fatal: func(message string) {
			s.fatal(message)
			os.Exit(3) // as the engine on files does
		},
	})
}
