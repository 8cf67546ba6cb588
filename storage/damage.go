package storage

import "fmt"

// DamageKind is the kind of a damaged file.
type DamageKind uint8

// The kinds, by what is lost with them.
const (
	// DamagedTable: keys and their values.
	DamagedTable DamageKind = iota + 1
	// DamagedLog: the newest writes.
	DamagedLog
	// DamagedManifest: which tables there are.
	DamagedManifest
)

// Damage describes the damage of one file of a store. As an error it matches ErrCorruption.
type Damage struct {
	File string // its name within the folder of the store
	Kind DamageKind
	What string // what is wrong with the file, in a few words without its name
	// Keys is a range that includes all keys in the damaged part of a table; its bounds may lie outside of that
	// part. Both ends are nil if the range is unknown.
	Keys Range
	// Entries is the maximum number of keys that are lost with the damaged part, -1 if unknown.
	Entries int64
}

func (d *Damage) Error() string { return fmt.Sprintf("the file %s is damaged: %s", d.File, d.What) }

// Is makes errors.Is(err, ErrCorruption) true.
func (d *Damage) Is(target error) bool { return target == ErrCorruption }

// DamagedError is the error of opening a damaged store, with all damages found, or of reading a damaged table,
// with the damages of that table. It matches ErrCorruption.
type DamagedError struct{ Damages []Damage }

func (e *DamagedError) Error() string {
	if len(e.Damages) == 0 {
		return ErrCorruption.Error()
	}
	text := e.Damages[0].Error()
	if n := len(e.Damages) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Is makes errors.Is(err, ErrCorruption) true.
func (e *DamagedError) Is(target error) bool { return target == ErrCorruption }
