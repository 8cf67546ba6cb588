//go:build cgo || !darwin

package tikvengine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
)

// collectors are the metrics of TiKV's client.
var collectors = tikvkv.Collectors

// open opens a store in a TiKV cluster.
func open(where string, s daemon.RemoteSettings) (storage.Store, error) {
	l, err := tikvkv.ParseLocation(where)
	if err != nil {
		return nil, fmt.Errorf("--storage: %w", err)
	}
	if s.ReadOnly {
		return nil, errors.New("--serve-damaged is for data in files of this machine; mend a TiKV cluster with its own tools")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	return tikvkv.Open(context.Background(), l, tikvkv.Options{
		ServerName:  fmt.Sprintf("the server on %s, process %d", host, os.Getpid()),
		Several:     !l.Exclusive,
		TxnBytesMax: s.TxnBytesMax, TxnMemory: s.TxnMemory, Clock: time.Now, Log: s.Log,
		Fatal: func(message string) {
			s.Fatal(message)
			os.Exit(3) // as the engine on files does
		},
	})
}
