package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

// disk holds the statistics of a file system.
type disk struct {
	total, free   uint64 // bytes
	files, unused uint64 // the maximum number of files on the file system, and the number of free ones; 0 if unknown
	kind          string // "nfs", "" for a kind that needs no finding
	volatile      bool   // its files are lost when the machine stops
}

// space checks the free space and free files of the disk.
func space(folder string) (out []Finding) {
	d, err := diskOf(folder)
	if err != nil {
		return []Finding{newFinding("space", Note, "the file system does not report its free space: %v", err)}
	}
	refused, low := storage.DiskReserve(d.total), storage.DiskLow(d.total)
	text := fmt.Sprintf("%s of %s are free", size(d.free), size(d.total))
	switch {
	case d.free < refused:
		out = append(out, newFinding("space", Fault, "%s; below %s writes are refused", text, size(refused)).do("free some space, or move the folder to a larger disk and set --data"))
	case d.free < low:
		out = append(out, newFinding("space", Warning, "%s; below %s writes are refused", text, size(refused)).do("free some space in time: compactions need some, too"))
	default:
		out = append(out, newFinding("space", Good, "%s", text))
	}
	if d.files > 0 && d.unused < 10_000 {
		out = append(out, newFinding("space", Warning, "only %d more files can be created on this file system", d.unused).do("remove small files, or recreate the file system with more inodes"))
	}
	switch {
	case d.volatile:
		out = append(out, newFinding("disk", Warning, "the folder is in memory (%s): all data is lost when the machine restarts", d.kind).do("set --data to a folder on a disk, or use --memory if this is intended"))
	case d.kind != "":
		out = append(out, newFinding("disk", Warning, "the folder is on %s: the guarantees of syncs and locks depend on another server", d.kind).do("use a local disk or a block device"))
	}
	return out
}

// Bounds of the measurement of syncs.
const (
	syncsMax   = 200
	syncsTime  = 1500 * time.Millisecond
	syncSlow   = 10 * time.Millisecond
	syncUnreal = 15 * time.Microsecond // no disk is that fast without keeping the data in memory
)

// syncs measures the time that the disk takes to sync 4 KB: a write waits for it.
func syncs(ctx context.Context, folder, setting string) []Finding {
	took, err := measure(ctx, folder)
	if storage.IsDiskFull(err) {
		return []Finding{newFinding("sync", Note, "not measured: the disk is full")}
	}
	if err != nil || len(took) == 0 {
		return []Finding{newFinding("sync", Fault, "writes to the disk fail: %v", err).do("look in the kernel log (dmesg)")}
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)*99/100]
	text := fmt.Sprintf("%s for 4 KB (median of %d; 99%% within %s)", significant(median), len(took), significant(worst))
	switch {
	case median > syncSlow && setting == "always":
		return []Finding{newFinding("sync", Warning, "%s: a single client can write %.0f times a second", text, 1/median.Seconds()).
			do("use a faster disk. Concurrent clients share syncs and are slowed less; with --sync=interval:100 writes do not wait, and a power failure may lose 100 milliseconds of writes")}
	case median < syncUnreal:
		return []Finding{newFinding("sync", Note, "%s: too fast for durable storage; the folder is in memory, or the disk does not sync", text)}
	}
	return []Finding{newFinding("sync", Good, "%s", text)}
}

// measure returns the durations of syncs of a growing file in a folder, as the log of a store is one.
func measure(ctx context.Context, folder string) (took []time.Duration, err error) {
	f, err := os.CreateTemp(folder, ".cantle-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := []byte(strings.Repeat("cantle\n\n", 512))
	for begun := time.Now(); len(took) < syncsMax && (len(took) < 3 || time.Since(begun) < syncsTime) && ctx.Err() == nil; {
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		at := time.Now()
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(at))
	}
	return took, ctx.Err()
}

// significant rounds a time to its significant digits.
func significant(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d > 100*time.Microsecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
