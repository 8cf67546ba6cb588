package ratelimit

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Caller identifies the origin of requests. A part that the server does not have is "".
type Caller struct {
	App    string // the application, as the client names it (appName)
	Driver string // the driver of the client
	User   string // the user, as name@database
}

const (
	callersMax    = 4    // callers of a load that have counts of their own
	keyCallersMax = 2    // callers of a hot key that have
	callerTextMax = 128  // bytes of each part of a Caller
	callersShared = 1024 // callers of a CallerTable
	// recentMinutes is the time after which a request has half of its weight in the recent load of callers.
	recentMinutes = 15
)

// CallerTable returns one pointer for equal callers, so that the statistics of all connections share their text. When
// it is full, it begins again. The zero CallerTable is ready. Safe for concurrent use.
type CallerTable struct {
	mu   sync.Mutex
	list map[Caller]*Caller
}

// Of returns the caller with an application, a driver and a user, of each at most 128 bytes.
func (t *CallerTable) Of(app, driver, user string) *Caller {
	c := Caller{callerText(app), callerText(driver), callerText(user)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.list[c]; found != nil {
		return found
	}
	if t.list == nil || len(t.list) >= callersShared {
		t.list = map[Caller]*Caller{}
	}
	own := &Caller{strings.Clone(c.App), strings.Clone(c.Driver), strings.Clone(c.User)}
	t.list[*own] = own
	return own
}

// callerText returns at most callerTextMax bytes of a text, without an incomplete character at the end.
func callerText(s string) string {
	if len(s) > callerTextMax {
		s = strings.ToValidUTF8(s[:callerTextMax], "")
	}
	return s
}

// callerSeat is a place in a list of callers. credit decides how long the caller keeps it: its own load adds to it, and
// the load of callers without a place takes from the least.
type callerSeat struct {
	caller *Caller
	credit float32
}

// seat finds the place of a caller with some load. fresh means that the place is new to this caller; -1 means that the
// caller has none. Source: J. Misra, D. Gries, "Finding repeated elements".
func seat(seats []callerSeat, caller *Caller, load float32) (at int, fresh bool) {
	least := 0
	for i := range seats {
		s := &seats[i]
		switch {
		case s.caller == nil: // places are filled in order: all after this one are empty
			*s = callerSeat{caller, load}
			return i, true
		case s.caller == caller || *s.caller == *caller:
			s.credit += load
			return i, false
		case s.credit < seats[least].credit:
			least = i
		}
	}
	s := &seats[least]
	if s.credit -= load; s.credit > 0 {
		return -1, false
	}
	*s = callerSeat{caller, load}
	return least, true
}

// CallerUse is the load of one caller, since it has been among those with most of the load.
type CallerUse struct {
	*Caller
	RU      MicroRU
	Runs    int64
	Refused int64 // documents or statements
	// RecentRU and RecentRefused are sums in which what happened 15 minutes earlier has half of its weight.
	RecentRU, RecentRefused float64
	Last                    int64 // seconds since 1970
}

// Callers finds the callers with most of a load, and its refusals, in bounded memory. Shares that are computed from it
// are too low rather than too high. The zero Callers is ready. Not safe for concurrent use.
type Callers struct {
	minute                  int32 // since 1970, of the recent sums
	recentRU, recentRefused float64
	seats                   [callersMax]callerSeat
	uses                    [callersMax]CallerUse
}

// Add counts runs of a caller with their charge and the number of refused documents or statements. A refusal has
// the weight of one RU.
func (x *Callers) Add(caller *Caller, runs, refused int64, charge MicroRU, now time.Time) {
	if caller == nil {
		return
	}
	x.age(int32(now.Unix() / 60))
	ru := charge.Float()
	x.recentRU += ru
	x.recentRefused += float64(refused)
	at, fresh := seat(x.seats[:], caller, float32(ru)+float32(refused))
	if at < 0 {
		return
	}
	u := &x.uses[at]
	if fresh {
		*u = CallerUse{Caller: caller}
	}
	u.RU, u.Runs, u.Refused = u.RU+charge, u.Runs+runs, u.Refused+refused
	u.RecentRU, u.RecentRefused, u.Last = u.RecentRU+ru, u.RecentRefused+float64(refused), now.Unix()
}

// age lowers the recent sums, and the credits, to their weight in a minute.
func (x *Callers) age(minute int32) {
	if minute <= x.minute {
		return
	}
	if x.minute != 0 {
		part := math.Exp2(-float64(minute-x.minute) / recentMinutes)
		x.recentRU, x.recentRefused = x.recentRU*part, x.recentRefused*part
		for i := range x.uses {
			x.uses[i].RecentRU *= part
			x.uses[i].RecentRefused *= part
			x.seats[i].credit *= float32(part)
		}
	}
	x.minute = minute
}

// Recent returns the recent load of all callers, those without counts of their own included, and the refused documents
// and statements.
func (x *Callers) Recent(now time.Time) (ru, refused float64) {
	x.age(int32(now.Unix() / 60))
	return x.recentRU, x.recentRefused
}

// List returns the callers with most of the load, the one with most of the recent load and refusals first.
func (x *Callers) List(now time.Time) (out []CallerUse) {
	x.age(int32(now.Unix() / 60))
	for i := range x.uses {
		if x.uses[i].Caller != nil {
			out = append(out, x.uses[i])
		}
	}
	sortCallers(out)
	return out
}

// sortCallers sorts callers by their recent load and refusals, the highest first.
func sortCallers(list []CallerUse) {
	recent := func(u *CallerUse) float64 { return u.RecentRU + u.RecentRefused }
	slices.SortFunc(list, func(a, b CallerUse) int {
		return cmp.Or(cmp.Compare(recent(&b), recent(&a)), cmp.Compare(b.RU, a.RU), cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User), cmp.Compare(a.Driver, b.Driver))
	})
}

