package histories

import (
	"cmp"
	"strings"
	"testing"
)

// expectViolation fails the test unless an expected text is among the violations; if the text is "", there must be
// no violation.
func expectViolation(t *testing.T, name, want string, got []string) {
	t.Helper()
	text := strings.Join(got, "; ")
	if want == "" && text != "" || !strings.Contains(text, want) {
		t.Errorf("%s: %q, want %q", name, text, want)
	}
}

func byKey(a, b Row) int { return cmp.Compare(a.Key, b.Key) }

// TestCursor checks results of a cursor of a transaction over the documents 1 to 3, which have version 10. After the
// cursor was opened, the transaction writes version 11 of document 2, and document 4.
func TestCursor(t *testing.T) {
	one, two, three := Row{1, 10}, Row{2, 10}, Row{3, 10}
	for _, x := range []struct {
		name, want string
		rows       []Row
		stopped    bool
	}{
		{name: "in order", rows: []Row{one, two, three}},
		{name: "closed early", rows: []Row{one}, stopped: true},
		{name: "doubled", want: "twice: document 1", rows: []Row{one, one, two, three}},
		{name: "doubled as another version", want: "twice: document 2", rows: []Row{one, two, {2, 11}, three}},
		{name: "lost", want: "missing: document 2", rows: []Row{one, three}},
		{name: "lost in the end", want: "missing: document 3", rows: []Row{one, two}},
		{name: "disorder", want: "out of order", rows: []Row{one, three, two}},
		{name: "from the future", want: "from the future", rows: []Row{one, {2, 11}, three}},
		{name: "inserted later", want: "from the future", rows: []Row{one, two, three, {4, 11}}},
		{name: "of others", want: "nobody wrote", rows: []Row{one, {2, 99}, three}},
		{name: "unknown document", want: "nobody wrote", rows: []Row{one, two, three, {7, 10}}},
		{name: "endless", want: "twice", rows: []Row{one, one, one, one}, stopped: true},
	} {
		c := &Cursor{Opened: map[int]int{1: 10, 2: 10, 3: 10}, Own: []Row{{2, 11}, {4, 11}}, Rows: x.rows, Order: byKey, Ended: !x.stopped}
		expectViolation(t, x.name, x.want, c.Judge())
	}
}

// writes12 returns the changes of two clients for the tests: client 1 writes document 1 twice and then deletes it.
// After the first version of document 1 is acknowledged, client 2 writes documents 11 and 12 in one transaction.
func writes12() []Change {
	return []Change{
		{Client: 1, Key: 1, Version: 1, Begin: 10, End: 20},
		{Client: 1, Key: 1, Version: 2, Begin: 50, End: 60},
		{Client: 1, Key: 1, Version: 3, Removes: true, Begin: 70, End: 80},
		{Client: 2, Key: 11, Version: 101, Together: 1, Begin: 30, End: 40},
		{Client: 2, Key: 12, Version: 102, Together: 1, Begin: 30, End: 40},
	}
}

func TestSnapshot(t *testing.T) {
	first, second, eleven, twelve := Row{1, 1}, Row{1, 2}, Row{11, 101}, Row{12, 102}
	for _, x := range []struct {
		name, want string
		sent, back int64
		rows       []Row
		filter     func(Row) bool
	}{
		{name: "now", sent: 62, back: 65, rows: []Row{second, eleven, twelve}},
		{name: "before all", sent: 1, back: 5},
		{name: "while it is written", sent: 51, back: 55, rows: []Row{first, eleven, twelve}},
		{name: "while it is written, later", sent: 51, back: 55, rows: []Row{second, eleven, twelve}},
		{name: "all the time", sent: 1, back: 100, rows: []Row{first}},
		{name: "removed", sent: 90, back: 95, rows: []Row{eleven, twelve}},
		{name: "filtered", sent: 62, back: 65, rows: []Row{twelve}, filter: func(r Row) bool { return r.Version == 102 }},
		{name: "doubled", want: "twice: document 11", sent: 62, back: 65, rows: []Row{second, eleven, eleven, twelve}},
		{name: "doubled as it was before", want: "twice: document 1", sent: 1, back: 65, rows: []Row{first, second, eleven, twelve}},
		{name: "lost", want: "missing: document 1", sent: 62, back: 65, rows: []Row{eleven, twelve}},
		{name: "half a transaction", want: "of client 2", sent: 1, back: 100, rows: []Row{first, eleven}},
		{name: "disorder", want: "out of order", sent: 62, back: 65, rows: []Row{second, twelve, eleven}},
		{name: "stale", want: "from the past", sent: 62, back: 65, rows: []Row{first, eleven, twelve}},
		{name: "from the future", want: "from the future", sent: 22, back: 45, rows: []Row{second, eleven, twelve}},
		{name: "removed and there", want: "from the past", sent: 90, back: 95, rows: []Row{second, eleven, twelve}},
		{name: "nobody's", want: "which nobody wrote", sent: 62, back: 65, rows: []Row{{1, 77}, eleven, twelve}},
		{name: "nobody's document", want: "never written", sent: 62, back: 65, rows: []Row{{5, 1}}},
		{name: "not wanted", want: "not what the filter wants", sent: 62, back: 65, rows: []Row{eleven, twelve}, filter: func(r Row) bool { return r.Version == 102 }},
	} {
		s := &Snapshot{Changes: writes12(), Rows: x.rows, Sent: x.sent, Back: x.back, Order: byKey, Filter: x.filter}
		expectViolation(t, x.name, x.want, s.Judge())
	}
	all := writes12()
	s := &Snapshot{Changes: append(all[:2:2], all[3:]...), Rows: []Row{eleven, twelve}, Sent: 1, Back: 100}
	expectViolation(t, "the effect without the cause", "no moment", s.Judge())
}

