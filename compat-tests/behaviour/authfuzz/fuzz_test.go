package authfuzz

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// batchSize is the number of requests that one user sends before the state of the server is compared with that before
// them.
const batchSize = 256

// groupSize is the number of requests that are sent over a connection before the first reply is read, which saves
// waiting.
const groupSize = 16

// findingsMax is the number of different findings after which a run ends.
const findingsMax = 10

// shrinkTries bounds the requests that are tried to find a smaller one with the same violation; shrinkNewServers
// bounds those tries that need a new server each.
const (
	shrinkTries      = 400
	shrinkNewServers = 15
)

// TestGap checks that no user sees or changes more than the role allows, whatever requests the user sends.
func TestGap(t *testing.T) {
	due := programme.Amount(t, "authorization")
	seed, ok := testenv.Seed(t)
	if !ok {
		seed = programme.FirstSeed()
	}
	f := &fuzzer{t: t, seed: seed, corpus: newCorpus(t), open: map[*user]*pool{}, turns: turns(), found: map[string]bool{}, most: findingsMax, start: time.Now()}
	if os.Getenv(harness.Planted) != "" { // with a planted bug, the first finding ends the run; the rarest finding comes once in 100,000 requests
		f.most, due = 1, 10*due
	}
	programme.RecordAtEnd(t, "authorization", seed, func() (int, string) {
		return f.sent, fmt.Sprintf("by %d users; %d were allowed; %s that showed or changed too much", len(users), f.allowed, programme.None(t, "requests"))
	})
	for _, u := range users {
		f.open[u] = &pool{by: map[string][]*request{}}
	}
	f.renew()
	for n := uint64(0); f.sent < due && len(f.found) < f.most; n++ {
		f.batch(n)
	}
	t.Logf("CANTLE_SEED=%d: %d requests, %d servers, %d connections lost", seed, f.sent, f.servers, f.lost)
	if err := f.w.end(); err != nil {
		t.Error(err)
	}
}

// fuzzer is one run.
type fuzzer struct {
	t       *testing.T
	seed    uint64
	corpus  *corpus
	open    map[*user]*pool
	turns   []*user
	w       *world
	base    state // the state before the next request
	found   map[string]bool
	most    int // number of findings that ends the run
	start   time.Time
	sent    int
	allowed int
	servers int
	lost    int
}

// renew starts a new world.
func (f *fuzzer) renew() {
	if f.w != nil {
		if err := f.w.end(); err != nil {
			f.t.Errorf("CANTLE_SEED=%d: %v", f.seed, err)
		}
	}
	f.servers++
	f.w = newWorld(f.t, rand.New(rand.NewPCG(f.seed, uint64(f.servers))))
	f.base = f.look()
}

// look returns the state of the world.
func (f *fuzzer) look() state {
	s, err := f.w.state()
	if err != nil {
		f.t.Fatalf("CANTLE_SEED=%d: the administrator cannot look any more: %v", f.seed, err)
	}
	return s
}

// batch sends batchSize requests of one user.
func (f *fuzzer) batch(n uint64) {
	u := f.turns[int(n)%len(f.turns)]
	d := &drawer{rand.New(rand.NewPCG(f.seed, n)), f.corpus, f.open[u], u.about}
	var sent []*request
	for n := 0; n < batchSize; n += groupSize {
		if f.w.users[u] == nil { // the user waits for itself, or has changed its own password
			f.compare(u, sent)
			sent = nil
		}
		var made, group []*request
		for range groupSize {
			q := d.request()
			made, group = append(made, q), append(group, d.draw(q, f.w, u))
		}
		sent = append(sent, group...)
		for i, a := range f.ask(u, group) {
			if a.allowed() {
				d.open.add(made[i], d)
			}
			if a.leak == "" {
				continue
			}
			if outside(u, f.base, f.look()) != "" { // an earlier request has changed this
				f.compare(u, sent)
				return
			}
			f.leaked(u, group[i], a)
		}
	}
	f.compare(u, sent)
}

// leaked reports a request whose reply has data that its user must not see, reduced to its smallest form, unless a
// similar one was reported.
func (f *fuzzer) leaked(u *user, q *request, a answer) {
	if !f.new(q, a.leak) {
		return
	}
	least := smaller(q, func(q *request) bool { return f.ask(u, []*request{q})[0].leak == a.leak }, shrinkTries)
	f.report(u, least, a.leak, a.reply)
}

// answer is the outcome of a request: the reply, and in leak a description of the data in it that the user must not
// see, "" for none.
type answer struct {
	reply cbson.Raw
	leak  string
}

// allowed reports whether the request succeeded.
func (a answer) allowed() bool {
	ok, _ := a.reply.Get("ok").AsFloat()
	return a.reply != nil && ok == 1
}

