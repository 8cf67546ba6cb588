package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cantledb/cantle/storage/pebblekv"
)

// Finding is something that is wrong in a folder.
type Finding struct {
	Kind  string // "missing", "truncated", "damaged", "incomplete", "gap"
	Where string // the file, within the folder
	What  string
}

// Harmless reports what nothing needs that could be restored: a backup was being made meanwhile, or did not come to its end.
func (x Finding) Harmless() bool { return x.Kind == "incomplete" }

func (t *Timeline) find(kind, where, what string) {
	t.findings = append(t.findings, Finding{kind, where, what})
}

// verifyTries is how often a folder is read in which a server deletes and merges meanwhile.
const verifyTries = 5

// Verify reads every file and compares sizes and checksums. Where something is missed and the folder has changed meanwhile,
// as the server deletes and merges what is old, it is read again. Errors: those of ctx and the
// file system; what is wrong with the backups is among the findings.
func (f *Folder) Verify(ctx context.Context, report Report) ([]Finding, error) {
	for try := 1; ; try++ {
		all, err := f.verify(ctx, report)
		if err != nil || try == verifyTries || !slices.ContainsFunc(all, func(x Finding) bool { return !x.Harmless() }) {
			return all, err
		}
		now, err := Open(f.Dir)
		if err != nil || now.same(f) {
			return all, err
		}
		f.Timelines = now.Timelines
	}
}

// same reports that nothing was added to a folder, or deleted from it.
func (f *Folder) same(o *Folder) bool {
	return slices.EqualFunc(f.Timelines, o.Timelines, func(a, b *Timeline) bool {
		return a.ID == b.ID &&
			slices.EqualFunc(a.Bases, b.Bases, func(a, b *Base) bool { return a.Number == b.Number }) &&
			slices.EqualFunc(a.Segments, b.Segments, func(a, b *Segment) bool { return a.Name == b.Name })
	})
}

// verify is one pass of Verify.
func (f *Folder) verify(ctx context.Context, report Report) ([]Finding, error) {
	total := int64(0)
	for _, t := range f.Timelines {
		total += t.bytes()
	}
	told := report.meter("reading", "bytes", total)
	var all []Finding
	for _, t := range f.Timelines {
		if err := t.verify(ctx, told); err != nil {
			return nil, err
		}
		all = append(all, t.findings...)
	}
	return all, nil
}

// files yields the files of all bases with the first base that each belongs to; a table that
// several share comes once.
func (t *Timeline) files(yield func(*Base, *File) bool) {
	seen := map[string]bool{}
	for _, b := range t.Bases {
		for i := range b.Files {
			f := &b.Files[i]
			if f.Table && seen[f.Name] {
				continue
			}
			seen[f.Name] = seen[f.Name] || f.Table
			if !yield(b, f) {
				return
			}
		}
	}
}

// bytes is how much verify reads.
func (t *Timeline) bytes() (n int64) {
	for _, f := range t.files {
		n += f.Size
	}
	for _, s := range t.Segments {
		n += s.Size
	}
	return n
}

func (t *Timeline) verify(ctx context.Context, told progress) error {
	for b, f := range t.files {
		if err := t.verifyFile(ctx, b, f, told); err != nil {
			return err
		}
	}
	for i, b := range t.Bases {
		if i > 0 && b.Previous != t.Bases[i-1].Number {
			t.find("missing", t.rel(fmt.Sprintf("%s%06d", basePrefix, b.Previous)), "a backup between two others is gone")
		}
		if !t.reaches(b) {
			t.find("gap", t.rel(filepath.Base(t.baseDir(b))), "the part of the log that belongs to it is missing, and without it no moment can be restored from it")
		}
	}
	for i, s := range t.Segments {
		err := t.each(ctx, s, told, func(pebblekv.Write) error { return nil })
		var damaged errDamaged
		switch {
		case errors.As(err, &damaged):
			t.find("damaged", t.rel(logName, s.Name), err.Error())
		case errors.Is(err, fs.ErrNotExist):
			t.find("missing", t.rel(logName, s.Name), "the moments in it cannot be restored without it")
		case err != nil:
			return err
		}
		if i > 0 && s.First != t.Segments[i-1].Next && t.needed(s) {
			t.find("gap", t.rel(logName, s.Name), fmt.Sprintf("the part of the log before it is missing: moments between %s and the next backup cannot be restored", MomentText(t.Segments[i-1].Time)))
		}
	}
	return nil
}

// needed reports that the gap before a segment is one within what a base could reach: a backup
// that begins behind a gap says itself that moments are missing.
func (t *Timeline) needed(s *Segment) bool {
	for _, b := range t.Bases {
		if b.From == s.First {
			return false
		}
	}
	return true
}

// verifyFile looks at one file of a base.
func (t *Timeline) verifyFile(ctx context.Context, b *Base, f *File, told progress) error {
	path := t.path(b, f)
	where, err := filepath.Rel(filepath.Dir(t.dir), path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.find("missing", where, fmt.Sprintf("the backup of %s needs it", b.Ended.Format("2006-01-02 15:04:05 MST")))
		return nil
	case err != nil:
		return err
	case info.Size() < f.Size:
		t.find("truncated", where, fmt.Sprintf("it has %d bytes and should have %d", info.Size(), f.Size))
		return nil
	case info.Size() != f.Size:
		t.find("damaged", where, fmt.Sprintf("it has %d bytes and should have %d", info.Size(), f.Size))
		return nil
	}
	_, sum, err := sumFile(ctx, path, told)
	if err == nil && sum != f.Sum {
		t.find("damaged", where, "it fails its checksum")
	}
	return err
}
