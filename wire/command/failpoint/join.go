package failpoint

// join hands the room's answers to the server.
func (s *State) join() {
	s.Hooks.Fail = s.failAt
	if s.TestCommands && s.Jobs != nil {
		s.Jobs.OnStep(s.jobKill.at)
	}
}
