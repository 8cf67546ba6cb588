package doctor

import (
	"github.com/cantledb/cantle/serve/daemon"
)

// Bounds of what a server needs.
const (
	memoryLow = 256 << 20
	// storeFiles is the maximum number of files that the store keeps open.
	storeFiles = 4096
	// fewFiles is the least that a server can run with: its files, and some clients.
	fewFiles = 1024
	// manyClients is the number of connections that should fit beside the files.
	manyClients = 1000
)

// memory reports the memory that the server will size its caches by.
func memory() []Finding {
	n := daemon.MemoryBytes()
	if n < memoryLow {
		return []Finding{newFinding("memory", Warning, "%s for this process", size(uint64(n))).
			do("give it more: caches get an eighth of it and sorts a quarter, unless --cache-size and --work-memory are set")}
	}
	return []Finding{newFinding("memory", Good, "%s for this process: an eighth for the block cache, a quarter for the work of clients", size(uint64(n)))}
}

// descriptors checks how many files and connections the process may have open.
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
