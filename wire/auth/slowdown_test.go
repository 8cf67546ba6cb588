package auth

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var alice = Name{Name: "alice", DB: "admin"}

// guesser guesses the passwords of users from one address; each call of guess does so for some time on one connection.
type guesser struct {
	s       *LoginThrottle
	users   []Name
	address string
	patient time.Duration // it disconnects after that time
	looked  atomic.Int64  // how many guesses were checked
}

func (g *guesser) guess(length time.Duration) {
	began := time.Now()
	for i := 0; time.Since(began) < length; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), g.patient)
		a, err := g.s.Enter(ctx, g.users[i%len(g.users)], g.address)
		cancel()
		if err == nil {
			g.looked.Add(1)
			a.Leave(false)
		}
		time.Sleep(50 * time.Millisecond) // the time of connecting and of the first messages
	}
}

// logIn is a login with the right password.
func logIn(s *LoginThrottle, user Name, address string) (waited time.Duration, err error) {
	began := time.Now()
	a, err := s.Enter(context.Background(), user, address)
	if err == nil {
		a.Leave(true)
	}
	return time.Since(began), err
}

// TestGuesses checks that, in five minutes, no more guesses are checked than a limit per hour allows, besides a few
// at first, whatever the guesser tries: many connections, users or addresses.
func TestGuesses(t *testing.T) {
	const length = 5 * time.Minute
	many := func(kind string, n int) (list []Name) {
		for i := range n {
			list = append(list, Name{fmt.Sprint(kind, i), "admin"})
		}
		return list
	}
	for _, c := range []struct {
		name        string
		users       []Name
		addresses   int
		connections int
		patient     time.Duration
		success     func(s *LoginThrottle) // called each second
		most        int64
	}{
		{name: "one after the other", users: []Name{alice}, addresses: 1, connections: 1, patient: time.Minute, most: 1125},
		{name: "hanging up", users: []Name{alice}, addresses: 1, connections: 1, patient: 20 * time.Millisecond, most: 1125},
		{name: "in parallel", users: []Name{alice}, addresses: 1, connections: 20, patient: time.Minute, most: 1125},
		{name: "in parallel, hanging up", users: []Name{alice}, addresses: 1, connections: 20, patient: 50 * time.Millisecond, most: 1125},
		{name: "beside an account in use", users: []Name{alice}, addresses: 1, connections: 10, patient: time.Minute, most: 1450,
			success: func(s *LoginThrottle) { logIn(s, alice, "address0") }},
		{name: "with an account of its own", users: []Name{alice}, addresses: 1, connections: 10, patient: time.Minute, most: 1125,
			success: func(s *LoginThrottle) { logIn(s, Name{"mallory", "admin"}, "address0") }},
		{name: "beside an account in use elsewhere", users: []Name{alice}, addresses: 40, connections: 1, patient: time.Minute, most: 9000,
			success: func(s *LoginThrottle) { logIn(s, alice, "home") }},
		{name: "from many addresses", users: []Name{alice}, addresses: 60, connections: 1, patient: time.Minute, most: 9000},
		{name: "from many addresses, hanging up", users: []Name{alice}, addresses: 60, connections: 1, patient: 50 * time.Millisecond, most: 9000},
		{name: "many users", users: many("user", 1000), addresses: 1, connections: 20, patient: time.Minute, most: 2250},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s LoginThrottle
				var guessers []*guesser
				var all sync.WaitGroup
				for i := range c.addresses {
					g := &guesser{s: &s, users: c.users, address: fmt.Sprint("address", i), patient: c.patient}
					guessers = append(guessers, g)
					for range c.connections {
						all.Go(func() { g.guess(length) })
					}
				}
				if c.success != nil {
					all.Go(func() {
						for began := time.Now(); time.Since(began) < length; time.Sleep(time.Second) {
							c.success(&s)
						}
					})
				}
				all.Wait()
				var looked int64
				for _, g := range guessers {
					looked += g.looked.Load()
				}
				free := int64(3*c.addresses + 70) // guesses before the longest delay
				if hours := int64(time.Hour / length); looked > c.most/hours+free {
					t.Errorf("%d guesses are looked at in %v, more than %d an hour", looked, length, c.most)
				} else {
					t.Logf("%d guesses are looked at in %v: no more than %d an hour, and %d at first", looked, length, c.most, free)
				}
			})
		})
	}
}

