package tikvengine

import "github.com/cantledb/cantle/serve/daemon"

// Engine returns the engine, for daemon.Config.Remotes.
func Engine() daemon.Remote {
	return daemon.Remote{
		Scheme:     "tikv",
		Keeps:      "in a TiKV cluster, which several servers can share, given by the addresses of PD as tikv://pd1:2379,pd2:2379/keyspace",
		Open:       open,
		Collectors: collectors,
	}
}
