package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// openStore opens the store and makes the folder for spilled data.
func (d *Daemon) openStore(ctx context.Context) (scratch string, durability storage.Durability, err error) {
	e, err := d.cfg.engine()
	if err != nil {
		return "", 0, err
	}
	s := storeSettings{shares: &d.shares, log: d.logStore, warn: d.warnStore, fatal: func(message string) {
		d.logStore(true, "the store cannot go on, the server stops: "+message)
	}, damaged: d.logDamage, readOnly: d.cfg.ServeDamaged, files: d.cfg.Files, clock: d.cfg.clock(), follow: d.cfg.Follow != "", endFollow: d.promoted}
	if d.cfg.CacheSize != "" {
		if s.cache, err = parseSize(d.cfg.CacheSize); err != nil {
			return "", 0, fmt.Errorf("--cache-size: %w", err)
		}
	}
	sizes, err := d.cfg.diskSizes()
	if err != nil {
		return "", 0, err
	}
	s.kept, s.watchdog = sizes.kept, d.cfg.Watchdog
	if err := d.cfg.checkWatchdog(); err != nil {
		return "", 0, err
	}
	if s.sync, err = parseSync(d.cfg.Sync); err != nil {
		return "", 0, err
	}
	durability = storage.Synced
	if s.sync > 0 {
		durability = storage.Buffered
	}
	dir, anew := "", false
	scratch = os.TempDir()
	if e.location == atRemote {
		dir = d.cfg.Storage
	}
	if e.location == inFolder {
		dir, scratch = filepath.Join(d.cfg.Data, storeName), filepath.Join(d.cfg.Data, scratchName)
		if err := d.beginFollowing(ctx); err != nil {
			return "", 0, err
		}
		if anew, err = d.checkDataFolder(s); err != nil {
			return "", 0, cannotOpen(d.cfg.Data, err)
		}
		if err := d.makeStoreFolder(dir, anew); err != nil {
			return "", 0, err
		}
	}
	d.store, err = e.open(dir, s)
	if none := (*storage.DiskFullError)(nil); errors.As(err, &none) && !s.follow {
		d.noSpace, d.cfg.ServeDamaged = none, true
		s.readOnly, s.noSpace = true, true
		d.store, err = e.open(dir, s)
	}
	if err != nil {
		if e.location == atRemote {
			return "", 0, cannotReach(err)
		}
		return "", 0, cannotOpen(d.cfg.Data, err)
	}
	d.isNew = anew || e.location == nowhere
	if anew {
		d.log.Warn().Str("folder", d.cfg.dataLocation()).Msg("created a new, empty database: the --data folder had none")
	}
	d.files = d.store
	if d.cfg.Wrap != nil {
		d.store = d.cfg.Wrap(d.store)
	}
	switch {
	case e.location != inFolder:
		return scratch, durability, nil
	case d.cfg.ServeDamaged: // nothing may be written into the folder of --data
		return os.TempDir(), durability, nil
	}
	// Data that an earlier process spilled is useless.
	return scratch, durability, emptyFolder(scratch)
}

// makeStoreFolder makes the folder of the store. For a new database with first scripts it also writes their mark, so that
// a start that ends before the scripts run does not lose them.
// Errors: a folder that cannot be made; errors of the folder of scripts, before the folder of the store exists.
func (d *Daemon) makeStoreFolder(dir string, anew bool) (err error) {
	scripts := false
	if anew {
		if scripts, err = d.hasFirstScripts(); err != nil {
			return err
		}
	}
	if err := makeFolder(d.cfg.Data, dir); err != nil || !scripts {
		return err
	}
	return d.markFirstScripts()
}

// emptyFolder makes a folder, or removes all that is in it. The folder itself stays, as it may be a mount point; a
// symbolic link is replaced by a folder.
func emptyFolder(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// startTimeout is the timeout of each step of the server's start on a remote store, including the step's retries.
const startTimeout = 30 * time.Second

// retryStep runs one step of the server's start. On a remote store it retries the step, for at most startTimeout, if
// the store is slow or unreachable: the cluster's nodes may be electing leaders, or a commit may have come too late.
// On other stores every error is final.
func (d *Daemon) retryStep(ctx context.Context, what string, step func() error) error {
	if _, ok := d.store.(storage.Remote); !ok {
		return step()
	}
	return storage.RetryTemporary(ctx, startTimeout, step, func(err error) {
		d.log.Warn().Err(err).Str("waits", what).Msg("waiting for the storage cluster; the start is retried")
	})
}

// logStore logs a message of the storage engine.
func (d *Daemon) logStore(isError bool, message string) {
	event := d.log.Debug()
	if isError {
		event = d.log.Error()
	}
	event.Str("room", "storage").Msg(message)
}

// warnStore logs a warning of the storage engine.
func (d *Daemon) warnStore(message string) {
	d.log.Warn().Str("room", "storage").Msg(message)
}

// dataLocation returns the place of the data, for people.
func (c *Config) dataLocation() string {
	switch e, err := c.engine(); {
	case err == nil && e.location == atRemote:
		place, _, _ := strings.Cut(c.Storage, "?") // omits the paths of TLS files
		return place
	case err == nil && e.location == nowhere:
		return e.keeps
	}
	if path, err := filepath.Abs(c.Data); err == nil {
		return path
	}
	return c.Data
}

// makeFolder makes the folder dir of a store within the folder data of the database.
// Errors: the folder cannot be made; it belongs to a mongod.
func makeFolder(data, dir string) error {
	if _, err := os.Stat(filepath.Join(data, "WiredTiger")); err == nil {
		return fmt.Errorf("the folder %s holds the files of a mongod, which cantle does not read: dump them from a running mongod (cantle dump URI), load them here (cantle restore URI), and give cantle a folder of its own with --data", data)
	}
	err := pebblekv.MakeFolder(nil, dir)
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("cannot make the folder %s: %w; choose another with --data", at.Path, at.Err)
	}
	return err
}

// cannotReach returns an error for the operator: why a remote store cannot be opened, and what to do.
func cannotReach(err error) error {
	switch {
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("the keyspace cannot be shared with the server that has it: one of the two has ?exclusive=true in its --storage; stop the other one, start both without it, or give this one a keyspace of its own (%w)", err)
	case errors.Is(err, storage.ErrUnavailable):
		return fmt.Errorf("the cluster of --storage cannot be reached: are the addresses those of PD, and is it running? (%w)", err)
	}
	return err
}

// cannotOpen returns an error for the operator: why the store in a folder cannot be opened, and what to do.
func cannotOpen(data string, err error) error {
	switch {
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("the folder %s is in use by another cantle; stop that one, or give this one a folder of its own with --data", data)
	case errors.Is(err, storage.ErrFollower):
		return fmt.Errorf("the folder %s has the copy of a server that it follows, and accepts no writes: start it with cantle follow, or give this server a folder of its own with --data", data)
	case errors.Is(err, pebblekv.ErrFollowsNone):
		return fmt.Errorf("the folder %s has a database that follows no other server: give cantle follow a folder of its own with --data", data)
	case errors.Is(err, storage.ErrDiskFails):
		reason := err
		if cause := syscall.Errno(0); errors.As(err, &cause) {
			reason = cause
		}
		return &startError{fmt.Sprintf("the files in the folder %s cannot be read or written: %v; look at the disk, at the system's messages about it and at whom the folder belongs to", data, reason), err}
	case errors.Is(err, storage.ErrFormat):
		return fmt.Errorf("the folder %s was written by a newer cantle than this one, %s: start that version, or choose another folder with --data (%w)", data, Version, err)
	}
	return err
}
