package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

// engine is a storage engine that a server can run on.
type engine struct {
	// name is its name as a value of --storage.
	name string
	// keeps says for the help where the database is.
	keeps string
	// files says that the engine needs the folder of --data.
	files bool
	// open opens the store, in a folder of its own if the engine needs one.
	// Errors: storage.ErrLocked, ErrFormat, ErrCorruption; what the engine says.
	open func(dir string, s storeSettings) (storage.Store, error)
}

// defaultEngine is the name of the engine that a server runs on unless it is told.
const defaultEngine = "pebble"

// engines are the storage engines, by their names. A new one is a package of its own, a
// row here, and a test in its package; TestEngines holds all rows to the contract.
var engines = []engine{
	{"memory", "nothing is written to disk, all is gone at the end", false, openMemory},
	{"pebble", "in files in the folder of --data", true, openPebble},
}

// storeSettings are what the settings of a server say about its store.
type storeSettings struct {
	shares *shares
	// cache is --cache-size in bytes; 0 leaves it to the engine.
	cache int64
	// sync is how long a commit may stay off the disk; 0 leaves none there.
	sync time.Duration
	// log takes what the engine has to say.
	log func(isError bool, message string)
	// damaged is told of each damaged file that is found while the store is open.
	damaged func([]storage.Damage)
	// readOnly opens a store, be it damaged, for reading only.
	readOnly bool
	// fatal is told why the store cannot go on, before the process ends.
	fatal func(message string)
}

// engine is the engine that the settings name.
// Errors: there is none of that name; --memory beside another one.
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
	i := slices.IndexFunc(list, func(e engine) bool { return e.name == name })
	if i < 0 {
		return engine{}, fmt.Errorf("--storage is %s, not %q", strings.Join(engineNames(list), " or "), name)
	}
	return list[i], nil
}

// NeedsNoFolder returns the flag that makes --data useless, "" if that has a use.
func (c *Config) NeedsNoFolder() string {
	switch e, err := c.engine(); {
	case err != nil || e.files:
		return ""
	case c.Memory:
		return "--memory"
	default:
		return "--storage " + e.name
	}
}

// allEngines are the engines that --storage can name.
func (c *Config) allEngines() []engine {
	if c.engines != nil {
		return c.engines
	}
	return engines
}

// engineNames are the values of --storage.
func engineNames(list []engine) (names []string) {
	for _, e := range list {
		names = append(names, e.name)
	}
	return names
}

// engineHelp says for the help of --storage what each engine does.
func engineHelp(list []engine) string {
	var each []string
	for _, e := range list {
		each = append(each, e.name+": "+e.keeps)
	}
	return "`engine` that keeps the database. " + strings.Join(each, "; ") + ". It is " + defaultEngine + " unless given"
}
