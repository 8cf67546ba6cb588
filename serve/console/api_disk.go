package console

// diskReply has the sizes on the disk of a server, by their names in serverStatus.
type diskReply struct {
	Disk         uint64 `json:"diskBytes"`      // the files of the store
	ChangeLog    uint64 `json:"changeLogBytes"` // of these
	KeptLog      int64  `json:"keptLogBytes"`   // beside these, for the next backup
	DiskFree     uint64 `json:"diskFreeBytes"`
	DiskTotal    uint64 `json:"diskTotalBytes"`   // 0 if the data do not lie on a disk of this server
	DiskReserve  uint64 `json:"diskReserveBytes"` // what has to be free
	DiskBallast  uint64 `json:"diskBallastBytes"` // in a file that is let go when the reserve is gone
	RefusesWrite bool   `json:"refusesWrites"`    // for lack of room
}

// disk answers what lies on the disk, and whether writes are refused for lack of room.
func disk(q *query) (any, error) {
	if err := q.mayLoad(); err != nil {
		return nil, err
	}
	store := q.Server.Cluster.Store
	m := store.Metrics()
	return diskReply{m.DiskBytes, m.LogBytes, m.KeptBytes, m.DiskFree, m.DiskTotal, m.DiskReserve, m.DiskBallast, store.DiskFull()}, nil
}
