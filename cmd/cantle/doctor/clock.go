package doctor

import (
	"os"
	"path/filepath"
	"time"
)

// aheadMax is how far a file may be ahead of the clock without a word: file systems of
// other machines have clocks of their own.
const aheadMax = time.Minute

// clock looks whether somebody keeps the clock right, and whether it has gone back.
func clock(folder string) (out []Finding) {
	if at, name := newest(filepath.Join(folder, "store")); time.Until(at) > aheadMax {
		out = append(out, found("clock", Fault, "it is %s behind the newest file of the store, %s: it has been set back", time.Until(at).Round(time.Second), name).
			do("set the clock (timedatectl); times of documents, TTL indexes and certificates go by it"))
	}
	switch kept, known := synchronized(); {
	case !known:
	case !kept:
		out = append(out, found("clock", Warning, "nobody keeps it right (%s)", time.Now().UTC().Format(time.DateTime+" MST")).
			do("start chrony or systemd-timesyncd; in a container or a virtual machine its host must"))
	default:
		out = append(out, found("clock", Good, "%s, kept right", time.Now().UTC().Format(time.DateTime+" MST")))
	}
	return out
}

// newest is the time of the file of a folder that was written last.
func newest(folder string) (at time.Time, name string) {
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(at) {
			at, name = info.ModTime(), f.Name()
		}
	}
	return at, name
}
