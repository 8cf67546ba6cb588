package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// firstScriptsMark is a file in the folder of --data that exists from before the database is created until the scripts
// of --initdb-folder have ended, so that an unfinished first start is not taken for a database that is ready. Until the
// scripts begin, its text is scriptsWaiting; from then on it is empty.
const firstScriptsMark = "initdb-unfinished"

// scriptsWaiting is the text of firstScriptsMark before the first script begins: the next start runs the scripts.
const scriptsWaiting = "the scripts of --initdb-folder have not begun\n"

// hasFirstScripts reports whether --initdb-folder has any files. A folder that does not exist has none.
// Errors: a folder that cannot be read.
func (d *Daemon) hasFirstScripts() (bool, error) {
	if d.cfg.InitFolder == "" || d.cfg.FirstScripts == nil {
		return false, nil
	}
	entries, err := os.ReadDir(d.cfg.InitFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("--initdb-folder: %w", err)
	}
	return len(entries) > 0, nil
}

// markFirstScripts writes firstScriptsMark, before a new database is created.
// Errors: errors of the file system.
func (d *Daemon) markFirstScripts() error {
	if err := d.writeMark(scriptsWaiting); err != nil {
		return fmt.Errorf("--initdb-folder: %w", err)
	}
	return nil
}

// writeMark replaces the text of firstScriptsMark, and syncs it to disk: after a power failure, a first start must not
// appear to be complete, nor scripts that have begun to be waiting.
func (d *Daemon) writeMark(text string) error {
	mark := filepath.Join(d.cfg.Data, firstScriptsMark)
	file, err := os.OpenFile(mark+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(mark+".part", mark); err != nil {
		return err
	}
	return d.syncData()
}

// removeMark removes firstScriptsMark, and syncs that to disk.
func (d *Daemon) removeMark() error {
	if err := os.Remove(filepath.Join(d.cfg.Data, firstScriptsMark)); err != nil {
		return err
	}
	return d.syncData()
}

// syncData syncs the names of the files in the folder of --data.
func (d *Daemon) syncData() error {
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
	}
	folder, err := os.Open(d.cfg.Data)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// runFirstScripts runs the scripts of --initdb-folder before clients are accepted, if the database is new or if no
// earlier start has begun to run them. The commands of the scripts run as the first user, if the settings name one,
// otherwise without a login, as a client of this machine does.
// Errors: errors of the scripts; an earlier start whose scripts did not end.
func (d *Daemon) runFirstScripts(ctx context.Context, s *command.Server) error {
	if d.cfg.readOnly() {
		return nil
	}
	mark, marked, waiting := filepath.Join(d.cfg.Data, firstScriptsMark), false, false
	if d.cfg.KeepsFiles() {
		text, err := os.ReadFile(mark)
		marked = err == nil
		waiting = string(text) == scriptsWaiting
	}
	if marked && !waiting {
		return fmt.Errorf("the scripts of --initdb-folder did not end at the first start: empty the folder %s and start again, or delete the file %s to keep what they did", d.cfg.Data, mark)
	}
	has, err := d.hasFirstScripts()
	if !d.isNew && !waiting {
		if has || err != nil {
			d.log.Info().Str("folder", d.cfg.InitFolder).Msg("the database exists already: --initdb-folder is ignored")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !has {
		if waiting {
			d.log.Warn().Msg("the first start ended before the scripts of --initdb-folder began, and this start has none: none will run")
			return d.removeMark()
		}
		return nil
	}
	password, err := d.cfg.rootPassword()
	if err != nil {
		return err
	}
	run, hangUp, err := console.Dial(ctx, s, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, auth.Name{Name: d.cfg.RootName, DB: "admin"}, password)
	if err != nil {
		return fmt.Errorf("--initdb-folder: %w", err)
	}
	defer hangUp()
	if d.cfg.KeepsFiles() {
		if err := d.writeMark(""); err != nil {
			return fmt.Errorf("--initdb-folder: %w", err)
		}
	}
	if err := d.cfg.FirstScripts(ctx, &d.cfg, run, func(file, text string) { d.log.Info().Str("file", file).Msg(text) }); err != nil {
		return fmt.Errorf("--initdb-folder: %w", err)
	}
	if d.cfg.KeepsFiles() {
		return d.removeMark()
	}
	return nil
}
