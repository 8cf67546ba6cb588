package sessions

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "abortTransaction", Run: runAbort, Action: "user",
			Facts: command.AdminOnly | command.InTxn | command.Writes | command.Stable, Kind: command.KindTxn, Since: "4.0", Doc: "reference/command/abortTransaction"},
		{Name: "commitTransaction", Run: runCommit, Action: "user",
			Facts: command.AdminOnly | command.InTxn | command.Writes | command.Stable, Kind: command.KindTxn, Since: "4.0", Doc: "reference/command/commitTransaction"},
		{Name: "endSessions", Run: runEndSessions, Facts: command.Stable | command.Silent, Since: "3.6", Doc: "reference/command/endSessions"},
		{Name: "killAllSessions", Run: s.runKillAllSessions, Action: "killAnySession", Facts: command.Silent, Since: "3.6", Doc: "reference/command/killAllSessions"},
		{Name: "killAllSessionsByPattern", Parse: s.parseKillByPattern, Action: "killAnySession", ArgumentActions: []string{"impersonate"}, Facts: command.Silent, Since: "3.6", Doc: "reference/command/killAllSessionsByPattern"},
		{Name: "killSessions", Run: s.runKillSessions, Action: "user", Facts: command.Silent, Since: "3.6", Doc: "reference/command/killSessions"},
		{Name: "refreshSessions", Run: runRefreshSessions, Action: "user", Facts: command.Stable | command.Silent, Since: "3.6", Doc: "reference/command/refreshSessions"},
		{Name: "startSession", Run: runStartSession, Action: "user", Facts: command.Silent, Since: "3.6", Doc: "reference/command/startSession"},
	}
}
