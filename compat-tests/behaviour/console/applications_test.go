package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// TestApplications checks that the heat map shows the applications and users with the recent load of a partition, and
// makes the partitions pale that a chosen application does not use.
func TestApplications(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(1)
	for app, values := range map[string][]int{"billing": {7}, "shop": {7, 7, 14, 12, 11}} {
		c := s.connect("", options.Client().SetAppName(app))
		for _, n := range values {
			filter := bson.D{{Key: "customer", Value: fmt.Sprintf("c%d", n)}}
			cursor, err := c.Database("test").Collection("orders").Find(context.Background(), filter)
			bsontest.Must(t, err)
			bsontest.Must(t, cursor.Close(context.Background()))
		}
	}
	s.pass(2)
	var parts struct {
		Partitions []struct {
			ID          string
			HottestByRU []struct{ Key struct{ Customer string } }
			Callers     []struct {
				AppName       string
				RecentPercent float64
			}
		}
	}
	s.get("/api/v1/partitions?ns=test.orders&top=64").into(&parts)
	hot := ""
	for _, p := range parts.Partitions {
		apps, sum := map[string]bool{}, 0.0
		for _, c := range p.Callers {
			apps[c.AppName], sum = true, sum+c.RecentPercent
		}
		for _, k := range p.HottestByRU {
			if k.Key.Customer == "c7" {
				hot = p.ID
			}
		}
		if !apps["shop"] || apps["billing"] != (p.ID == hot) || sum < 99 || sum > 101 {
			t.Errorf("partition %s: %+v", p.ID, p.Callers)
		}
	}
	if hot == "" || len(parts.Partitions) != 4 {
		t.Fatalf("no partition has c7: %+v", parts)
	}
	b := browse(t, s, 1280, 900)
	b.open("#/heat?ns=test.orders")
	b.check("all partitions, with who has used them", "document.querySelectorAll('tbody tr').length === 4 && document.querySelectorAll('tbody .who').length === 4")
	b.check("applications to choose from", "[...document.querySelectorAll('[data-apps] option')].map((o) => o.value).join().includes('billing')")
	solid := `(() => { const c = document.querySelector('.heat-box canvas'), d = c.getContext('2d').getImageData(c.width - 2, 0, 1, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 250; return n / c.height; })()`
	b.check("all cells have their full colour", solid+" > 0.95")
	b.picture("heat-applications")
	b.do(chromedp.SetValue("[data-apps]", "billing"), chromedp.Evaluate("document.querySelector('[data-apps]').dispatchEvent(new Event('change'))", nil))
	b.check("the address has the application", "location.hash.includes('app=billing')")
	b.has("the number of partitions that it uses", "1 of 4 partitions has recent load of billing")
	b.check("only these are listed", fmt.Sprintf("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody tr').innerText.startsWith('%s')", hot))
	b.check("the others are pale", solid+" > 0.1 && "+solid+" < 0.5")
	b.picture("heat-application")
	b.open("#/heat?ns=test.orders&app=nobody")
	b.has("an application without load", "0 of 4 partitions have recent load of nobody")
	b.open("#/heat?ns=test.orders&x=" + hot)
	b.do(mouse("mouseMoved", ".heat-box canvas:last-child", 0.99, 0.5))
	b.check("the tooltip has the applications", "/recent load:.*shop.*%/s.test(document.querySelector('.told').innerText)")
	b.open("#/partitions?ns=test.orders&x=" + hot)
	b.check("so has the partition", "/recent load:.*billing.*%/s.test(document.querySelector('.detail').innerText)")
}
