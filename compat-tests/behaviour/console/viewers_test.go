package console

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// viewersTime is the flag -viewers: the duration of the measurement for each number of viewers, in each of three
// rounds.
var viewersTime = flag.Duration("viewers", 0, "measure what viewers cost the server, each number of them for so long")

// TestViewers measures the processor time of a server while no, one and ten browsers show the console, over 64
// partitions that are idle, or get 200 inserts a second. The server is a process of its own; the results are logged.
// A viewer sends the requests that the page sends: a live stream, and requests for warnings, collections and disk
// sizes.
func TestViewers(t *testing.T) {
	if *viewersTime == 0 {
		t.Skip("-viewers 25s measures it")
	}
	program := filepath.Join(t.TempDir(), "cantle")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", program, "../../../cmd/cantle").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "CANTLE_") })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%v of processor time in all", used)
	}()
	uri, url := "", ""
	for lines := bufio.NewScanner(out); (uri == "" || url == "") && lines.Scan(); {
		for _, word := range strings.Fields(lines.Text()) {
			switch {
			case strings.HasPrefix(word, "mongodb://"):
				uri = word
			case strings.HasPrefix(word, "http://"):
				url = strings.TrimSuffix(word, "/")
			}
		}
	}
	go io.Copy(io.Discard, out)
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background())
	shard := bson.D{{Key: "shardCollection", Value: "test.c"}, {Key: "key", Value: bson.D{{Key: "k", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 64}}
	if err := client.Database("admin").RunCommand(t.Context(), shard).Err(); err != nil {
		t.Fatal(err)
	}
	measured := func(of string) {
		sums := map[int]time.Duration{}
		for range 3 {
			for _, n := range []int{0, 1, 10} {
				sums[n] += during(t, url, n, cmd.Process.Pid)
			}
		}
		for _, n := range []int{0, 1, 10} {
			t.Logf("%s, %d viewers: %.2f %% of a core", of, n, 100*float64(sums[n])/float64(3**viewersTime))
		}
	}
	measured("idle")
	load, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		pace := time.NewTicker(time.Second / 200)
		defer pace.Stop()
		for i := 0; load.Err() == nil; i++ {
			<-pace.C
			_, _ = client.Database("test").Collection("c").InsertOne(load, bson.D{{Key: "k", Value: i}, {Key: "pad", Value: "a document of some length, as they are"}})
		}
	}()
	measured("200 inserts a second")
}

// during returns the processor time that the server process pid uses while so many viewers of the console are
// connected.
func during(t *testing.T, url string, viewers, pid int) time.Duration {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), *viewersTime)
	defer stop()
	before := used(t, pid)
	for range viewers {
		for _, x := range []struct {
			path  string
			every time.Duration
		}{{"live", *viewersTime}, {"warnings", 5 * time.Second}, {"collections", 10 * time.Second}, {"disk", 10 * time.Second}} {
			go func() {
				pace := time.NewTicker(x.every)
				defer pace.Stop()
				for ctx.Err() == nil {
					r, err := http.NewRequestWithContext(ctx, "GET", url+"/api/v1/"+x.path, nil)
					if err != nil {
						return
					}
					if reply, err := http.DefaultClient.Do(r); err == nil {
						_, _ = io.Copy(io.Discard, reply.Body)
						reply.Body.Close()
					}
					select {
					case <-pace.C:
					case <-ctx.Done():
					}
				}
			}()
		}
	}
	<-ctx.Done()
	return used(t, pid) - before
}

// used returns the processor time that a process has used since its start, which Linux counts in ticks of 10 ms.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("processor time is read from /proc: ", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	sum := 0
	for _, f := range fields[11:13] { // user and system time
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