func TestStream(t *testing.T) {
	a, b, gone := Event{Key: 1, Version: 1, Time: 1}, Event{Key: 1, Version: 2, Time: 3}, Event{Key: 1, Time: 4}
	x, y := Event{Key: 11, Version: 101, Time: 2}, Event{Key: 12, Version: 102, Time: 2}
	image := func(e Event, before, after int, looked bool) Event {
		e.HasBefore, e.Before, e.HasAfter, e.After, e.Looked = !looked, before, true, after, looked
		return e
	}
	for _, c := range []struct {
		name, want string
		sent, back int64
		events     []Event
		open       bool
	}{
		{name: "all", events: []Event{a, x, y, b, gone}},
		{name: "all, of the second on", sent: 21, back: 25, events: []Event{x, y, b, gone}},
		{name: "opened meanwhile", sent: 15, back: 35, events: []Event{a, x, y, b, gone}},
		{name: "opened meanwhile, later", sent: 15, back: 35, events: []Event{b, gone}},
		{name: "not yet", events: []Event{a, x}, open: true},
		{name: "images", events: []Event{image(a, 0, 1, false), x, y, image(b, 1, 2, false), image(gone, 2, 0, false)}},
		{name: "looked up", events: []Event{image(a, 0, 2, true), x, y, image(b, 0, 0, true), gone}},
		{name: "doubled", want: "twice", events: []Event{a, a, x, y, b, gone}},
		{name: "doubled when it is over", want: "twice", events: []Event{a, x, y, b, gone, gone}},
		{name: "lost", want: "lost: 1 changes", events: []Event{a, x, y, gone}},
		{name: "lost in the end", want: "lost: version 3", events: []Event{a, x, y, b}},
		{name: "lost as a whole", want: "lost: version 101", events: []Event{a, b, gone}},
		{name: "lost in the beginning", want: "lost", events: []Event{x, y, b, gone}},
		{name: "half a transaction", want: "half a transaction", events: []Event{a, b, gone, x}},
		{name: "a transaction in two pieces", want: "half a transaction", events: []Event{a, {Key: 11, Version: 101, Time: 2}, {Key: 1, Version: 2, Time: 2}, {Key: 12, Version: 102, Time: 2}, gone}},
		{name: "a transaction of two times", want: "different times", events: []Event{a, {Key: 11, Version: 101, Time: 1}, y, b, gone}},
		{name: "disorder", want: "out of order", events: []Event{a, x, y, gone, b}},
		{name: "the effect before the cause", want: "acknowledged before it was sent", events: []Event{{Key: 11, Version: 101, Time: 1}, {Key: 12, Version: 102, Time: 1}, a, b, gone}},
		{name: "times", want: "is of time", events: []Event{a, x, y, b, {Key: 1, Time: 1}}},
		{name: "from the past", want: "from the past", sent: 21, back: 25, events: []Event{a, x, y, b, gone}},
		{name: "nobody's", want: "nobody made", events: []Event{a, {Key: 1, Version: 77, Time: 1}, x, y, b, gone}},
		{name: "nobody's document", want: "never written", events: []Event{a, {Key: 2, Version: 1, Time: 1}, x, y, b, gone}},
		{name: "another image before", want: "version 0 before it", events: []Event{a, x, y, image(b, 0, 2, false), gone}},
		{name: "another image behind", want: "version 1 behind it", events: []Event{a, x, y, image(b, 1, 1, false), gone}},
		{name: "looked up in the past", want: "looked up as version 1", events: []Event{a, x, y, image(b, 0, 1, true), gone}},
	} {
		if c.back == 0 {
			c.sent, c.back = 1, 5
		}
		s := &Stream{Changes: writes12(), Events: c.events, Sent: c.sent, Back: c.back, Complete: !c.open}
		expectViolation(t, c.name, c.want, s.Judge())
	}
}
