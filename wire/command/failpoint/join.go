package failpoint

// join registers the hook and the observer of the room at the server.
func (s *State) join() {
	s.Hooks.Fail = s.failAt
	if s.TestCommands && s.Jobs != nil {
		s.Jobs.OnStep(s.jobKill.at)
	}
}