// TestFailedLoginsLockNoUserOut checks that a user with the right password can log in while others guess passwords:
// at once from an address with a recent login, soon from other addresses, and on many connections at the same time.
func TestFailedLoginsLockNoUserOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s LoginThrottle
		if waited, err := logIn(&s, alice, "home"); waited != 0 || err != nil {
			t.Fatal(waited, err)
		}
		var all sync.WaitGroup
		for i := range 8 {
			for range 5 {
				all.Go(func() {
					(&guesser{s: &s, users: []Name{alice}, address: fmt.Sprint("elsewhere", i), patient: time.Minute}).guess(10 * time.Minute)
				})
			}
		}
		time.Sleep(5 * time.Minute)
		var pool sync.WaitGroup
		for range 200 {
			pool.Go(func() {
				if waited, err := logIn(&s, alice, "home"); waited != 0 || err != nil {
					t.Errorf("from home: %v, %v", waited, err)
				}
			})
		}
		pool.Wait()
		if waited, err := logIn(&s, alice, "abroad"); waited > 4*time.Second || err != nil {
			t.Errorf("from abroad: %v, %v", waited, err)
		}
		// At most queueMax guesses that came earlier are checked first, with the delay of the address.
		if waited, err := logIn(&s, Name{"bob", "admin"}, "elsewhere0"); waited > waitMax || err != nil {
			t.Errorf("another user at the address of a guesser: %v, %v", waited, err)
		}
		all.Wait()
	})
}

// TestMistyped checks that a few failed logins cause no delay, and that further failures cause growing delays, which
// have a maximum and are over after an hour.
func TestMistyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s LoginThrottle
		fail := func() time.Duration {
			began := time.Now()
			a, err := s.Enter(context.Background(), alice, "home")
			if err != nil {
				t.Fatal(err)
			}
			a.Leave(false)
			return time.Since(began)
		}
		for range 4 {
			if d := fail(); d != 0 {
				t.Errorf("one of the first waits %v", d)
			}
		}
		last := time.Duration(0)
		for range 6 {
			d := fail()
			if d <= last {
				t.Errorf("%v after %v", d, last)
			}
			last = d
		}
		if d := fail(); d != last {
			t.Errorf("%v, after the longest, %v", d, last)
		}
		if waited, err := logIn(&s, alice, "home"); waited != last || err != nil {
			t.Errorf("the right password: %v, %v", waited, err)
		}
		time.Sleep(time.Hour)
		if d := fail(); d != 0 {
			t.Errorf("after an hour: %v", d)
		}
	})
}

// TestSlowdownIsBounded checks that the tables of a LoginThrottle stay bounded with many names and addresses, and
// that logins without failures leave no limiters.
func TestSlowdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s LoginThrottle
		for i := range 3 * limitersMax {
			logIn(&s, Name{fmt.Sprint("user", i), "admin"}, fmt.Sprint("address", i))
		}
		if len(s.limiters.at) != 0 || len(s.recentLogins.at) != recentLoginsMax || s.recentLogins.order.Len() != recentLoginsMax {
			t.Errorf("%d gates, %d known", len(s.limiters.at), len(s.recentLogins.at))
		}
		for i := range 3 * limitersMax {
			a, err := s.Enter(context.Background(), Name{fmt.Sprint("user", i), "admin"}, fmt.Sprint("address", i))
			if err != nil {
				t.Fatal(err)
			}
			a.Leave(false)
		}
		if len(s.limiters.at) != limitersMax || s.limiters.order.Len() != limitersMax {
			t.Errorf("%d gates", len(s.limiters.at))
		}
	})
}
