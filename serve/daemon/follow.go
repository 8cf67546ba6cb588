package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// followerSet is the name of the replica set of a server that follows another one, unless --replica-set names it.
const followerSet = "rs0"

// readOnly reports whether the server writes nothing into its store by itself.
func (c *Config) readOnly() bool { return c.ServeDamaged || c.Follow != "" }

// checkFollow refuses settings that a server which follows another one does not have.
func (c *Config) checkFollow() error {
	switch {
	case c.Follow == "" && c.PromoteAfter != 0:
		return errors.New("--promote-after is for a server that follows another one (--follow)")
	case c.PromoteAfter != 0 && c.PromoteAfter < promoteAfterMin:
		return fmt.Errorf("--promote-after is at least %v, or 0 for a promotion only by a command", promoteAfterMin)
	case c.Follow == "":
		return nil
	}
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"--backup-to", c.BackupTo != ""}, {"--cosmos-listen", c.CosmosListen != ""}, {"--serve-damaged", c.ServeDamaged},
		{"--new", c.New}, {"--must-exist", c.MustExist}, {"--initdb-root-username", c.RootName != ""}, {"--profile", c.Profile != 0},
	} {
		if x.set {
			return fmt.Errorf("--follow and %s exclude each other", x.name)
		}
	}
	if e, err := c.engine(); err == nil && e.location != inFolder {
		return errors.New("--follow needs a database in files")
	}
	return nil
}

// formerName is the folder of the store that a new copy of the followed server replaces, while it is deleted.
const formerName = "store-former"

// beginFollowing makes the copy of the server that this one follows, from its newest backup, if the folder of --data
// has none yet, or if it has to be made again. The store gets its name only when it is complete. What earlier starts, which were
// killed, have left of such copies is deleted.
// Errors: no backups, or none that this program reads; errors of the archive and of the file system.
func (d *Daemon) beginFollowing(ctx context.Context) error {
	if exists(filescan.Disk, d.cfg.Data, formerName) && !d.cfg.ServeDamaged {
		if err := os.RemoveAll(filepath.Join(d.cfg.Data, formerName)); err != nil {
			d.log.Warn().Err(err).Msg("the rest of a former copy of the followed server could not be deleted; the next start tries it again")
		}
	}
	if d.cfg.Follow == "" {
		return nil
	}
	unfinished, dir := filepath.Join(d.cfg.Data, UnfinishedName), filepath.Join(d.cfg.Data, storeName)
	state, _ := look(filescan.Disk, d.cfg.Data)
	if !d.cfg.followAnew && state != filescan.Absent {
		return os.RemoveAll(unfinished)
	}
	a, err := d.cfg.openArchive(d.cfg.Follow)
	if err != nil {
		return fmt.Errorf("--follow: %w", err)
	}
	if err := makeFolder(d.cfg.Data, d.cfg.Data); err != nil {
		return err
	}
	begun := time.Now()
	d.log.Info().Str("from", a.Location()).Msg("copying the newest backup of the server to follow")
	p, err := backup.Begin(ctx, a, unfinished, d.makeRoom)
	if err == nil {
		err = d.deleteFormer()
	}
	if err == nil {
		err = os.Rename(unfinished, dir)
	}
	if err == nil {
		err = backup.EndStanding(d.cfg.Data) // that of earlier data
	}
	if err != nil {
		return fmt.Errorf("--follow: %w", errors.Join(err, os.RemoveAll(unfinished)))
	}
	d.log.Info().Str("state", backup.MomentText(p.Time)).Str("took", time.Since(begun).Round(time.Millisecond).String()).Msg("copied the newest backup of the server to follow")
	return nil
}

// deleteFormer deletes the store that a new copy replaces. Its folder has another name first, so that a start after a kill
// finds a whole store or none.
func (d *Daemon) deleteFormer() error {
	former := filepath.Join(d.cfg.Data, formerName)
	err := os.Rename(filepath.Join(d.cfg.Data, storeName), former)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.RemoveAll(former))
}

// makeRoom deletes the store that a new copy with a size replaces before the copy is made, if the disk has not enough free space for both.
// A copy needs a quarter more for the log that is replayed.
func (d *Daemon) makeRoom(bytes int64) {
	usage, err := filescan.Disk.GetDiskUsage(d.cfg.Data)
	if err != nil || usage.AvailBytes > uint64(bytes)+uint64(bytes)/4 || !exists(filescan.Disk, d.cfg.Data, storeName) {
		return
	}
	d.log.Warn().Int64("needed", bytes).Uint64("free", usage.AvailBytes).Msg("the disk has no space for two copies of the followed server: the former one is deleted first")
	if err := d.deleteFormer(); err != nil {
		d.log.Error().Err(err).Msg("the former copy could not be deleted")
	}
}

// openFollower makes the Follower of a server that follows another one. Errors: those of the place of backups.
func (d *Daemon) openFollower(cat *catalog.Catalog) error {
	store, ok := d.files.(pebblekv.Follower)
	if !ok {
		return nil
	}
	a, err := d.cfg.openArchive(d.cfg.Follow)
	if err != nil { // beginFollowing did not need it
		return fmt.Errorf("--follow: %w", err)
	}
	d.follower = backup.NewFollower(a, store, d.cfg.clock(), func(ctx context.Context, what pebblekv.Applied) error {
		return cat.Reload(ctx, what.Catalog, what.Topics)
	}, func(what string, err error) {
		if err != nil {
			d.log.Error().Err(err).Str("from", a.Location()).Msg(what)
			return
		}
		d.log.Warn().Str("from", a.Location()).Msg(what)
	})
	d.follower.Keep = d.keepPromotion
	if d.cfg.PromoteAfter != 0 && !d.follower.KeepsLease() {
		return errors.New("--promote-after needs backups in object storage: only there the followed server shows that it runs, by a lease")
	}
	if d.promoting != nil {
		d.follower.Resume(*d.promoting)
	}
	return nil
}

// startFollowing applies the writes of the server that this one follows, from now on. If that is impossible without a new
// copy, it requests a restart, which makes one; after other errors the server ends.
func (d *Daemon) startFollowing(ctx context.Context) {
	if d.follower == nil {
		return
	}
	s := d.follower.Status()
	d.log.Info().Str("from", s.From).Str("state", backup.MomentText(s.Applied)).Str("behind", s.Lag(time.Now()).Round(time.Second).String()).
		Msg("this server follows another one: it serves reads, and refuses writes")
	if d.cfg.PromoteAfter != 0 {
		d.loop(ctx, d.promoteWhenAlone)
	}
	d.loop(ctx, func(ctx context.Context) {
		err := d.follower.Run(ctx)
		switch {
		case err == nil && d.follower.Promoted() != nil:
			if err := d.becomePrimary(); err != nil {
				d.log.Error().Err(err).Msg("the promotion could not be recorded; the next start completes it")
			}
		case err == nil:
		case errors.Is(err, backup.ErrBehind), errors.Is(err, backup.ErrTimeline):
			d.log.Warn().Err(err).Msg("the copy of the followed server is made again")
			d.followAnew.Store(true)
			d.requestRestart()
		default:
			d.failed <- fmt.Errorf("--follow: %w", err)
		}
	})
}
