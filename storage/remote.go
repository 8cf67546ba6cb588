package storage

// Reachable is a Store that can detect that its data do not answer: a disk that hangs, or other processes that do
// not reply.
type Reachable interface {
	// CheckReachable returns nil while the data can be reached, and for some seconds longer. It costs nothing,
	// because the store checks that all the time. Errors: ErrUnavailable, with the time without an answer.
	CheckReachable() error
}

// Remote is a Store whose data are kept by other processes, over a network.
type Remote interface {
	Reachable

	// Figures returns numbers about the connection to the data, for monitoring, in the same order each time.
	Figures() []Figure
}

// Separator is a Store that spreads ranges of keys over machines, as a TiKV cluster does.
type Separator interface {
	// Separate requests that the ranges which begin at the given keys lie on different machines, so that load on
	// them is spread. It is a hint: it returns at once, and errors are only logged.
	Separate(keys [][]byte)
}

// Figure is one number about a store for operators and monitoring, with its name and explanation.
type Figure struct {
	Name  string // in one word, in camel case
	Help  string // a sentence
	Value int64
	// Gauge is true if the number can decrease. Other numbers are counters that count from the opening of the
	// store.
	Gauge bool
}
