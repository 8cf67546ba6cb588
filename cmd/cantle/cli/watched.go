package cli

import (
	"context"
	"io"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/progress"
)

// progressReader reads the progress of long work at a server.
type progressReader struct {
	question bson.Raw // a command for the database admin
	// progress reads the answer to question; what names the things that are counted, "" if the server does no such
	// work.
	progress func(answer bson.Raw) (what string, done, total int64)
}

// runWithProgress runs a command that takes long, and shows the command's progress on out every second. If the user
// may not read the progress, nothing is shown.
// Errors: errors of the command.
func runWithProgress(ctx context.Context, server *server, db string, command bson.Raw, l progressReader, out io.Writer) (bson.Raw, error) {
	done, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		l.show(ctx, server, out, done)
	}()
	defer func() {
		close(done)
		<-shown
	}()
	return server.runCommand(ctx, db, command)
}

// show shows the progress until done is closed.
func (l progressReader) show(ctx context.Context, server *server, out io.Writer, done <-chan struct{}) {
	var p *progress.Bar
	defer func() {
		if p != nil {
			p.End()
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, err := server.runCommand(ctx, "admin", l.question)
		if err != nil {
			continue // the command itself ends with an error
		}
		what, at, total := l.progress(answer)
		if what == "" {
			continue
		}
		if p == nil || p.What() != what {
			if p != nil {
				p.End()
			}
			p = progress.Show(out, what, total)
			p.Backdate(time.Second)
		}
		p.At(at)
	}
}
