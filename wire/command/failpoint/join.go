package failpoint

// join registers the FailPoints and the observer of the room at the server.
func (s *State) join() {
	s.FailPoints = s
	if s.TestCommands && s.Jobs != nil {
		s.Jobs.OnStep(s.jobKill.at)
	}
}
