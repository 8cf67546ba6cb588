package failpoint

// join registers the room at the server as its FailPoints, and with TestCommands as an observer of the steps of
// background jobs.
func (s *State) join() {
	s.FailPoints = s
	if s.TestCommands && s.Jobs != nil {
		s.Jobs.OnStep(s.jobKill.at)
	}
}
