package console

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
)

// warning is a problem that an operator should look at. There is one for each cause.
type warning struct {
	// ID names the cause, for pages that mute it. It stays the same as long as the cause does.
	ID   string `json:"id"`
	Kind string `json:"kind"` // disk, certificate, throttled, hot, request, account or value
	NS   string `json:"ns"`
	Text string `json:"text"`
	// Value is the shard key value behind the warning, as Extended JSON, and Share its part of the partition's RU, from
	// 0 to 1; without one, or for users that may not read it, they are missing.
	Value string  `json:"value,omitempty"`
	Share float64 `json:"share,omitempty"`
	// Origin has the application and the user with most of the load; nil if the user may not see it, or if there are many.
	Origin *origin `json:"who,omitempty"`
	// View is the view of the page that shows the reason.
	View      string  `json:"view"`
	Partition int     `json:"partition"` // -1 for none
	Refused   float64 `json:"refused"`   // requests, in the last minute or, of a time in the past, in that time
	// Since and Last are the seconds since 1970 in which the state was seen first and last; 0 if it has no time.
	Since int64 `json:"since,omitempty"`
	Last  int64 `json:"last,omitempty"`
	// Active reports whether the state lasts. If not, it was seen in the time that the request is about.
	Active bool `json:"active"`
	// Next has what can be done, as places in the page.
	Next []step `json:"next"`

	weight float64 // by which warnings are sorted
}

// step is a place in the page where something can be done about a warning.
type step struct {
	Text  string `json:"text"`
	View  string `json:"view"`
	Extra string `json:"x,omitempty"` // the part of the address that the view reads
}

// Weights of warnings, by which they are ranked. Those of the past come after all others.
const (
	weightMachine = 100 // the server refuses writes or clients, or will soon
	weightHot     = 90  // a hot partition refuses requests or is at its limit
	weightFull    = 80
	weightRefused = 70
	weightValue   = 60
	weightUneven  = 50
	weightRequest = 30 // plus the share of the RU, from 0 to 10
	weightAccount = 10
	weightPast    = -1000
)

// Limits of warnings.
const (
	lastMinute        = 60
	warnedShapes      = 50
	warnedCollections = 20
	warnedValues      = 3   // collections of whose hot partitions the values are read
	largePart         = 0.8 // share of the maximum size of a shard key value: a collection with a partition this large is examined
)

// warnings returns the problems of the server and its collections in a time, as far as the user may see them, the
// worst first. The default of the time are the last 15 minutes.
func warnings(q *query) (any, error) {
	return q.shared(q.text("from")+" "+q.text("to"), currentWarnings)
}

// currentWarnings is warnings without answers that are kept.
func currentWarnings(q *query) (any, error) {
	level, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	out, report := []warning{}, q.report()
	if q.mayLoad() == nil {
		out = append(out, q.machine()...)
		out = append(out, q.partitionWarnings(level, from, to)...)
	}
	if q.isLive(to) {
		addOrigins(out, report)
	}
	out = append(out, q.requestWarnings(report, from, to)...)
	out = append(out, q.largeValues()...)
	slices.SortStableFunc(out, func(a, b warning) int { return cmp.Compare(b.rank(), a.rank()) })
	return struct {
		Warnings []warning `json:"warnings"`
	}{out}, nil
}

// rank returns the number by which warnings are sorted, the highest first.
func (w *warning) rank() float64 {
	if !w.Active {
		return w.weight + weightPast
	}
	return w.weight
}

// texts returns the strings of an array.
func texts(v bson.Value) (out []string) {
	list, _ := v.Array()
	for v := range list.Values() {
		s, _ := v.Str()
		out = append(out, s)
	}
	return out
}