// Merge adds the load of the same callers elsewhere: another server's, whose Recent and List are given.
func (x *Callers) Merge(recentRU, recentRefused float64, list []CallerUse, now time.Time) {
	all := MergeCallers(append(x.List(now), list...))
	x.recentRU, x.recentRefused = x.recentRU+recentRU, x.recentRefused+recentRefused
	x.seats, x.uses = [callersMax]callerSeat{}, [callersMax]CallerUse{}
	for i, u := range all[:min(len(all), callersMax)] {
		x.seats[i], x.uses[i] = callerSeat{u.Caller, float32(u.RecentRU + u.RecentRefused)}, u
	}
}

// MergeCallers adds up the entries of equal callers, and sorts the sums as List does. It overwrites its argument.
func MergeCallers(list []CallerUse) []CallerUse {
	at := make(map[Caller]int, len(list))
	out := list[:0]
	for _, u := range list {
		i, ok := at[*u.Caller]
		if !ok {
			at[*u.Caller] = len(out)
			out = append(out, u)
			continue
		}
		s := &out[i]
		s.RU, s.Runs, s.Refused, s.Last = s.RU+u.RU, s.Runs+u.Runs, s.Refused+u.Refused, max(s.Last, u.Last)
		s.RecentRU, s.RecentRefused = s.RecentRU+u.RecentRU, s.RecentRefused+u.RecentRefused
	}
	sortCallers(out)
	return out
}

// CallerWeight is the part of the weight of a hot key that one caller has, at least.
type CallerWeight struct {
	*Caller
	Weight int64
}

// keyCallers finds the callers with most of the weight of a hot key.
type keyCallers struct {
	seats   [keyCallersMax]callerSeat
	weights [keyCallersMax]int64
}

func (x *keyCallers) add(caller *Caller, weight int64) {
	at, fresh := seat(x.seats[:], caller, float32(weight))
	if at < 0 {
		return
	}
	if fresh {
		x.weights[at] = 0
	}
	x.weights[at] = int64(addSaturating(MicroRU(x.weights[at]), MicroRU(weight)))
}

func (x *keyCallers) halve() {
	for i := range x.seats {
		x.seats[i].credit /= 2
		x.weights[i] /= 2
	}
}

// list returns the callers, the one with the greatest weight first.
func (x *keyCallers) list() (out []CallerWeight) {
	for i := range x.seats {
		if caller := x.seats[i].caller; caller != nil && x.weights[i] > 0 {
			out = append(out, CallerWeight{caller, x.weights[i]})
		}
	}
	return heaviestCallers(out)
}

// mergeWeights adds up two lists of the callers of a key, and returns the heaviest of both.
func mergeWeights(a, b []CallerWeight) []CallerWeight {
	out := slices.Clone(a)
	for _, u := range b {
		if i := slices.IndexFunc(out, func(x CallerWeight) bool { return *x.Caller == *u.Caller }); i >= 0 {
			out[i].Weight = int64(addSaturating(MicroRU(out[i].Weight), MicroRU(u.Weight)))
		} else {
			out = append(out, u)
		}
	}
	return heaviestCallers(out)
}

// heaviestCallers sorts callers by weight, the heaviest first, and returns the first keyCallersMax.
func heaviestCallers(list []CallerWeight) []CallerWeight {
	slices.SortFunc(list, func(a, b CallerWeight) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User))
	})
	return list[:min(len(list), keyCallersMax)]
}
