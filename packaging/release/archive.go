package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file to be written into an archive, or a folder if the name ends with a slash.
type entry struct {
	name string
	data []byte
	mode int64
	user int // its owner and group
}

// archiveName returns the file name of a platform's archive.
func (r *release) archiveName(p platform) string {
	if p.os == "windows" {
		return r.folder(p) + ".zip"
	}
	return r.folder(p) + ".tar.gz"
}

// folder returns the name of the folder at the top of a platform's archive, which contains all files.
func (r *release) folder(p platform) string { return "cantle-" + r.version + "-" + p.dashed() }

// archives packs each binary into an archive with the licences, the README, the man pages and the shell
// completions.
func (r *release) archives() error {
	for _, p := range r.platforms {
		var entries []entry
		for _, f := range []struct {
			from string
			mode int64
		}{{r.binary(p), 0o755}, {filepath.Join(r.root, "LICENSE"), 0o644}, {r.noticesFile(), 0o644}, {filepath.Join(r.root, "README.md"), 0o644}} {
			data, err := os.ReadFile(f.from)
			if err != nil {
				return err
			}
			entries = append(entries, entry{name: path.Join(r.folder(p), filepath.Base(f.from)), data: data, mode: f.mode})
		}
		manual, err := r.manualEntries(p)
		if err != nil {
			return err
		}
		entries = append(entries, manual...)
		var out bytes.Buffer
		write := writeTarGz
		if p.os == "windows" {
			write = writeZip
		}
		if err := write(&out, entries, r.date); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, r.archiveName(p)), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeTar writes a tar archive. All files get the same time, so that the archive is the same to the byte when it is
// made again.
func writeTar(out io.Writer, entries []entry, at time.Time) error {
	w := tar.NewWriter(out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.user, Gid: e.user, Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeTarGz(out io.Writer, entries []entry, at time.Time) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, entries, at); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(out io.Writer, entries []entry, at time.Time) error {
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}
