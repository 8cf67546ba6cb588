package storage

// Reachable is a Store that can detect that its data do not answer: other processes, or a
// disk.
type Reachable interface {
	// CheckReachable returns nil while the data can be reached, as far as the store has detected; it
	// checks all the time. Errors: ErrUnavailable, with the time since the last answer.
	CheckReachable() error
}

// Remote is a Store whose data are kept by other processes, over a network.
type Remote interface {
	Reachable

	// Figures returns numbers about the connection to the data, in the same order each time.
	Figures() []Figure
}

// Separator is a Store that spreads ranges of keys over machines.
type Separator interface {
	// Separate passes keys at which parts of the data begin that should lie on different
	// machines. It is a hint: it returns at once, and errors are only logged.
	Separate(keys [][]byte)
}

// Figure is one number for operators and monitoring.
type Figure struct {
	Name  string // in one word, in camel case
	Help  string // a sentence
	Value int64
	// Gauge is true if the number can decrease; other numbers count from the opening of the
	// store.
	Gauge bool
}
