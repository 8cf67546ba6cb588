package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cantledb/cantle/storage/pebblekv"
)

// Finding describes one defect of a backup folder.
type Finding struct {
	Kind  string // "missing", "truncated", "damaged", "incomplete", "gap"
	Where string // the path of the file inside the folder
	What  string
}

// Harmless reports whether the defect affects no moment that could be restored: a backup was in progress or was
// interrupted.
func (x Finding) Harmless() bool { return x.Kind == "incomplete" }

func (t *Timeline) addFinding(kind, where, what string) {
	t.findings = append(t.findings, Finding{kind, where, what})
}

// verifyTries is the maximum number of times that Verify reads the folder while a server deletes and merges files
// in it.
const verifyTries = 5

// Verify reads every file of the bases and segments, compares sizes and checksums, and returns the defects. After it,
// moments that need a missing or damaged file are not covered. If a defect is not harmless and the folder has changed
// meanwhile, because the server deletes and merges old files, Verify starts again. Errors: errors of ctx and of the file
// system.
func (f *Folder) Verify(ctx context.Context, report Report) ([]Finding, error) {
	for try := 1; ; try++ {
		all, err := f.verify(ctx, report)
		if err != nil || try == verifyTries || !slices.ContainsFunc(all, func(x Finding) bool { return !x.Harmless() }) {
			return all, err
		}
		now, err := Open(ctx, f.archive)
		if err != nil || now.same(f) {
			return all, err
		}
		f.Timelines = now.Timelines
	}
}

// same reports whether two readings of a backup folder list the same timelines, bases and segments.
func (f *Folder) same(o *Folder) bool {
	return slices.EqualFunc(f.Timelines, o.Timelines, func(a, b *Timeline) bool {
		return a.ID == b.ID &&
			slices.EqualFunc(a.Bases, b.Bases, func(a, b *Base) bool { return a.Number == b.Number }) &&
			slices.EqualFunc(a.Segments, b.Segments, func(a, b *Segment) bool { return a.Name == b.Name })
	})
}

// verify reads all files once, and returns the defects of all timelines.
func (f *Folder) verify(ctx context.Context, report Report) ([]Finding, error) {
	total := int64(0)
	for _, t := range f.Timelines {
		total += t.bytes()
	}
	advance := report.meter("reading", "bytes", total)
	var all []Finding
	for _, t := range f.Timelines {
		if err := t.verify(ctx, advance); err != nil {
			return nil, err
		}
		all = append(all, t.findings...)
	}
	return all, nil
}

// files yields the files of all bases of the timeline, each with the first base that has it; a shared table is
// yielded once.
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

// bytes returns the number of bytes that verify reads.
func (t *Timeline) bytes() (n int64) {
	for _, f := range t.files {
		n += f.Size
	}
	for _, s := range t.Segments {
		n += s.Size
	}
	return n
}

func (t *Timeline) verify(ctx context.Context, advance progress) error {
	var unusable []string // recorded at the end: a base with a damaged file has its log all the same
	defer func() {
		for _, path := range unusable {
			t.lose(path)
		}
	}()
	for b, f := range t.files {
		before := len(t.findings)
		if err := t.verifyFile(ctx, b, f, advance); err != nil {
			return err
		}
		if len(t.findings) > before {
			unusable = append(unusable, t.path(b, f))
		}
	}
	for i, b := range t.Bases {
		if i > 0 && b.Previous != t.Bases[i-1].Number {
			t.addFinding("missing", t.rel(fmt.Sprintf("%s%06d", basePrefix, b.Previous)), "a backup between two others is missing")
		}
		if !t.restorable(b) {
			t.addFinding("gap", t.baseDir(b), "the log that belongs to this backup is missing: no moment can be restored from it")
		}
	}
	for i, s := range t.Segments {
		err := t.each(ctx, s, advance, func(pebblekv.Write) error { return nil })
		var damaged errDamaged
		switch {
		case errors.As(err, &damaged):
			t.addFinding("damaged", t.rel(logName, s.Name), err.Error())
			unusable = append(unusable, t.segmentPath(s))
		case errors.Is(err, fs.ErrNotExist):
			unusable = append(unusable, t.segmentPath(s))
			t.addFinding("missing", t.rel(logName, s.Name), "the moments in this file cannot be restored")
		case err != nil:
			return err
		}
		if i > 0 && s.First != t.Segments[i-1].Next && t.needed(s) {
			t.addFinding("gap", t.rel(logName, s.Name), fmt.Sprintf("the part of the log before it is missing: moments between %s and the next backup cannot be restored", MomentText(t.Segments[i-1].Time)))
		}
	}
	return nil
}

// needed reports whether a gap before the segment s prevents the restore of moments to which a base could
// otherwise be restored. If a base starts at that segment, no base needs the writes in the gap: the moments in it
// are just not covered.
func (t *Timeline) needed(s *Segment) bool {
	for _, b := range t.Bases {
		if b.From == s.First {
			return false
		}
	}
	return true
}

// verifyFile compares the size and the SHA-256 of one file of a base with its manifest, and adds a finding if they
// differ or the file is missing.
func (t *Timeline) verifyFile(ctx context.Context, b *Base, f *File, advance progress) error {
	where := t.path(b, f)
	size, err := t.archive.Size(ctx, where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.addFinding("missing", where, fmt.Sprintf("the backup of %s needs it", b.Ended.Format("2006-01-02 15:04:05 MST")))
		return nil
	case err != nil:
		return err
	case size < f.Size:
		t.addFinding("truncated", where, fmt.Sprintf("the file has %d bytes instead of %d", size, f.Size))
		return nil
	case size != f.Size:
		t.addFinding("damaged", where, fmt.Sprintf("the file has %d bytes instead of %d", size, f.Size))
		return nil
	}
	_, sum, err := sumFile(ctx, t.archive, where, advance)
	if err == nil && sum != f.Sum {
		t.addFinding("damaged", where, "the checksum does not match")
	}
	return err
}
