package sessions

import (
	"maps"

	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runKillSessions kills the sessions that the command lists, or all sessions of the user if it lists none.
// Manual: reference/command/killSessions.
func (s *State) runKillSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "killSessionsFromClient")
	if err != nil {
		return err
	}
	patterns := []sessionPattern{{owner: c.ConnState.Owner, hasUID: true}}
	if len(ids) > 0 {
		patterns = make([]sessionPattern, len(ids))
		for i := range ids {
			patterns[i].id = ids[i]
		}
	}
	return s.killSessions(c, patterns)
}

// killSessions aborts the transactions, commands and cursors of the sessions that match one of the patterns, or of
// all sessions without patterns. It does so at this server and at all peers. The command that calls it continues.
// Errors: errors of killAtPeers.
func (s *State) killSessions(c *command.Call, patterns []sessionPattern) error {
	s.kill(patterns, c.Running.ID)
	return killAtPeers(c, patterns)
}

// kill aborts the transactions, commands and cursors of the sessions that match one of the patterns, at this server
// only and except for the operation but.
func (s *State) kill(patterns []sessionPattern, but int64) {
	match := matching(patterns)
	for _, op := range s.Ops.List() {
		if op.ID != but && !op.Session.IsZero() && match(op.Session) {
			op.Interrupt(session.ErrKilled)
		}
	}
	s.Sessions.Kill(match)
}

// matching returns a function that reports whether a session matches one of the patterns; without patterns, every
// session matches. The function looks the session up in maps, because sessions and patterns may be many.
func matching(patterns []sessionPattern) func(session.ID) bool {
	all, ids, owners := len(patterns) == 0, map[session.ID]bool{}, map[session.Owner]bool{}
	for i := range patterns {
		switch p := &patterns[i]; {
		case !p.id.IsZero():
			ids[p.id] = ids[p.id] || p.of(p.id.Owner)
		case p.hasUID:
			owners[p.owner] = owners[p.owner] || p.of(p.owner)
		case p.users != nil:
			maps.Copy(owners, p.users)
		default:
			all = true
		}
	}
	return func(id session.ID) bool { return all || ids[id] || owners[id.Owner] }
}
