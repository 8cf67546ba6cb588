package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// firstScriptsMark is a file in the folder of --data that exists while the scripts of --initdb-folder run, so that an
// unfinished first start is not taken for a database that is ready.
const firstScriptsMark = "initdb-unfinished"

// runFirstScripts runs the scripts of --initdb-folder, if the database is new, before clients are accepted. The commands
// of the scripts run as the first user, if the settings name one, otherwise without a login, as a client of this
// machine does.
// Errors: errors of the scripts; an earlier start whose scripts did not end.
func (d *Daemon) runFirstScripts(ctx context.Context, s *command.Server) error {
	mark := filepath.Join(d.cfg.Data, firstScriptsMark)
	if d.cfg.KeepsFiles() {
		if _, err := os.Stat(mark); err == nil && !d.cfg.ServeDamaged {
			return fmt.Errorf("the scripts of --initdb-folder did not end at the first start: empty the folder %s and start again, or delete the file %s to keep what they did", d.cfg.Data, mark)
		}
	}
	if !d.isNew || d.cfg.InitFolder == "" || d.cfg.FirstScripts == nil {
		return nil
	}
	entries, err := os.ReadDir(d.cfg.InitFolder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--initdb-folder: %w", err)
	}
	if d.cfg.KeepsFiles() {
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return fmt.Errorf("--initdb-folder: %w", err)
		}
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
	if err := d.cfg.FirstScripts(ctx, &d.cfg, run, func(file, text string) { d.log.Info().Str("file", file).Msg(text) }); err != nil {
		return fmt.Errorf("--initdb-folder: %w", err)
	}
	if d.cfg.KeepsFiles() {
		return os.Remove(mark)
	}
	return nil
}
