package daemon

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire/command"
)

// termTimeout is the maximum time in which a start examines the terms in the place of backups. If that cannot be read, the
// first backup examines them.
const termTimeout = 10 * time.Second

// storeFolder returns the folder of the store.
func (c *Config) storeFolder() string { return filepath.Join(c.Data, storeName) }

// takeStanding applies what the data folder and the place of backups record about promotions: a promoted follower starts as the
// primary, with the place that it has followed as --backup-to; one whose promotion was interrupted completes it if it has begun.
// Errors: another server was promoted in place of this one; errors of the file system.
func (d *Daemon) takeStanding(ctx context.Context) error {
	d.term = backup.FirstTerm
	if e, err := d.cfg.engine(); err != nil || e.location != inFolder || d.cfg.ServeDamaged {
		return err
	}
	s, err := backup.ReadStanding(d.cfg.Data)
	if err != nil {
		return err
	}
	follow := d.cfg.Follow
	if s != nil && s.State == backup.Restored {
		d.term, s = s.Term.Number, nil
	}
	if s != nil && s.State == backup.Primary {
		if err := d.startPromoted(s); err != nil {
			return err
		}
	}
	switch {
	case s != nil && s.State != backup.Primary:
	case d.cfg.BackupTo != "":
		s, err = d.examineTerms(ctx, s)
	case d.cfg.Follow != "":
		s, err = d.examineFollowed(ctx)
	}
	if err != nil {
		return err
	}
	switch {
	case s == nil:
	case s.State == backup.Promoting && d.cfg.Follow != "":
		d.promoting = &s.Term
	case s.State == backup.Deposed:
		if follow != "" { // startPromoted has changed the settings
			d.cfg.Follow, d.cfg.BackupTo = follow, ""
		}
		d.term, d.promoted = backup.FirstTerm, false
		return d.startDeposed(ctx, s)
	}
	return nil
}

// startPromoted makes the settings of a follower that was promoted those of a primary.
func (d *Daemon) startPromoted(s *backup.Standing) error {
	d.term, d.promoted = s.Term.Number, true
	if err := backup.BeginTimeline(d.cfg.storeFolder(), s.Term.Timeline); err != nil || d.cfg.Follow == "" {
		return err
	}
	a, err := d.cfg.openArchive(d.cfg.Follow)
	if err != nil {
		return fmt.Errorf("--follow: %w", err)
	}
	if a.Location() != s.Archive {
		return fmt.Errorf("the folder %s has the data of a server that followed %s and was promoted to primary: start it with cantle serve, or give cantle follow a folder of its own with --data", d.cfg.Data, s.Archive)
	}
	d.log.Info().Str("to", s.Archive).Int64("term", d.term).Msg("this server was promoted: it is the primary, and makes backups in the place that it has followed")
	d.cfg.BackupTo, d.cfg.Follow = d.cfg.Follow, ""
	return nil
}

