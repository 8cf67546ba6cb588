package shards

import (
	"errors"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire/command"
)

// makeBackup runs {customAction: "Backup", to: "weekly"} on admin, which Azure Cosmos DB does not have: the server
// copies its files into the folder of its backup policy, or into a folder directly below, while clients continue to
// write. The server itself copies, because on its own machine it can link a table instead of copying it, and only the
// server can keep the write-ahead logs. The reply follows the end of the backup, which continues if the client
// disconnects; serverStatus shows its progress. On the Cosmos address the action does not exist, because the portal
// makes backups there.
// Errors: BadValue (2) on the Cosmos address or for a wrong folder; Unauthorized (13) on a database other than admin,
// and without access control from a network address other than loopback; IllegalOperation (20) on a server without
// files, or while another backup runs; OperationFailed (96).
func (s *State) makeBackup(c *command.Call, a *customArgs) error {
	switch {
	case c.Strict():
		return unknownAction("Backup")
	case c.DB != "admin":
		return mongoerr.New(mongoerr.Unauthorized, "customAction Backup may only be run against the admin database.")
	case !s.RequireAuth && !command.Local(c.Conn.Remote()):
		return mongoerr.New(mongoerr.Unauthorized, "customAction Backup must run from this machine when running without --auth")
	case s.Backups == nil:
		return mongoerr.New(mongoerr.IllegalOperation, "This server has no files to copy, or only reads them")
	}
	begun := time.Now()
	c.LeaveWrite() // a lock against writes does not wait for the backup
	to, b, err := s.Backups.TakeOnRequest(c.Ctx, a.to)
	var place *backup.FolderError
	switch {
	case errors.As(err, &place):
		return mongoerr.New(mongoerr.BadValue, "%v", place)
	case err != nil && c.Ctx.Err() != nil:
		return c.Ctx.Err()
	case errors.Is(err, backup.ErrRunning):
		return mongoerr.New(mongoerr.IllegalOperation, "%v", err)
	case errors.Is(err, storage.ErrCorruption):
		return err
	case err != nil:
		return mongoerr.New(mongoerr.OperationFailed, "the backup failed: %v", err)
	}
	s.Log.Info().Str("to", to).Int64("copied", b.Copied).Str("took", time.Since(begun).Round(time.Millisecond).String()).Msg("a backup was made")
	r := c.Reply
	r.String("to", to)
	r.String("timeline", b.Timeline)
	r.Int32("number", int32(b.Number))
	r.Int64("bytes", b.Bytes())
	r.Int64("copied", b.Copied)
	r.Int32("files", int32(len(b.Files)))
	r.Timestamp("time", b.Time.Seconds(), b.Time.Increment())
	r.Int64("millis", time.Since(begun).Milliseconds())
	return nil
}
