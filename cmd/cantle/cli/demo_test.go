package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestDemoVerb checks the first screen of the demo, that the named partition becomes hot and refuses requests, that the
// console answers meanwhile, and that nothing is left at the end.
func TestDemoVerb(t *testing.T) {
	r, w := io.Pipe()
	var errs strings.Builder
	status := make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer w.Close()
		status <- Run(ctx, []string{"demo", "--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0", "--no-open", "--hot-after", "300ms", "--rate", "150", "--documents", "400"},
			Streams{strings.NewReader(""), w, &errs}, nil)
	}()
	var out strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		out.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "refuses requests") && strings.Contains(lines.Text(), " s: ") {
			break
		}
	}
	uri := regexp.MustCompile(`mongodb://\S+`).FindString(out.String())
	named := regexp.MustCompile(`partition (\d) becomes hot`).FindStringSubmatch(out.String())
	page := regexp.MustCompile(`http://\S+/`).FindString(out.String())
	if uri == "" || named == nil || page == "" || !strings.Contains(out.String(), "tenant acme becomes hot") {
		t.Fatalf("%s%s", out.String(), errs.String())
	}
	var partitions strings.Builder
	if code := verbStatus(t, "partitions", "", &partitions, &partitions, "--top", "1", uri, "shop.orders"); code != 0 {
		t.Fatalf("status %d\n%s", code, partitions.String())
	}
	for line := range strings.Lines(partitions.String()) {
		if cells := strings.Fields(line); len(cells) > 6 && len(cells[0]) == 1 {
			if refused := cells[len(cells)-1] != "0"; refused != (cells[0] == named[1]) {
				t.Errorf("partition %s is not the only one that refuses requests:\n%s", named[1], partitions.String())
			}
		}
	}
	heat := ""
	for range 100 { // the history records a second when it has passed
		if heat = pageText(t, page+"api/v1/heat?ns=shop.orders"); strings.Count(heat, `"partition":`) >= 4 {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	if strings.Count(heat, `"partition":`) < 4 {
		t.Errorf("the heat map has no partitions: %s", heat)
	}
	if page, err := http.Get(page + "docs/console.html"); err != nil || page.StatusCode != http.StatusOK {
		t.Errorf("the documentation of the console's menu: %v %v", page, err)
	} else {
		page.Body.Close()
	}
	stop()
	rest, _ := io.ReadAll(r)
	if code := <-status; code != 0 || errs.Len() > 0 || !regexp.MustCompile(`stopped after \d+s: \d+ requests, [1-9]\d* of them refused`).Match(rest) {
		t.Errorf("status %d\n%s%s", code, rest, errs.String())
	}
	var after strings.Builder
	if code := verbStatus(t, "ping", "", &after, &after, "--timeout", "300ms", uri); code != 1 {
		t.Errorf("the server still answers: %s", after.String())
	}
}

// TestDemoFolder checks that --data keeps the orders, that a second demo continues with them, and wrong arguments.
func TestDemoFolder(t *testing.T) {
	demo := func(args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "demo", "", &out, &out, append([]string{"--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0", "--no-open"}, args...)...), out.String()
	}
	folder := t.TempDir()
	for range 2 {
		if code, out := demo("--data", folder, "--duration", "150ms", "--rate", "100", "--documents", "80"); code != 0 || !strings.Contains(out, "80 orders of 40 tenants in "+folder) {
			t.Errorf("status %d\n%s", code, out)
		}
	}
	d := startWith(t, "--data", folder)
	if n := run(t, connectTo(t, d.URI()).Database("shop"), `{count: "orders"}`)["n"]; n != int32(80) && n != int32(81) {
		t.Errorf("%v orders", n)
	}
	for _, bad := range [][]string{{"x"}, {"--rate", "0"}, {"--documents", "1"}, {"--duration", "-1s"}} {
		if code, out := demo(bad...); code != 2 {
			t.Errorf("%v: status %d\n%s", bad, code, out)
		}
	}
}

// connectTo connects a driver to a server for the length of the test.
func connectTo(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	return client
}

// pageText returns the body of a page, which must exist.
func pageText(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", address, answer.Status, body)
	}
	return string(body)
}