// Sends requests, all before the first reply is read.
func (f *fuzzer) ask(u *user, group []*request) []answer {
	out := make([]answer, len(group))
	c, err := f.w.as(u)
	if err != nil {
		return out
	}
	var frames []byte
	ends := []int{0}
	for _, q := range group {
		frames = append(frames, f.w.bind(q).frame()...)
		ends = append(ends, len(frames))
	}
	err = c.send(frames)
	for i := range group {
		if err == nil {
			out[i].reply, err = c.receive(replyWithin)
		}
		if err != nil {
			f.lost++
			f.w.leave(u)
			return out
		}
		f.sent++
		if out[i].allowed() {
			f.allowed++
		}
		out[i].leak = f.w.leak(u, frames[ends[i]:ends[i+1]], out[i].reply)
	}
	if reply, err := c.do("admin", `{connectionStatus: 1}`); err == nil {
		info, _ := reply.Get("authInfo").Doc()
		if who, _ := info.Get("authenticatedUsers").Array(); who.IsEmpty() {
			f.w.leave(u) // a request logged out, or logged in as another user
		}
	}
	return out
}

// compare compares the server's state after a batch of requests with that before. If something changed that the user
// may not change, compare finds and reports the request that changed it.
func (f *fuzzer) compare(u *user, sent []*request) {
	if _, err := f.w.root.do("admin", `{killAllSessions: [{user: "%s", db: "%s"}]}`, u.name, u.db); err != nil {
		f.culprit(u, sent, "the server: "+err.Error())
		return
	}
	if there, err := f.w.logged(); err != nil {
		f.t.Fatal(err)
	} else if there && !f.found[passwordLogged] {
		f.found[passwordLogged] = true // report one only: finding its request takes long
		f.culprit(u, sent, passwordLogged)
		return
	}
	after := f.look()
	if changed := outside(u, f.base, after); changed != "" {
		f.culprit(u, sent, changed)
		return
	}
	f.refresh(after)
}

const passwordLogged = "the log: it has a password"

// wrong returns a violation since this server was started, "" if there is none. If first, the violation that was found
// before, is a password in the log, only that counts; otherwise any change of the state that the user may not make. If
// the state cannot be read, wrong returns that error as the violation.
func (f *fuzzer) wrong(u *user, first string) string {
	if first == passwordLogged {
		if there, err := f.w.logged(); err != nil || !there {
			return ""
		}
		return passwordLogged
	}
	after, err := f.w.state()
	if err != nil {
		return "the server: " + err.Error()
	}
	return outside(u, f.base, after)
}

// refresh restores the data that a user was allowed to change and has changed, so that the next user finds the
// initial data.
func (f *fuzzer) refresh(after state) {
	mine, realm := false, f.w.gone
	for key := range f.base.keys(after) {
		if f.base[key] != after[key] {
			mine, realm = true, realm || strings.Contains(key, "realm")
		}
	}
	var err error
	if mine {
		err = f.w.makeMine(rand.New(rand.NewPCG(f.seed, uint64(f.sent))))
	}
	if realm && err == nil {
		err = f.w.makeUsers()
	}
	if err != nil {
		f.t.Fatalf("CANTLE_SEED=%d: %v", f.seed, err)
	}
	if mine || realm {
		f.base = f.look()
	}
}

// culprit finds the request of a batch that causes a violation: it repeats the batch on a new server and checks for
// the violation first.
func (f *fuzzer) culprit(u *user, sent []*request, first string) {
	// again repeats the requests of list. From the index from on, it checks for the violation after each group of
	// each requests.
	again := func(list []*request, from, each int) (what string, at int, reply cbson.Raw) {
		f.renew()
		for i, q := range list {
			reply := f.ask(u, []*request{q})[0].reply
			if i < from || (i+1)%each != 0 && i+1 < len(list) {
				continue
			}
			if what := f.wrong(u, first); what != "" {
				return what, i, reply
			}
		}
		return "", 0, nil
	}
	what, at, reply := again(sent, 0, groupSize)
	if what != "" {
		what, at, reply = again(sent[:at+1], at+1-groupSize, 1)
	}
	switch {
	case what == "":
		f.found[first] = true
		f.t.Errorf("CANTLE_SEED=%d: requests of %s have changed what they may not, and not when they were sent again: %s", f.seed, u.name, first)
	case f.new(sent[at], kindOf(what)):
		q := smaller(sent[at], func(q *request) bool {
			again, _, _ := again([]*request{q}, 0, 1)
			return kindOf(again) == kindOf(what)
		}, shrinkNewServers)
		f.report(u, q, "changes "+what, reply)
	}
	f.renew()
}

// kindOf returns the part of a change that identifies its kind.
func kindOf(what string) string {
	kind, _, _ := strings.Cut(what, ":")
	return kind
}

// new reports whether a finding is the first of its kind.
func (f *fuzzer) new(q *request, what string) bool {
	key := q.what + " " + what
	if f.found[key] {
		return false
	}
	f.found[key] = true
	return true
}

func (f *fuzzer) report(u *user, q *request, what string, reply cbson.Raw) {
	f.t.Errorf("CANTLE_SEED=%d: %s by %s, after %d requests in %v: %s\nanswer: %s\nit %s", f.seed, q.what, u.name, f.sent, time.Since(f.start).Round(time.Millisecond),
		f.w.bind(q), brief(ejson.String(reply)), what)
}
