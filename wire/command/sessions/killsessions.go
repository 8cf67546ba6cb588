package sessions

import (
	"maps"

	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runKillSessions aborts what sessions do now; without any, all of the user's.
// Manual: reference/command/killSessions.
func (s *State) runKillSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "killSessionsFromClient")
	if err != nil {
		return err
	}
	patterns := []sessionPattern{{owner: c.Peer.Owner, hasUID: true}}
	if len(ids) > 0 {
		patterns = make([]sessionPattern, len(ids))
		for i := range ids {
			patterns[i].id = ids[i]
		}
	}
	return s.killSessions(c, patterns)
}

// killSessions aborts the transactions, commands and cursors of the sessions that fit one of the patterns, of
// all without any, at all servers; the command that asks for it goes on. Errors: those of killElsewhere.
func (s *State) killSessions(c *command.Call, patterns []sessionPattern) error {
	s.kill(patterns, c.Running.ID)
	return killElsewhere(c, patterns)
}

// kill does so at this server, but for one operation.
func (s *State) kill(patterns []sessionPattern, but int64) {
	match := fitting(patterns)
	for _, op := range s.Ops.List() {
		if op.ID != but && !op.Session.IsZero() && match(op.Session) {
			op.Interrupt(session.ErrKilled)
		}
	}
	s.Sessions.Kill(match)
}

// fitting reports what sessions fit one of the patterns, all without any. Each session is looked up, as there may be many of
// both.
func fitting(patterns []sessionPattern) func(session.ID) bool {
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
