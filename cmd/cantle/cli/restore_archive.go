package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/progress"
)

// fromArchive restores the contents of an archive, in their order.
func (r *restoring) fromArchive(ctx context.Context, in io.Reader, errs io.Writer) error {
	size := int64(0)
	if r.archive != "-" {
		file, err := os.Open(r.archive)
		if err != nil {
			return err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		in = file
	}
	r.shows = progress.Share(errs, "bytes", size)
	a, err := dumps.NewArchiveReader(&passing{in, r.shows}, r.gzip)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		for _, l := range r.open {
			l.abandon()
		}
	}()
	for _, d := range a.List {
		if !r.selects(d) {
			continue
		}
		l, err := r.begin(ctx, r.transfer, d, cancel)
		if err != nil {
			return fmt.Errorf("%s: %w", d.NS(), r.explain(err))
		}
		if l != nil {
			r.open[d.NS()] = l
		}
	}
	err = r.blocks(ctx, a, cancel)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	for ns, l := range r.open { // views have no block in some archives
		if l.Kind != "view" && l.seen > 0 {
			return fmt.Errorf("%s: the archive ends early", ns)
		}
		delete(r.open, ns)
		if err := r.finish(ctx, r.transfer, l); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// blocks reads the documents of all collections from an archive, in which they are interleaved. When a collection is
// complete, its last batch is written and its indexes are made in the background, for at most r.parallel collections
// at a time; an error there cancels the restore.
func (r *restoring) blocks(ctx context.Context, a *dumps.ArchiveReader, cancel context.CancelCauseFunc) error {
	var finishing sync.WaitGroup
	defer finishing.Wait()
	free := make(chan struct{}, r.parallel)
	return a.Each(func(db, coll string, doc bson.Raw) error {
		name, packed := strings.CutPrefix(coll, dumps.BucketsPrefix)
		if l := r.open[db+"."+name]; l != nil {
			return l.add(ctx, doc, packed)
		}
		return nil
	}, func(db, coll string) error {
		ns := db + "." + strings.TrimPrefix(coll, dumps.BucketsPrefix)
		l := r.open[ns]
		if l == nil {
			return nil
		}
		delete(r.open, ns)
		finishing.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			t, err := r.worker()
			if err == nil {
				defer t.endWorker()
				err = r.finish(ctx, t, l)
			}
			if err != nil {
				cancel(fmt.Errorf("%s: %w", l.NS(), r.explain(err)))
			}
		})
		return nil
	})
}
