package storage

// Reachable is a Store that knows whether what keeps its data answers: other processes, or a
// disk.
type Reachable interface {
	// Away is nil while the data can be reached, as far as the store knows: it looks all
	// the time. Errors: ErrUnavailable, with how long ago it had an answer.
	Away() error
}

// Remote is a Store whose data are kept by other processes, over a network.
type Remote interface {
	Reachable

	// Figures are what the store knows of the way to its data, in the same order each time.
	Figures() []Figure
}

// Separator is a Store that spreads ranges of keys over machines.
type Separator interface {
	// Separate tells at which keys parts of the data begin that had better lie on different
	// machines. A hint: it returns at once, and what fails is only logged.
	Separate(keys [][]byte)
}

// Figure is one number for people and monitoring.
type Figure struct {
	Name  string // in one word, in camel case
	Help  string // a sentence
	Value int64
	// Gauge is a number that can become smaller; others count from the opening of the store.
	Gauge bool
}
