// Package within puts a whole simulated TiKV cluster under a server of the same process.
package within

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// Instead closes a store and returns a store over a new simulated cluster in its place; it is a function for
// daemon.Config.Wrap. The cluster ends with its store.
func Instead(of storage.Store) storage.Store {
	on, err := open()
	if err = errors.Join(err, of.Close()); err != nil {
		panic("BUG: a simulated cluster: " + err.Error())
	}
	return on
}

// store is a store that closes its cluster with itself.
type store struct {
	storage.Store
	cluster *tikvfake.Cluster
}

// Close implements storage.Store.
func (s store) Close() error { return errors.Join(s.Store.Close(), s.cluster.Close()) }

// open opens a store over a new cluster.
func open() (storage.Store, error) {
	c, err := tikvfake.New()
	if err != nil {
		return nil, err
	}
	kv, err := c.Client()
	if err != nil {
		return nil, err
	}
	s, err := tikvkv.OpenOn(context.Background(), kv, tikvkv.Options{Keyspace: "within"})
	return store{s, c}, err
}
