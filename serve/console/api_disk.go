package console

// diskReply has the sizes of a server's data and of its disk.
type diskReply struct {
	Disk         uint64 `json:"diskBytes"`      // the files of the store
	ChangeLog    uint64 `json:"changeLogBytes"` // of these
	KeptLog      int64  `json:"keptLogBytes"`   // in addition, for the next backup
	DiskFree     uint64 `json:"diskFreeBytes"`
	DiskTotal    uint64 `json:"diskTotalBytes"`   // 0 if the data is not on a disk of this server
	DiskReserve  uint64 `json:"diskReserveBytes"` // below which writes are refused
	DiskBallast  uint64 `json:"diskBallastBytes"` // in a file that is deleted when the reserve is used up
	RefusesWrite bool   `json:"refusesWrites"`    // because the disk is full
}

// disk returns the sizes of the server's data and of its disk, and whether the server refuses writes because the disk
// is full.
func disk(q *query) (any, error) {
	if err := q.mayLoad(); err != nil {
		return nil, err
	}
	return q.diskSizes(), nil
}

// diskSizes returns the sizes of the server's data and of its disk.
func (q *query) diskSizes() diskReply {
	cl := q.Server.Cluster
	m := cl.StoreMetrics()
	return diskReply{m.DiskBytes, m.LogBytes, m.KeptBytes, m.DiskFree, m.DiskTotal, m.DiskReserve, m.DiskBallast, cl.DiskFull()}
}
