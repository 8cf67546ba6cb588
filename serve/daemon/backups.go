package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage/backup"
)

// backupPolicy returns the settings of backups: the folder, the interval, the retention and the rate.
// Errors: values that make no sense; an engine without files.
func (c *Config) backupPolicy() (backup.Policy, error) {
	p := backup.Policy{Interval: c.BackupInterval, LogInterval: c.BackupLogInterval, Retention: c.BackupRetention}
	if c.BackupTo == "" {
		return p, nil
	}
	var err error
	if p.To, err = c.openArchive(c.BackupTo); err != nil {
		return p, fmt.Errorf("--backup-to: %w", err)
	}
	if c.BackupRate != "0" {
		if p.Rate, err = parseSize(c.BackupRate); err != nil {
			return p, fmt.Errorf("--backup-rate: %w", err)
		}
	}
	e, err := c.engine()
	if err == nil && e.location == inFolder {
		p.Data, err = filepath.Abs(c.Data)
	}
	switch {
	case err != nil:
		return p, err
	case e.location != inFolder:
		return p, fmt.Errorf("--backup-to copies files, and --storage %s has none", e.name)
	case p.Interval < time.Second && p.Interval != 0:
		return p, errors.New("--backup-interval is at least 1s, or 0 for backups only when cantle backup asks for one")
	case p.LogInterval < time.Second:
		return p, errors.New("--backup-log-interval is at least 1s")
	case p.Retention < 0:
		return p, errors.New("--backup-retention is at least 0")
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("--backup-to: %w", err)
	}
	return p, nil
}

// openArchive returns the archive in a folder or at a URL.
func (c *Config) openArchive(to string) (backup.Archive, error) {
	if strings.Contains(to, "://") {
		if c.OpenArchive == nil {
			return nil, errors.New("this program keeps backups in folders only")
		}
		return c.OpenArchive(to)
	}
	folder, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	return backup.InFolder(folder), nil
}

// openBackups makes the runner of backups, if the store has files and is not read-only.
func (d *Daemon) openBackups() error {
	policy, err := d.cfg.backupPolicy()
	if err != nil {
		return err
	}
	e, err := d.cfg.engine()
	src, ok := d.files.(backup.Source)
	if err != nil || !ok || e.location != inFolder || d.cfg.readOnly() {
		return err
	}
	if err := backup.Clear(src); err != nil {
		return err
	}
	d.backups = backup.NewRunner(src, policy, Version, time.Now, func(what string, err error) {
		if err != nil {
			d.log.Warn().Err(err).Str("to", policy.To.Location()).Msg(what)
			return
		}
		d.log.Info().Msg(what)
	})
	d.backups.Deposed = func(ctx context.Context, t backup.Term) { d.depose(ctx, t, policy.To.Location()) }
	return nil
}
