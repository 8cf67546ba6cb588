package cosmos

import (
	"cmp"
	"slices"
	"sync"
)

// usesMax is the number of counts up to which an account has one for each pair of feature and application. Beyond it,
// further applications are counted together under the name ""; beyond twice as many, no count is added.
const usesMax = 2000

// Use counts the commands of one application that used one feature which the account does not have.
type Use struct {
	Kind  Kind
	Name  string
	App   string // of the client's metadata; "" without one, and beyond usesMax
	Count int64
	Last  int64 // milliseconds since the epoch
}

type useKey struct {
	noted
	app string
}

// uses counts since the start of the server.
type uses struct {
	mu     sync.Mutex
	counts map[useKey]*Use
}

func (u *uses) add(n noted, now int64, app string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts = map[useKey]*Use{}
	}
	key := useKey{n, app}
	x := u.counts[key]
	if x == nil && len(u.counts) >= usesMax {
		key.app = ""
		x = u.counts[key]
	}
	if x == nil {
		if len(u.counts) >= 2*usesMax {
			return
		}
		x = &Use{Kind: n.kind, Name: n.name, App: key.app}
		u.counts[key] = x
	}
	x.Count++
	x.Last = now
}

// Forget sets all counts to zero.
func (a *Account) Forget() {
	a.uses.mu.Lock()
	a.uses.counts = nil
	a.uses.mu.Unlock()
}

// Uses returns the counts, the most frequent first.
func (a *Account) Uses() []Use {
	a.uses.mu.Lock()
	var out []Use
	for _, x := range a.uses.counts {
		out = append(out, *x)
	}
	a.uses.mu.Unlock()
	slices.SortFunc(out, func(a, b Use) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.App, b.App))
	})
	return out
}
