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

// Source is an open store with files.
type Source interface {
	// Checkpoint is that of storage.Store.
	Checkpoint(ctx context.Context, dir string) error
	// Folder returns the folder of its files.
	Folder() string
	// KeepWrites, Keeping, EndKeeping, MarkPosition, Writes and DropWrites are those of pebblekv.
	KeepWrites() (folder string, err error)
	Keeping() (folder string, on bool)
	EndKeeping() error
	MarkPosition(ctx context.Context) (before uint64, behind pebblekv.LogPosition, err error)
	Writes(ctx context.Context, from, upTo uint64, visit func(pebblekv.Write) error) error
	DropWrites(before uint64) error
}

// identity holds what a data folder stores about its backups. It is a file beside the kept logs. Backups do
// not contain it, so a restored folder has another timeline.
type identity struct {
	Timeline     string        `json:"timeline"`
	Destinations []destination `json:"places"` // the newest last
	path         string
}

// destination is a backup folder that the data folder was backed up to.
type destination struct {
	ID   string `json:"id"`
	Path string `json:"path,omitempty"` // its path then
	// Nonces are those of the last segment and of the one that was about to follow. If the backup folder ends
	// with another segment, a copy of this data folder has written to it.
	Nonces [2]uint64 `json:"nonces"`
}

// destinationsMax is the maximum number of places stored.
const destinationsMax = 16

// readIdentity reads the file, or creates a timeline.
func readIdentity(folder string) (*identity, error) {
	id := &identity{path: filepath.Join(folder, "TIMELINE")}
	data, err := os.ReadFile(id.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, ok := cutChecksum(data); ok && json.Unmarshal(text, id) == nil && id.Timeline != "" {
		return id, nil
	}
	id.begin()
	return id, id.save()
}

// begin creates a new timeline.
func (id *identity) begin() {
	id.Timeline, id.Destinations = hex.EncodeToString(random()), nil
}

// random returns eight random bytes.
func random() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

// wroteLast reports whether the last segment of a timeline in a backup folder was written from this data folder.
func (id *identity) wroteLast(dir string, last *Segment) bool {
	i := slices.IndexFunc(id.Destinations, func(p destination) bool { return p.ID == dir })
	return i >= 0 && slices.Contains(id.Destinations[i].Nonces[:], last.Nonce)
}

// recordNext records that a segment is about to be written, and returns its nonce.
func (id *identity) recordNext(f *Folder, last *Segment) (nonce uint64, err error) {
	p := destination{ID: f.ID, Path: f.Dir}
	id.Destinations = slices.DeleteFunc(id.Destinations, func(p destination) bool { return p.ID == f.ID || p.Path == f.Dir })
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

// Span is a range of moments that can be restored.
type Span struct{ From, To storage.Timestamp }

// Holds reports whether a moment lies in the span.
func (s Span) Holds(ts storage.Timestamp) bool { return s.From <= ts && ts <= s.To }

// checkMounted refuses a folder that had backups of this data folder and now is no backup folder at all: likely a
// disk is not mounted, and the folder is the mount point. Errors: ErrGone.
func (id *identity) checkMounted(dir string) error {
	if !slices.ContainsFunc(id.Destinations, func(p destination) bool { return p.Path == dir }) || isFolder(dir) {
		return nil
	}
	return fmt.Errorf("the folder %s: %w", dir, ErrGone)
}
