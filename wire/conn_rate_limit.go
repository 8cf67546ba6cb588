package wire

// ConnRateLimit limits the rate at which the connections of all clients together are
// opened.
// Manual: tutorial/configure-rate-limiter.
type ConnRateLimit struct {
	Enabled      bool
	PerSecond    float64 // connections
	BurstSeconds float64 // of them that may open at once after a pause
	QueueMax     int     // connections that wait for their turn; further ones are closed
}

// ConnStats counts connections.
// Manual: reference/command/serverStatus#connections.
type ConnStats struct {
	Current  int   // open now, including those that wait for their turn
	Active   int   // of these, running a command
	Queued   int   // of these, waiting for their turn under a ConnRateLimit
	Total    int64 // connections since the start
	Rejected int64 // closed at once because of a limit on connections
	TooFast  int64 // closed at once because of the ConnRateLimit
	Free     int   // how many more may open
}
