package rooms

import (
	"testing"

	"github.com/cantledb/cantle/wire/command"
)

// TestBalancedHello checks that a client that connects through a load balancer gets the server's id. A client of the
// Cosmos address, which looks like a replica set, gets none, so its driver reports that load balancers are not
// supported.
func TestBalancedHello(t *testing.T) {
	service := func(c *client, hello string) (id [12]byte) {
		v := c.ok(hello).Get("serviceId")
		id, ok := v.ObjectID()
		if !ok && !v.IsMissing() {
			t.Errorf("%s: %v", hello, v)
		}
		return id
	}
	w := newWorld(t, nil)
	first := service(w.dial(), `{hello: 1, loadBalanced: true}`)
	if again := service(w.dial(), `{ismaster: 1, loadBalanced: true}`); first == [12]byte{} || first != again {
		t.Errorf("it is %x, and then %x", first, again)
	}
	if service(newWorld(t, nil).dial(), `{hello: 1, loadBalanced: true}`) == first {
		t.Error("two servers have one id")
	}
	if id := service(w.dial(), `{hello: 1, loadBalanced: false}`); id != [12]byte{} {
		t.Errorf("who did not ask is told %x", id)
	}
	if id := service(w.dialAs(command.TagCosmos), `{hello: 1, loadBalanced: true}`); id != [12]byte{} {
		t.Errorf("a replica set has %x", id)
	}
	if code := w.dial().code(`{hello: 1, loadBalanced: "yes"}`); code != 14 {
		t.Errorf("a text: %d", code)
	}
}

// TestBalancedEnds checks that a cursor or transaction that a client has opened through a load balancer ends with
// the connection on which it was opened, and nothing else ends.
func TestBalancedEnds(t *testing.T) {
	w := newWorld(t, nil)
	other := w.dial()
	other.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}]}`)
	const (
		session = `lsid: {id: {$uuid: "00000000-0000-4000-8000-00000000000`
		txn     = `autocommit: false, txnNumber: {$numberLong: "1"}, `
	)
	begin := func(c *client, n string) {
		c.ok(`{update: "c", updates: [{q: {_id: ` + n + `}, u: {$set: {by: ` + n + `}}}], startTransaction: true, ` + txn + session + n + `"}}}`)
		c.ok(`{find: "c", batchSize: 1, ` + txn + session + n + `"}}}`)
		c.ok(`{find: "c", batchSize: 1}`)
	}
	balanced, plain := w.dial(), w.dial()
	balanced.ok(`{hello: 1, loadBalanced: true}`)
	begin(balanced, "1")
	begin(plain, "2")
	if n := w.Cursors.Stats().Open; n != 4 {
		t.Fatalf("%d cursors are open", n)
	}
	w.Disconnect(balanced)
	w.Disconnect(plain)
	if n := w.Cursors.Stats().Open; n != 2 {
		t.Errorf("%d cursors are open", n)
	}
	if n := w.Sessions.Stats().Open; n != 1 {
		t.Errorf("%d transactions are open", n)
	}
	other.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {by: 3}}}]}`)
	if code := other.code(`{commitTransaction: 1, $db: "admin", ` + txn + session + `1"}}}`); code != 251 {
		t.Errorf("the transaction of the connection that was closed is committed: %d", code)
	}
	if code := other.code(`{commitTransaction: 1, $db: "admin", ` + txn + session + `2"}}}`); code != 0 {
		t.Errorf("the transaction of another connection is not committed: %d", code)
	}

	// The next transaction of the session is begun on another connection, and is not bound to the first connection.
	const second = `autocommit: false, txnNumber: {$numberLong: "2"}, `
	late := w.dial()
	late.ok(`{hello: 1, loadBalanced: true}`)
	begin(late, "3")
	other.code(`{abortTransaction: 1, $db: "admin", ` + txn + session + `3"}}}`)
	other.ok(`{update: "c", updates: [{q: {_id: 3}, u: {$set: {by: 4}}}], startTransaction: true, ` + second + session + `3"}}}`)
	w.Disconnect(late)
	if code := other.code(`{commitTransaction: 1, $db: "admin", ` + second + session + `3"}}}`); code != 0 {
		t.Errorf("a later transaction of the session is not committed: %d", code)
	}
}
