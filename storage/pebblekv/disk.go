package pebblekv

import "github.com/cantledb/cantle/storage"

// checkDisk notes the free space and compares it with the reserve. A write-ahead log that
// cannot grow ends the process, so writers are turned away before.
func (s *store) checkDisk() {
	du, err := s.o.FS.GetDiskUsage(s.dir)
	if err != nil {
		return // the file system does not tell
	}
	s.diskFree.Store(du.AvailBytes)
	s.diskTotal.Store(du.TotalBytes)
	if s.o.ReserveBytes < 0 {
		return
	}
	reserve := uint64(s.o.ReserveBytes)
	if reserve == 0 {
		reserve = storage.DiskReserve(du.TotalBytes)
	}
	s.diskFull.Store(du.AvailBytes < reserve)
}
