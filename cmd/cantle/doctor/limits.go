package doctor

import (
	"github.com/cantledb/cantle/serve/daemon"
)

// Bounds of what a server needs.
const (
	memoryLow = 256 << 20
	// storeFiles is the maximum number of files that a server's store keeps open.
	storeFiles = 4096
	// fewFiles is the limit of open files below which a server cannot work: the store's files and some clients would
	// not fit.
	fewFiles = 1024
	// manyClients is the number of connections for which the limit of open files should leave room beside the store's
	// files.
	manyClients = 1000
)

// memory reports the memory of the process, from which a server computes the sizes of its caches.
func memory() []Finding {
	n := daemon.MemoryBytes()
	if n < memoryLow {
		return []Finding{newFinding("memory", Warning, "%s for this process", size(uint64(n))).
			do("give it more: caches get an eighth of it and sorts a quarter, unless --cache-size and --work-memory are set")}
	}
	return []Finding{newFinding("memory", Good, "%s for this process: an eighth for the block cache, a quarter for the work of clients", size(uint64(n)))}
}

// descriptors checks whether the limit of open files of the process, if there is one, leaves room for the store's
// files and for manyClients and conns connections.
func descriptors(conns int) []Finding {
	limit, ok := filesMax()
	if !ok {
		return nil
	}
	const how = "raise it: ulimit -n 65536 in the shell, LimitNOFILE=65536 in the unit of systemd, --ulimit nofile=65536 for docker run"
	room := max(int64(limit)-storeFiles, 0)
	switch {
	case limit < fewFiles:
		return []Finding{newFinding("descriptors", Fault, "%d files and connections: too few even for the files of the database", limit).do(how)}
	case room < manyClients:
		return []Finding{newFinding("descriptors", Warning, "%d files and connections, of which a large database takes %d", limit, storeFiles).do(how)}
	case int64(conns) > room:
		return []Finding{newFinding("descriptors", Warning, "%d files and connections: too few for --max-connections %d and the files of a large database", limit, conns).do(how)}
	}
	return []Finding{newFinding("descriptors", Good, "%d files and connections", limit)}
}
