package filescan

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/storage"
)

// manifest holds the contents of Pebble's manifest that an open of the store needs: the list of tables, and the
// first log to replay.
type manifest struct {
	file    string // name of the file; "" if no marker names one
	records int
	minLog  uint64 // the lowest number of a log to replay; the writes of lower logs are in tables
	lastSeq uint64 // the last sequence number assigned when the last edit was written
	tables  map[tableAt]*table
}

// tableAt identifies a table by its level and the number of its file.
type tableAt struct {
	level  int
	number uint64
}

// Names of files.
const (
	markerPrefix  = "marker.manifest."
	formatPrefix  = "marker.format-version."
	manifestName  = "MANIFEST-"
	optionsPrefix = "OPTIONS-"
	tableSuffix   = ".sst"
	logSuffix     = ".log"
)

// readManifest reads the manifest whose name the marker file has, and adds a damage if there is no such name or no
// marker file of the format version, no record can be read, a record makes no sense, or readable records follow
// unreadable bytes.
func (f *Folder) readManifest() {
	m := &f.manifest
	m.tables = map[tableAt]*table{}
	marked := ""
	for _, name := range f.names {
		if strings.HasPrefix(name, markerPrefix) && name > marked {
			marked = name
		}
	}
	if marked == "" {
		f.damaged(storage.Damage{File: markerPrefix + "*", Kind: storage.DamagedManifest, What: "the file that names the list of tables is missing"})
		return
	}
	parts := strings.SplitN(strings.TrimPrefix(marked, markerPrefix), ".", 2)
	if m.file = parts[len(parts)-1]; len(parts) != 2 || !strings.HasPrefix(m.file, manifestName) {
		m.file = ""
		f.damaged(storage.Damage{File: marked, Kind: storage.DamagedManifest, What: "its name does not tell which list of tables is in use"})
		return
	}
	if len(f.ofPrefix(formatPrefix)) == 0 {
		f.damaged(storage.Damage{File: formatPrefix + "*", Kind: storage.DamagedManifest, What: "the file that names the format of the store is missing"})
	}
	data, err := f.readFile(m.file)
	if err != nil {
		f.damaged(storage.Damage{File: m.file, Kind: storage.DamagedManifest, What: "it cannot be read: " + reason(err)})
		return
	}
	bad := ""
	c := chunks{data: data}
	framing := c.records(func(rec []byte, _ int, resumed bool) {
		if resumed {
			bad = "behind it the list goes on"
			return
		}
		m.records++
		if guarded(func() error { return m.apply(rec) }) != nil {
			bad = "one of its entries makes no sense"
		}
	})
	if m.records == 0 {
		bad = "nothing of it can be read"
	}
	if bad != "" {
		at := framing.end
		if len(framing.holes) > 0 {
			at = framing.holes[0].from
		}
		f.damaged(storage.Damage{File: m.file, Kind: storage.DamagedManifest, What: fmt.Sprintf("the list of tables is damaged at byte %d of %d: %s", at, len(data), bad)})
	}
}
