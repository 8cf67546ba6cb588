package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
)

// Archive keeps the files of a backup folder: in a folder of this machine (InFolder), or in an object store. Names of
// files are relative to it and have slashes on every system. Methods may be called concurrently. Errors of all
// methods: fs.ErrNotExist for a missing file, errors of the file system or of the object store, errors of the context.
type Archive interface {
	// Location returns the path of the folder, or the URL, as users write it.
	Location() string
	// Request returns the archive for a backup that a client requests: this one by its location, or one directly in
	// it by name or location. Errors: an error for any other place.
	Request(to string) (Archive, error)
	// Within returns the archive in a folder directly in this one.
	Within(name string) Archive
	// Prepare creates the folder, without parents, before anything is written into it. Errors: ErrNoParent.
	Prepare(ctx context.Context) error

	// List returns the files and folders that are directly in a folder; "" is the archive itself. An object store has
	// no empty folders, and returns none for a missing one.
	List(ctx context.Context, dir string) ([]Entry, error)
	// Size returns the size of a file in bytes.
	Size(ctx context.Context, name string) (int64, error)
	// Open reads a file from a position on. The caller closes the reader.
	Open(ctx context.Context, name string, from int64) (io.ReadCloser, error)
	// Create begins to write a file, and creates its folder. The context is that of all writes.
	Create(ctx context.Context, name string) (Writer, error)
	// Settle makes the names of committed files in folders durable.
	Settle(dirs ...string) error
	// Remove deletes a file.
	Remove(ctx context.Context, name string) error
	// RemoveAll deletes a folder with everything in it, if it exists.
	RemoveAll(ctx context.Context, dir string) error

	// Claim writes a small file, also without the lock, unless it exists with another content: of several processes one
	// succeeds. Errors: fs.ErrExist.
	Claim(ctx context.Context, name string, data []byte) error
	// Seize takes the right to write from a process that keeps the lock, and leaves it free. An archive whose lock no process
	// keeps does nothing.
	Seize(ctx context.Context) error
	// Sign returns a text that changes every few seconds while a process keeps the lock.
	Sign(ctx context.Context) (string, error)

	// Lock makes the caller the only writer, until it closes the lock. Errors: ErrBusy.
	Lock(ctx context.Context) (io.Closer, error)
	// KeepsLock reports whether a server that makes backups by itself keeps the lock between them. Then no other process
	// writes, and the lists that it has read stay right.
	KeepsLock() bool
	// Locked reports whether there is a writer.
	Locked(ctx context.Context) bool
	// Clean removes files of interrupted writes and restores that are directly in the archive. The caller has the lock.
	Clean(ctx context.Context) error
	// Hold lets writers delete and merge nothing until release is called, as far as the caller may write into the
	// archive. dir is a new folder of this machine for a restore, which release removes.
	Hold(ctx context.Context) (dir string, release func(), err error)
	// Held reports whether a restore holds the archive.
	Held(ctx context.Context) (bool, error)
	// Link makes a table available at a path of this machine without a copy. ok is false if that is not possible, or
	// the file does not have the expected size.
	Link(name, to string, size int64) (ok bool)
}

// Entry is a file or a folder in an archive.
type Entry struct {
	Name   string // without the folder that it is in
	Folder bool
	Size   int64 // of a file, in bytes; 0 if it could not be read
}

// Writer writes one file of an archive, which gets its name only when it is complete.
type Writer interface {
	io.Writer
	// Local returns the path of the unfinished file on this machine, "" if it is elsewhere.
	Local() string
	// Commit makes the file durable and gives it its name. After an error the file does not exist. It ends the Writer.
	Commit() error
	// Abandon deletes the unfinished file. It ends the Writer.
	Abandon()
}

// readFile reads a small file of an archive.
func readFile(ctx context.Context, a Archive, name string) ([]byte, error) {
	in, err := a.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(in)
	return data, errors.Join(err, in.Close())
}

// writeFile writes a small file of an archive, which is complete and durable, or absent.
func writeFile(ctx context.Context, a Archive, name string, data []byte) error {
	w, err := a.Create(ctx, name)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		w.Abandon()
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	return a.Settle(dir)
}

// exists reports whether a file of an archive exists.
func exists(ctx context.Context, a Archive, name string) (bool, error) {
	_, err := a.Size(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
