package console

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// tenants creates the collection shop.orders, sharded by tenant, with four partitions and 40 tenants, and sends
// requests for the given number of seconds. After the first quiet seconds, tenant t7 sends much more load than the
// others.
func (s *server) tenants(seconds, quiet int) {
	s.t.Helper()
	s.run("admin", `{"shardCollection": "shop.orders", "key": {"tenant": "hashed"}, "numInitialChunks": 4}`)
	for i := range 10 {
		docs := ""
		for j := range 40 {
			if j > 0 {
				docs += ","
			}
			docs += fmt.Sprintf(`{"_id": %d, "tenant": "t%d", "order": %d, "status": "%s"}`, i*40+j, j, i*40+j, []string{"open", "paid", "sent"}[(i+j)%3])
		}
		s.run("shop", `{"insert": "orders", "documents": [%s]}`, docs)
	}
	s.pass(1)
	s.run("shop", `{"customAction": "UpdateCollection", "collection": "orders", "offerThroughput": 4000}`)
	for i := range seconds {
		for j := range 4 {
			s.run("shop", `{"find": "orders", "filter": {"tenant": "t%d", "order": %d}}`, (i*4+j)%40, i)
		}
		if i > quiet {
			for range 15 {
				s.run("shop", `{"find": "orders", "filter": {"tenant": "t7", "status": "open"}}`)
			}
		}
		s.pass(1)
	}
}

// TestShapeHistory checks that the console shows the history of a query shape by the minute, and, if a time is
// selected, the requests of that time.
func TestShapeHistory(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(1)
	s.burst(3)
	s.pass(300)
	s.run("test", `{"find": "orders", "filter": {"total": 3}}`)
	s.pass(1)
	var lines struct{ From int64 }
	s.get("/api/v1/lines?from=-1").into(&lines)
	b := browse(t, s, 1280, 900)
	b.open("#/requests?ns=test.orders")
	b.has("all shapes", "{customer: ?, total: {$gte: ?}}")
	b.click("text=find {total: ?}")
	b.check("its past is drawn", "document.querySelector('.detail .chart canvas').width > 200")
	b.picture("shape-history")
	b.open(fmt.Sprintf("#/requests?ns=test.orders&brush=%d-%d", lines.From-60, lines.From+1))
	b.has("a selected time", "in 1 shapes")
	b.check("has what was done then", "document.querySelectorAll('main tbody tr').length === 1 && document.querySelector('main tbody tr').innerText.includes('{total: ?}')")
}

// TestLoginPage checks that the page shows a login form if the server requires a login, and afterwards only what the
// user may see.
func TestLoginPage(t *testing.T) {
	s := start(t, "--auth")
	s.run("admin", `{"createUser": "root", "pwd": "p", "roles": ["root"]}`)
	s.client = s.connect("root:p")
	s.run("admin", `{"createUser": "reader", "pwd": "p", "roles": [{"role": "read", "db": "test"}]}`)
	s.user = "root:p"
	s.stop()
	s.orders()
	b := browse(t, s, 1280, 900)
	b.open("#/collections?ns=test.orders")
	b.check("a login is asked for", "document.querySelector('main.login form input[name=password]')")
	b.check("the first field has the focus", "document.activeElement.name === 'user'")
	b.picture("login")
	b.fill("input[name=user]", "reader")
	b.fill("input[name=password]", "wrong")
	b.click("text=Log in")
	b.has("a wrong password is told", "Authentication failed")
	b.fill("input[name=password]", "p")
	b.click("text=Log in")
	b.check("documents are there", "document.querySelectorAll('.documents li').length === 20")
	b.open("#/now")
	b.has("the load is not", "clusterMonitor")
	b.click("text=Log out")
	b.check("it ends", "document.querySelector('main.login form')")
	b.fill("input[name=user]", "root")
	b.fill("input[name=password]", "p")
	b.click("text=Log in")
	b.check("another sees the load", "document.querySelectorAll('.chart canvas').length === 4 && document.querySelector('.live.on')")
	b.check("scripts see no cookie", "document.cookie === ''")
}

// TestTLSPage checks that the console works over TLS with the server's certificate, and warns of a certificate that
// expires soon.
func TestTLSPage(t *testing.T) {
	dir := t.TempDir()
	if _, err := certificates.Make(dir, []string{"127.0.0.1"}, "client", 20*24*3600e9); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--tls-mode", "preferTLS", "--tls-certificate-key-file", dir+"/server.pem")
	if s.url[:8] != "https://" {
		t.Fatal(s.url)
	}
	s.orders()
	b := browse(t, s, 1280, 900)
	b.open("#/now")
	b.has("the certificate is warned of", "in 19 days")
	b.check("it is live", "document.querySelector('.live.on')")
	b.check("it came over TLS", "location.protocol === 'https:' && performance.getEntriesByType('navigation')[0].nextHopProtocol === 'h2'")
	b.picture("certificate")
}

// nearlyFull is a file system that reports a disk of a terabyte with few bytes free, as if other data had filled it.
type nearlyFull struct {
	vfs.FS
	free uint64
}

func (d nearlyFull) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free, TotalBytes: 1 << 40}, nil
}

// TestDiskPage checks that the console warns of a disk that is getting full, and of a disk on which writes are
// refused.
func TestDiskPage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		free       uint64
		refused    bool
	}{
		{"low", "Only 10.0 of 1024 GB of the disk are free: free some space before writes are refused", 10 << 30, false},
		{"full", "The disk is almost full (1.0 of 1024 GB free): writes are refused until there is more free space; deletes and drops work", 1 << 30, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startWith(t, func(o *pebblekv.Options) { o.FS = nearlyFull{vfs.Default, c.free} }, "--data", t.TempDir())
			err := s.client.Database("test").RunCommand(t.Context(), bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: 1}}}}}).Err()
			if (err != nil) != c.refused {
				t.Errorf("an insert: %v", err)
			}
			b := browse(t, s, 1280, 900)
			b.open("#/now")
			b.has("the disk is warned of", c.text)
			b.picture("disk-" + c.name)
			b.click(".warnings li.disk a")
			b.check("which leads to what lies on it", "location.hash.startsWith('#/collections')")
			b.check("the free space", fmt.Sprintf("document.querySelector('[data-number=free]').innerText === '%d GB'", c.free>>30))
			b.check("refused writes are told in every view", fmt.Sprintf("(document.querySelector('.problem.full') !== null) === %v", c.refused))
		})
	}
}

// TestThrottledPage checks that the view Operations shows what the server throttles: the partition, and the request.
func TestThrottledPage(t *testing.T) {
	s := start(t)
	s.stop()
	s.run("test", `{"customAction": "CreateCollection", "collection": "small", "shardKey": "k", "offerThroughput": 400}`)
	s.pass(1)
	docs := ""
	for i := range 200 {
		if i > 0 {
			docs += ","
		}
		docs += fmt.Sprintf(`{"k": %d}`, i)
	}
	for range 2 {
		s.try("test", `{"insert": "small", "ordered": false, "documents": [`+docs+`]}`)
		s.try("test", `{"find": "small", "filter": {"k": 1}}`)
		s.pass(1)
	}
	b := browse(t, s, 1280, 900)
	b.open("#/operations")
	b.has("the partition", "the only partition is at its limit of 400 RU/s: ")
	b.check("and the request", "/find.*test.small/s.test(document.querySelector('section[aria-label=Throttled] tbody tr').innerText)")
	b.check("and the limit", "/partition.*the RU\\/s of one partition/s.test(document.querySelector('section[aria-label=Throttled]').innerText)")
	b.picture("throttled")
}
