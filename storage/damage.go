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

// Damage describes the damage of one stored file. As an error it is ErrCorruption.
type Damage struct {
	File string // its name within the store
	Kind DamageKind
	What string // in a few words, without the file's name
	// Keys is the range of the keys in the damaged part of a table. Its bounds may be
	// keys outside of that part. Both ends are nil if the range is unknown.
	Keys Range
	// Entries is the maximum number of keys that are lost, -1 if unknown.
	Entries int64
}

func (d *Damage) Error() string { return fmt.Sprintf("the file %s is damaged: %s", d.File, d.What) }

// Is makes errors.Is(err, ErrCorruption) true.
func (d *Damage) Is(target error) bool { return target == ErrCorruption }

// DamagedError lists the damages because of which a store cannot be opened. It is
// ErrCorruption.
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
