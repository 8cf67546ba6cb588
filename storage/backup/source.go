package backup

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// Source is an open store with files, from which backups are made: pebblekv implements it.
type Source interface {
	// Checkpoint is that of storage.Store.
	Checkpoint(ctx context.Context, dir string) error
	// Fence makes the store refuse further commits of transactions.
	Fence()
	// Folder returns the folder of its files.
	Folder() string
	// KeepWrites, Keeping, EndKeeping, Written, MarkPosition, Writes and DropWrites are the methods of pebblekv's store
	// with which a backup reads the write-ahead log.
	KeepWrites() (folder string, err error)
	Keeping() (folder string, on bool)
	EndKeeping() error
	Written() uint64
	MarkPosition(ctx context.Context) (before uint64, behind pebblekv.LogPosition, err error)
	Writes(ctx context.Context, from, upTo uint64, visit func(pebblekv.Write) error) error
	DropWrites(before uint64) error
}

// identity holds the timeline of a data folder and the backup folders that it was backed up to. It is a file
// beside the kept logs, which backups do not contain: so a restored folder gets another timeline.
type identity struct {
	Timeline     string        `json:"timeline"`
	Destinations []destination `json:"places"` // the newest last
	path         string
}

// destination is a backup folder to which the data folder was backed up.
type destination struct {
	ID   string `json:"id"`
	Path string `json:"path,omitempty"` // the folder's location at that time
	// Nonces are the nonces of the last segment written there, and of the one that was about to follow. If the
	// backup folder ends with another segment, a copy of this data folder has written to it.
	Nonces [2]uint64 `json:"nonces"`
}

// destinationsMax is the maximum number of backup folders that an identity stores.
const destinationsMax = 16

// readIdentity reads the identity from the folder of kept logs. If there is no valid one, it creates one with a
// new timeline and stores it.
func readIdentity(folder string) (*identity, error) {
	if id, err := storedIdentity(folder); err != nil || id != nil {
		return id, err
	}
	id := identityIn(folder)
	id.begin()
	return id, id.save()
}

// identityIn returns an identity without a timeline, which is to be stored in the folder of kept logs.
func identityIn(folder string) *identity { return &identity{path: filepath.Join(folder, "TIMELINE")} }

// storedIdentity reads the identity from the folder of kept logs; nil if there is no valid one.
func storedIdentity(folder string) (*identity, error) {
	id := identityIn(folder)
	data, err := os.ReadFile(id.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, ok := cutChecksum(data); ok && json.Unmarshal(text, id) == nil && id.Timeline != "" {
		return id, nil
	}
	return nil, nil
}

// keptFolder returns the folder of kept logs of the store in the folder dir.
func keptFolder(dir string) string { return pebblekv.KeptFolder(dir) }

// makeKept makes the folder of kept logs of a store that no process has open.
func makeKept(dir string) error { return pebblekv.MakeFolder(nil, keptFolder(dir)) }

// begin gives the data folder a new random timeline, without any backup folders.
func (id *identity) begin() {
	id.Timeline, id.Destinations = hex.EncodeToString(random()), nil
}

// random returns eight random bytes.
func random() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

// wroteLast reports whether this data folder has written last, the last segment of its timeline in the backup
// folder with the ID dir. If not, likely a copy of the data folder continues the same timeline.
func (id *identity) wroteLast(dir string, last *Segment) bool {
	i := slices.IndexFunc(id.Destinations, func(p destination) bool { return p.ID == dir })
	return i >= 0 && slices.Contains(id.Destinations[i].Nonces[:], last.Nonce)
}

// recordNext stores that a segment is about to be written to the backup folder f after the segment last, and
// returns the new segment's nonce.
func (id *identity) recordNext(f *Folder, last *Segment) (nonce uint64, err error) {
	p := destination{ID: f.ID, Path: f.Location()}
	id.Destinations = slices.DeleteFunc(id.Destinations, func(p destination) bool { return p.ID == f.ID || p.Path == f.Location() })
	if last != nil {
		p.Nonces[0] = last.Nonce
	}
	nonce = binary.BigEndian.Uint64(random())
	p.Nonces[1] = nonce
	id.Destinations = append(id.Destinations, p)
	if n := len(id.Destinations); n > destinationsMax {
		id.Destinations = id.Destinations[n-destinationsMax:]
	}
	return nonce, id.save()
}

func (id *identity) save() error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeWhole(id.path, withChecksum(text))
}

// Span is a range of moments, both ends included, to which a backup can be restored.
type Span struct{ From, To storage.Timestamp }

// Holds reports whether the moment ts lies in the span.
func (s Span) Holds(ts storage.Timestamp) bool { return s.From <= ts && ts <= s.To }

// checkMounted returns ErrGone for an archive that had backups of this data folder and now is no backup folder at
// all: likely a disk is not mounted, and the folder is the mount point.
func (id *identity) checkMounted(ctx context.Context, a Archive) error {
	if !slices.ContainsFunc(id.Destinations, func(p destination) bool { return p.Path == a.Location() }) {
		return nil
	}
	if there, err := isFolder(ctx, a); there || err != nil {
		return err
	}
	return fmt.Errorf("the folder %s: %w", a.Location(), ErrGone)
}
