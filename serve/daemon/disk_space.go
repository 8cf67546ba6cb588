package daemon

import (
	"context"
	"time"
)

// StartAgain returns a channel that is closed when the caller has to stop the server and start it again, with
// RestartConfig: when the disk, which was full at the start, has room for writes, and when a server that follows another
// one has to make its copy again or was promoted.
func (d *Daemon) StartAgain() <-chan struct{} { return d.startAgain }

// requestRestart closes the channel of StartAgain.
func (d *Daemon) requestRestart() { d.startAgainOnce.Do(func() { close(d.startAgain) }) }

// RestartConfig returns the settings for starting this server again. If --listen is one address with port 0, the port
// becomes the number that the system chose, so that clients find the server again.
func (d *Daemon) RestartConfig(c Config) Config {
	if len(d.addrs) == 1 {
		c.Listen = d.addrs[0].String()
	}
	c.followAnew = d.followAnew.Load()
	return c
}

// awaitSpace checks each second whether the disk has the free space that opening the store for writing needs, and
// then closes the channel of StartAgain.
func (d *Daemon) awaitSpace(ctx context.Context) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if d.store.Metrics().DiskFree >= d.noSpace.Need {
			d.requestRestart()
			return
		}
	}
}

// checkReadOnly reports whether the store is read-only, and logs why. If the disk is full, it starts awaitSpace.
func (d *Daemon) checkReadOnly(ctx context.Context) bool {
	switch {
	case d.noSpace != nil:
		d.log.Error().Uint64("free", d.noSpace.Free).Uint64("needed", d.noSpace.Need).Msg("the disk is full: data is read-only until enough bytes are free; then the server restarts by itself")
		d.loop(ctx, d.awaitSpace)
	case d.cfg.ServeDamaged:
		d.log.Warn().Msg("--serve-damaged: data is read-only; reads of damaged data fail with DataCorruptionDetected")
	}
	return d.cfg.readOnly()
}

// shortenWhenFull makes the store remove the oldest part of the change log when the disk is full, by as much as
// deletes add to the log: otherwise nothing could be deleted on a full disk.
func (d *Daemon) shortenWhenFull() {
	type roomy interface {
		WhenFull(shorten func(ctx context.Context, bytes int64) (int64, error))
	}
	if files, ok := d.files.(roomy); ok {
		files.WhenFull(d.runner.Shorten)
	}
}
