package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/salvage"
	"github.com/cantledb/cantle/collection/verify"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// StatusDamaged is the exit status of a server that does not start because its data is damaged. Service managers must
// not restart it: a restart does not help.
const StatusDamaged = 4

// logDamage logs a line for each damaged file: the data that it has lost, and what the operator can do. A damage is
// logged once.
func (d *Daemon) logDamage(damages []storage.Damage) {
	snap := d.snapshot()
	for _, x := range damages {
		if _, known := d.loggedDamages.LoadOrStore(x.File+": "+x.What, true); known { // logged when the store was opened
			continue
		}
		d.log.Error().Str("room", "storage").Str("file", x.File).Msg(verify.Sentence(x, snap) + "; " + d.advice(true))
	}
}

// snapshot returns the catalog, for the names of damaged collections; nil if it cannot be read.
func (d *Daemon) snapshot() *catalog.Snapshot {
	if cat := d.catalog.Load(); cat != nil {
		return cat.Peek()
	}
	f, err := filescan.Open(filepath.Join(d.cfg.Data, "store"))
	if err != nil {
		return nil
	}
	snap, err := salvage.Catalog(context.Background(), f)
	if err != nil {
		return nil
	}
	return snap
}

// advice returns what the operator can do about damaged data. readable means that the rest of the data can be read.
func (d *Daemon) advice(readable bool) string {
	what := fmt.Sprintf("\"cantle check --data %s\" lists the damage, \"cantle salvage --data %s --out DUMP\" saves what is left", d.cfg.Data, d.cfg.Data)
	if readable && !d.cfg.ServeDamaged {
		what += ", \"cantle serve --serve-damaged\" lets the rest be read"
	}
	return what
}

// damagedStart returns the error of a server that does not start on damaged data. Its text has the first damage, the
// collection that lost data, and what the operator can do.
func (d *Daemon) damagedStart(err error) error {
	var list *storage.DamagedError
	if !errors.As(err, &list) || len(list.Damages) == 0 {
		return &startError{fmt.Sprintf("the data in %s are damaged: %v; %s", d.cfg.Data, err, d.advice(true)), err}
	}
	text := "the data in " + d.cfg.Data + " are damaged: " + verify.Sentence(list.Damages[0], d.snapshot())
	if n := len(list.Damages) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	if slices.ContainsFunc(list.Damages, func(x storage.Damage) bool { return x.Kind == storage.DamagedManifest }) {
		return &startError{text + "; it cannot be served without that; " + d.advice(false), err}
	}
	return &startError{text + "; " + d.advice(true), err}
}

// startError is the error of a start, whose text replaces the text of its cause.
type startError struct {
	text  string
	cause error
}

func (e *startError) Error() string { return e.text }
func (e *startError) Unwrap() error { return e.cause }
