package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// engine is a storage engine that a server can run on.
type engine struct {
	// name is a value of --storage.
	name string
	// keeps describes in the help where the database is.
	keeps string
	// location classifies that place for the server.
	location location
	// open opens the engine's store. where is a folder if location is inFolder, the value of --storage (scheme://place)
	// if location is atRemote.
	// Errors: storage.ErrLocked, ErrFormat, ErrCorruption; other errors of the engine.
	open func(where string, s storeSettings) (storage.Store, error)
	// collectors returns the Prometheus metrics of the engine, in addition to the metrics of every store; nil = none.
	collectors func() []prometheus.Collector
}

// location classifies where an engine keeps the database.
type location uint8

const (
	nowhere  location = iota // it is gone when the process ends
	inFolder                 // in the folder of --data
	atRemote                 // elsewhere: --storage names the engine and the place, as name://place
)

// defaultEngine is the name of the engine that a server uses unless --storage is given.
const defaultEngine = "pebble"

// engines are the storage engines of every server, in the order of their names. A new engine is a package of its own,
// a row here, and a test in its package; TestEngines runs the tests of the storage contract with all rows. An engine
// with large libraries is a Remote instead, which the program adds to Config.Remotes.
var engines = []engine{
	{"memory", "nothing is written to disk, all data is lost when the server stops", nowhere, openMemory, nil},
	{"pebble", "in files in the --data folder", inFolder, openPebble, nil},
}

// storeSettings holds the settings of a server's store.
type storeSettings struct {
	shares *memoryShares
	// cache is the size of the block cache in bytes, the value of --cache-size; 0 means the engine's own default.
	cache int64
	// kept is --backup-log-size in bytes.
	kept int64
	// sync is the longest time in which a commit may stay unsynced on disk; 0 syncs each commit.
	sync time.Duration
	// watchdog is --watchdog; 0 = none.
	watchdog time.Duration
	// log receives the messages of the engine.
	log func(isError bool, message string)
	// warn receives warnings of a store in files.
	warn func(message string)
	// damaged is called with files that turn out to be damaged while the store is open.
	damaged func([]storage.Damage)
	// readOnly opens the store, even a damaged one, for reading only.
	readOnly bool
	// follow opens a store in files that follows that of another server.
	follow bool
	// endFollow opens a store that followed another server as one that follows none.
	endFollow bool
	// noSpace marks a store that is opened for reading only because the disk is full.
	noSpace bool
	// files, if not nil, changes the options with which a store in files is opened.
	files func(*pebblekv.Options)
	// clock is the wall clock.
	clock func() time.Time
	// fatal is called with the reason why the store cannot continue, just before the process ends.
	fatal func(message string)
}

// engine returns the storage engine that the settings Storage and Memory choose.
// Errors: an unknown name; --memory beside another engine; --replica-set with a remote engine.
func (c *Config) engine() (engine, error) {
	name := c.Storage
	switch {
	case c.Memory && name != "" && name != "memory":
		return engine{}, fmt.Errorf("--memory is the same as --storage memory, and --storage is %s; give one of them", name)
	case c.Memory:
		name = "memory"
	case name == "":
		name = defaultEngine
	}
	list := c.allEngines()
	scheme, _, remote := strings.Cut(name, "://")
	i := slices.IndexFunc(list, func(e engine) bool { return e.name == scheme && (e.location == atRemote) == remote })
	if i < 0 {
		return engine{}, fmt.Errorf("--storage is %s, not %q", strings.Join(engineNames(list), " or "), name)
	}
	if remote && c.ReplicaSet != "" {
		return engine{}, fmt.Errorf("--replica-set is not for --storage %s: there the server is a mongos, and entries of an oplog would not have times of their own", scheme)
	}
	return list[i], nil
}

// NeedsNoFolder returns the flag because of which --data is not used, such as --memory; "" if --data is used, or the
// engine is unknown.
func (c *Config) NeedsNoFolder() string {
	switch e, err := c.engine(); {
	case err != nil || e.location == inFolder:
		return ""
	case c.Memory:
		return "--memory"
	default:
		return "--storage " + e.name
	}
}

// isDurable reports whether the data outlives the server.
func (c *Config) isDurable() bool {
	e, err := c.engine()
	return err == nil && e.location != nowhere
}

// allEngines returns the engines that --storage can name.
func (c *Config) allEngines() []engine {
	list := c.engines
	if list == nil {
		list = engines
	}
	list = slices.Clone(list)
	for _, r := range c.Remotes {
		list = append(list, r.engine())
	}
	return list
}

// engineNames returns the values of --storage.
func engineNames(list []engine) (names []string) {
	for _, e := range list {
		if e.location == atRemote {
			names = append(names, e.name+"://…")
		} else {
			names = append(names, e.name)
		}
	}
	return names
}

// engineHelp returns the help text of the flag --storage, which describes each engine of the list.
func engineHelp(list []engine) string {
	var each []string
	for _, e := range list {
		each = append(each, e.name+": "+e.keeps)
	}
	return "storage `engine`. " + strings.Join(each, "; ") + ". The default is " + defaultEngine
}
