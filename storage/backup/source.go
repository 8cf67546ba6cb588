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

// Source is an open store of files.
type Source interface {
	// Checkpoint is storage.Store's.
	Checkpoint(ctx context.Context, dir string) error
	// Folder is where its files are.
	Folder() string
	// KeepWrites, Keeping, EndKeeping, MarkPlace, Writes and DropWrites are pebblekv's.
	KeepWrites() (folder string, err error)
	Keeping() (folder string, on bool)
	EndKeeping() error
	MarkPlace(ctx context.Context) (before uint64, behind pebblekv.Place, err error)
	Writes(ctx context.Context, from, upTo uint64, visit func(pebblekv.Write) error) error
	DropWrites(before uint64) error
}

// identity is what a data folder knows of its backups: a file beside the logs that it keeps
// for them, which no backup has, so that what is restored is another timeline.
type identity struct {
	Timeline string  `json:"timeline"`
	Places   []place `json:"places"` // the newest last
	path     string
}

// place is a folder of backups that it has written to.
type place struct {
	ID   string `json:"id"`
	Path string `json:"path,omitempty"` // where it was
	// Nonces are those of the last segment and of the one that was about to follow. A folder
	// that ends with another was written to by a copy of this data folder.
	Nonces [2]uint64 `json:"nonces"`
}

// placesMax bounds how many are known.
const placesMax = 16

// readIdentity reads the file, or makes up a timeline.
func readIdentity(folder string) (*identity, error) {
	id := &identity{path: filepath.Join(folder, "TIMELINE")}
	data, err := os.ReadFile(id.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, ok := unsealed(data); ok && json.Unmarshal(text, id) == nil && id.Timeline != "" {
		return id, nil
	}
	id.begin()
	return id, id.save()
}

// begin makes up a timeline.
func (id *identity) begin() {
	id.Timeline, id.Places = hex.EncodeToString(random()), nil
}

// random are eight bytes that nobody else has.
func random() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

// fits reports that a segment at the end of a timeline in a folder is this data folder's own.
func (id *identity) fits(dir string, last *Segment) bool {
	i := slices.IndexFunc(id.Places, func(p place) bool { return p.ID == dir })
	return i >= 0 && slices.Contains(id.Places[i].Nonces[:], last.Nonce)
}

// follow notes that a segment is about to be written, and returns its nonce.
func (id *identity) follow(f *Folder, last *Segment) (nonce uint64, err error) {
	p := place{ID: f.ID, Path: f.Dir}
	id.Places = slices.DeleteFunc(id.Places, func(p place) bool { return p.ID == f.ID || p.Path == f.Dir })
	if last != nil {
		p.Nonces[0] = last.Nonce
	}
	nonce = binary.BigEndian.Uint64(random())
	p.Nonces[1] = nonce
	id.Places = append(id.Places, p)
	if n := len(id.Places); n > placesMax {
		id.Places = id.Places[n-placesMax:]
	}
	return nonce, id.save()
}

func (id *identity) save() error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeWhole(id.path, sealed(text))
}

// Span are moments that can be restored.
type Span struct{ From, To storage.Timestamp }

// Holds reports that a moment lies in it.
func (s Span) Holds(ts storage.Timestamp) bool { return s.From <= ts && ts <= s.To }

// left refuses a folder that had backups of this data folder and has none now, not even the mark of a folder of
// backups: what is there is what the disk was mounted over. Errors: ErrGone.
func (id *identity) left(dir string) error {
	if !slices.ContainsFunc(id.Places, func(p place) bool { return p.Path == dir }) || isFolder(dir) {
		return nil
	}
	return fmt.Errorf("the folder %s: %w", dir, ErrGone)
}
