package doctor

import (
	"os"
	"path/filepath"
	"time"
)

// aheadMax is the difference between a file's time and the clock that is not reported: network file systems use the
// clock of another machine.
const aheadMax = time.Minute

// clock checks that the machine's clock is synchronised, and that it has not been set back behind the files of the
// database.
func clock(folder string) (out []Finding) {
	if at, name := newest(filepath.Join(folder, "store")); time.Until(at) > aheadMax {
		out = append(out, newFinding("clock", Fault, "it is %s behind the newest file of the database, %s: it was set back", time.Until(at).Round(time.Second), name).
			do("set the clock (timedatectl): times of documents, TTL indexes and certificates depend on it"))
	}
	switch kept, known := synchronized(); {
	case !known:
	case !kept:
		out = append(out, newFinding("clock", Warning, "not synchronised (%s)", time.Now().UTC().Format(time.DateTime+" MST")).
			do("start chrony or systemd-timesyncd; for a container or virtual machine, on its host"))
	default:
		out = append(out, newFinding("clock", Good, "%s, synchronised", time.Now().UTC().Format(time.DateTime+" MST")))
	}
	return out
}

// newest returns the time and name of the file in a folder that was written most recently.
func newest(folder string) (at time.Time, name string) {
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(at) {
			at, name = info.ModTime(), f.Name()
		}
	}
	return at, name
}
