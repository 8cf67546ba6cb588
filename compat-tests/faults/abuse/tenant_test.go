package abuse

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// memoryMax is the maximum resident memory, in bytes, of the server in TestHostileUser.
const memoryMax = 1 << 30

// attackers is the number of connections on which a hostile user sends its commands at the same time.
const attackers = 4

// attackerTimeout is the time after which a hostile user stops waiting for a reply and closes the connection.
const attackerTimeout = 5 * time.Second

// TestHostileUser lets a user without roles, and an owner of another database, attack a server on which a user reads
// and writes its documents. The user of these documents must have no errors, the memory must stay below its limit,
// and no command that the roles forbid may succeed. The latency of the reads and writes is printed.
func TestHostileUser(t *testing.T) {
	long := 30 * time.Second
	if testenv.IsLong() {
		long = 10 * time.Minute
	}
	page := ""
	s := harness.StartRetry(t, func() harness.Options {
		page = harness.FreeAddr(t)
		return harness.Options{Data: t.TempDir(), Env: []string{fmt.Sprintf("GOMEMLIMIT=%d", memoryMax)}, Args: []string{"--auth", "--console-listen", page}}
	}, 3)
	makeUsers(t, s)
	v := startProbe(t, as(s, "normal"), withWrites)
	defer v.end()
	list := attacks()
	each := long / time.Duration(len(list)+2)
	v.interval(t)
	time.Sleep(each / 2)
	told := func(name string, sent int64) {
		t.Helper()
		l := v.interval(t)
		if l.Failure != "" {
			t.Errorf("%s: the other user: %s", name, l.Failure)
		}
		peak, _ := s.PeakBytes()
		t.Logf("%-40s sent %6d  others %5d  p50 %8v  p99 %8v  most %8v  peak %4d MB", name, sent, l.Reads, l.P50.Round(10*time.Microsecond),
			l.P99.Round(10*time.Microsecond), l.Most.Round(10*time.Microsecond), peak>>20)
	}
	told("quiet", 0)
	for _, a := range list {
		told(a.name, a.run(t, s, each))
	}
	told("guesses of a password", guess(s, each))
	told("connections to the console", crowd(page, each))
	if peak, ok := s.PeakBytes(); ok && peak > memoryMax {
		t.Errorf("the server held %d MB; its limit is %d", peak>>20, memoryMax>>20)
	}
	if err := s.Trouble(); err != nil {
		t.Error(err)
	}
}

// run sends the commands of the attack for the duration long, and returns the number of commands sent.
func (a *attack) run(t *testing.T, s *harness.Server, long time.Duration) int64 {
	t.Helper()
	c, err := harness.Connect(as(s, a.by), options.Client().SetMaxPoolSize(attackers).SetRetryReads(false).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Disconnect(c)
	made := commandsOf(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range attackers {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(sent.Add(1))
				waits, hangUp := context.WithTimeout(ctx, attackerTimeout)
				err := c.Database(a.db).RunCommand(waits, made[n%len(made)]).Err()
				hangUp()
				if err == nil && a.refused {
					t.Errorf("%s: let through: %.200s", a.name, a.cmds[n%len(a.cmds)])
					return
				}
			}
		})
	}
	wg.Wait()
	return sent.Load()
}

// guess tries wrong passwords for the duration long, waits at most 20 ms for each answer, and returns the number
// of attempts.
func guess(s *harness.Server, long time.Duration) (sent int64) {
	for end := time.Now().Add(long); time.Now().Before(end); sent++ {
		wrong := options.Credential{Username: "root", Password: fmt.Sprint(sent), AuthMechanism: "SCRAM-SHA-1"}
		c, err := harness.Connect(s.URI, options.Client().SetAuth(wrong).SetServerSelectionTimeout(20*time.Millisecond))
		if err != nil {
			continue
		}
		ctx, hangUp := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_ = c.Ping(ctx, nil)
		hangUp()
		harness.Disconnect(c)
	}
	return sent
}

// crowd opens connections to the console at addr that send nothing, up to 4,000 within the duration long, closes
// them, and returns their number.
func crowd(addr string, long time.Duration) (opened int64) {
	var all []net.Conn
	for end := time.Now().Add(long); time.Now().Before(end) && len(all) < 4000; {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		all = append(all, c)
	}
	for _, c := range all {
		_ = c.Close()
	}
	return int64(len(all))
}

// makeUsers creates the user root and the users of TestHostileUser, with their documents.
func makeUsers(t *testing.T, s *harness.Server) {
	t.Helper()
	run := func(c *mongo.Client, cmd bson.D) {
		t.Helper()
		if err := c.Database("admin").RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Fatal(cmd, err)
		}
	}
	user := func(name string, roles ...any) bson.D {
		return bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: append(bson.A{}, roles...)}}
	}
	role := func(name, db string) bson.D { return bson.D{{Key: "role", Value: name}, {Key: "db", Value: db}} }
	run(s.Client(t), user("root", "root"))
	root, err := harness.Connect(as(s, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Disconnect(root)
	run(root, user("powerless"))
	run(root, user("normal", role("readWrite", "quiet")))
	run(root, user("tenant", role("dbOwner", "tenant")))
	for _, db := range []string{"quiet", "tenant"} {
		if _, err := root.Database(db).Collection("c").InsertOne(t.Context(), bson.D{{Key: "a", Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
}

// as returns the connection string of a user.
func as(s *harness.Server, name string) string {
	u, err := url.Parse(s.URI)
	if err != nil {
		panic(err)
	}
	u.User = url.UserPassword(name, "secret")
	q := u.Query()
	q.Set("authSource", "admin")
	u.RawQuery = q.Encode()
	return u.String()
}