// examineTerms reads the terms in the place of backups. It returns s, the standing of the data folder, or the new one of a server
// that is the primary no more.
func (d *Daemon) examineTerms(ctx context.Context, s *backup.Standing) (*backup.Standing, error) {
	a, err := d.cfg.openArchive(d.cfg.BackupTo)
	if err != nil {
		return nil, fmt.Errorf("--backup-to: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	t, err := backup.ReadTerms(ctx, a, d.cfg.storeFolder())
	switch {
	case err != nil: // the first backup reports the error
		return s, nil
	case t.Deposed != nil:
		return d.keepDeposed(*t.Deposed, a.Location())
	case s != nil:
		return s, nil
	case t.Other != nil:
		return nil, d.refusePlace(a.Location(), t.Other)
	case d.term > t.Newest: // restored after promotions in another place
		err = backup.KeepTerm(ctx, a, d.term)
	}
	d.term = max(d.term, t.Newest)
	if err != nil {
		d.log.Warn().Err(err).Str("to", a.Location()).Msg("the term of the restored server could not be recorded in the place of backups; the next start tries it again")
	}
	return nil, nil
}

// refusePlace returns the error of the start of a server that would be a second primary in a place of backups: its data were restored, or
// are new, and another server was promoted in that place.
func (d *Daemon) refusePlace(location string, t *backup.Term) error {
	return fmt.Errorf("--backup-to: the place %s has the backups of another server, %s, which was promoted at %s, and the database in %s is not that server's. "+
		"To continue with the newest state of that place, follow it in a new folder (cantle follow %s --data …) and promote that server (cantle promote): then the other one is fenced. "+
		"To continue with the database in %s, give it a place of backups of its own", location, t.By, t.Begun.Format(time.RFC3339), d.cfg.Data, location, d.cfg.Data)
}

// examineFollowed returns the new standing of a server that is to follow one which was promoted in its place before it noticed that;
// nil for other servers.
func (d *Daemon) examineFollowed(ctx context.Context) (*backup.Standing, error) {
	a, err := d.cfg.openArchive(d.cfg.Follow)
	if err != nil {
		return nil, fmt.Errorf("--follow: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	deposed, err := backup.DeposedBy(ctx, a, d.cfg.storeFolder())
	if err != nil || deposed == nil { // the following reports an error of the place
		return nil, nil
	}
	return d.keepDeposed(*deposed, a.Location())
}

// keepDeposed stores that another server was promoted in place of this one, in the archive with a location.
func (d *Daemon) keepDeposed(t backup.Term, location string) (*backup.Standing, error) {
	s := &backup.Standing{State: backup.Deposed, Archive: location, Term: t}
	return s, s.Save(d.cfg.Data)
}

// startDeposed returns the error of the start of a server in whose place another one was promoted, or makes it follow that one.
func (d *Daemon) startDeposed(ctx context.Context, s *backup.Standing) error {
	text, err := d.rollBackStopped(ctx, s)
	if err != nil {
		return err
	}
	if d.cfg.Follow == "" {
		return fmt.Errorf("the folder %s has the data of a server that is the primary no more: %s was promoted at %s, and took over its writes up to %s. %s. To follow that server from now on, start this one with: cantle follow %s --data %s",
			d.cfg.Data, s.Term.By, s.Term.Begun.Format(time.RFC3339), backup.MomentText(s.Term.Time), text, s.Archive, d.cfg.Data)
	}
	d.log.Warn().Str("by", s.Term.By).Msg("another server was promoted in place of this one, which follows it from now on. " + text)
	d.cfg.followAnew = true
	return nil
}

// depose ends the time in which a running server is the primary: it refuses writes from now on, and writes those that the new
// primary does not have into rollback files.
func (d *Daemon) depose(ctx context.Context, t backup.Term, location string) {
	d.commands.Depose()
	d.files.(backup.Source).Fence()
	_ = d.runner.Stop() // its last write is refused as well
	d.log.Error().Str("by", t.By).Str("since", backup.MomentText(t.Time)).Int64("term", t.Number).
		Msg("another server was promoted in place of this one, which refuses writes from now on; start it with cantle follow to have a copy of the other one")
	s, err := d.keepDeposed(t, location)
	if err != nil {
		d.log.Error().Err(err).Msg("that could not be stored; the next start examines the place of backups again")
	}
	if _, err := d.rollBack(ctx, d.store, d.files.(backup.Source), d.catalog.Load(), s); err != nil && ctx.Err() == nil {
		d.log.Error().Err(err).Msg("the rollback files could not be written; the next start tries it again")
	}
}

// promote makes a server that follows another one the primary: it returns when the promotion is certain, and the server is
// about to start again as the primary. Errors: NotSecondary (95) of a server that follows none; errors of the archive and of
// the store.
func (d *Daemon) promote(ctx context.Context) error {
	if d.follower == nil {
		return mongoerr.New(mongoerr.NotSecondary, "this server follows no other one")
	}
	begun := time.Now()
	if err := d.follower.Promote(ctx, d.memberName()); err != nil {
		d.log.Error().Err(err).Msg("this server could not be promoted to primary")
		return err
	}
	d.log.Warn().Str("took", time.Since(begun).Round(time.Millisecond).String()).Msg("this server was promoted to primary, and starts again as such")
	return d.becomePrimary()
}

// keepPromotion stores the term of a promotion that is about to begin, or with nil removes that of one that was given up.
func (d *Daemon) keepPromotion(t *backup.Term) error {
	if t == nil {
		return backup.EndStanding(d.cfg.Data)
	}
	d.log.Warn().Int64("term", t.Number).Str("state", backup.MomentText(t.Time)).Msg("this server is being promoted to primary")
	return (&backup.Standing{State: backup.Promoting, Archive: d.follower.Status().From, Term: *t}).Save(d.cfg.Data)
}

// becomePrimary records a promotion that the archive has, and requests the restart that makes the server the primary. The command
// and the following both call it.
func (d *Daemon) becomePrimary() error {
	d.promotion.Lock()
	defer d.promotion.Unlock()
	s := &backup.Standing{State: backup.Primary, Archive: d.follower.Status().From, Term: *d.follower.Promoted()}
	err := s.Save(d.cfg.Data)
	d.requestRestart() // without the record the start completes the promotion
	return err
}

// memberName returns the name of this server in the record of a promotion.
func (d *Daemon) memberName() string {
	if r, err := command.ParseReplicaSet(d.cfg.ReplicaSet); err == nil && r.Member != "" {
		return r.Member
	}
	return cmp.Or(d.advertised(), d.jobOwnerName())
}
