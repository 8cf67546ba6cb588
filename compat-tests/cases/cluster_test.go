package cases

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/compat-tests/harness"
	"github.com/cantledb/cantle/compat-tests/tikvfake"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
)

// launchOnCluster is a harness.Config.Launch: a server in this process whose store is in a
// simulated TiKV cluster of its own.
func launchOnCluster(o harness.Options) (*harness.Server, error) {
	return hosted(o, func(s storage.Store) storage.Store {
		on, err := openOnCluster()
		if err = errors.Join(err, s.Close()); err != nil {
			panic("BUG: a simulated cluster: " + err.Error())
		}
		return on
	})
}

// onCluster is a store that drops its cluster with itself.
type onCluster struct {
	storage.Store
	cluster *tikvfake.Cluster
}

// openOnCluster opens a store over a new cluster.
func openOnCluster() (storage.Store, error) {
	c, err := tikvfake.New()
	if err != nil {
		return nil, err
	}
	kv, err := c.Client()
	if err != nil {
		return nil, err
	}
	s, err := tikvkv.OpenOn(context.Background(), kv, tikvkv.Options{Keyspace: "cases"})
	return onCluster{s, c}, err
}

// Close implements storage.Store.
func (s onCluster) Close() error { return errors.Join(s.Store.Close(), s.cluster.Close()) }
