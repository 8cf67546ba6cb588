package monitoring

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// binary returns the path of the server's program: the one that CANTLE_BINARY names, or one that is built now.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CANTLE_BINARY"); path != "" {
		return path, nil
	}
	dir, err := filepath.Abs("../../.cache/bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "cantle-monitored")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/cantle")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GOWORK=") // which is off for this module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// server is a server that Prometheus scrapes.
type server struct {
	t       *testing.T
	name    string // the label instance
	args    []string
	cmd     *exec.Cmd
	client  *mongo.Client
	metrics string // the address for Prometheus
	down    bool
}

// start starts a server with a data folder of its own, which the server keeps if the test stops it and starts it
// again by run.
func start(t *testing.T, name string, flags ...string) *server {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	s := &server{t: t, name: name, metrics: "http://" + address + "/metrics"}
	if slices.Contains(flags, "--tls-mode") { // then the metrics use TLS as well
		s.metrics = "https://" + address + "/metrics"
	}
	s.args = append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--metrics-listen", address, "--enable-test-commands", "--drain", "1s"}, flags...)
	s.run()
	t.Cleanup(s.stop)
	return s
}

// scraper accepts every certificate: those of the tests are their own.
var scraper = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// run starts the process and connects.
func (s *server) run() {
	s.t.Helper()
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(path, s.args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CANTLE_") {
			s.cmd.Env = append(s.cmd.Env, e)
		}
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines, uri := bufio.NewScanner(out), ""
	for uri == "" && lines.Scan() {
		rest, _ := strings.CutPrefix(lines.Text(), "cantle ready ")
		if rest != lines.Text() {
			uri, _, _ = strings.Cut(rest, " ")
		}
	}
	if uri == "" {
		s.t.Fatalf("%v has not started", s.args)
	}
	go io.Copy(io.Discard, out)
	if s.client, err = mongo.Connect(options.Client().ApplyURI(uri).SetRetryReads(false).SetRetryWrites(false)); err != nil {
		s.t.Fatal(err)
	}
	s.down = false
}

// stop ends the process.
func (s *server) stop() {
	if s.down {
		return
	}
	s.down = true
	s.client.Disconnect(context.Background())
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// do runs a command, which may fail.
func (s *server) do(command bson.D) error {
	return s.client.Database("shop").RunCommand(s.t.Context(), command).Err()
}

// must runs a command that must succeed.
func (s *server) must(command bson.D) {
	s.t.Helper()
	if err := s.do(command); err != nil {
		s.t.Fatalf("%v: %v", command, err)
	}
}

// admin runs a command on the database admin that must succeed.
func (s *server) admin(command bson.D) {
	s.t.Helper()
	if err := s.client.Database("admin").RunCommand(s.t.Context(), command).Err(); err != nil {
		s.t.Fatalf("%v: %v", command, err)
	}
}

// world is a Prometheus in the test, with the servers that it scrapes. Its clock stands still between scrapes.
type world struct {
	t       *testing.T
	store   *store
	servers []*server
	now     time.Time
	// instead returns the number to store in place of a scraped one, for states that a test cannot produce, such as a
	// full disk.
	instead func(name, instance string, v float64) float64
}

// scrape scrapes all servers, one interval after the last time.
func (w *world) scrape(interval time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(interval)
	for _, s := range w.servers {
		up := 1.0
		if s.down {
			up = 0
		}
		add := func(l labels.Labels, v float64) {
			b := labels.NewBuilder(l).Set("job", "cantle").Set("instance", s.name)
			if w.instead != nil {
				v = w.instead(l.Get(labels.MetricName), s.name, v)
			}
			w.store.add(b.Labels(), w.now.UnixMilli(), v)
		}
		add(labels.FromStrings(labels.MetricName, "up"), up)
		if s.down {
			continue
		}
		r, err := scraper.Get(s.metrics)
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			w.t.Fatal(err)
		}
		p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
		for {
			kind, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				w.t.Fatal(err)
			}
			if kind != textparse.EntrySeries {
				continue
			}
			_, _, v := p.Series()
			var l labels.Labels
			p.Labels(&l)
			add(l, v)
		}
	}
}
