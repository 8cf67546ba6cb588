package cosmos

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Account describes the account of Azure Cosmos DB that the Cosmos address imitates: its server version and its
// capabilities. Fields are set before the server starts. Safe for concurrent use.
type Account struct {
	Version      Version
	Capabilities Capabilities
	// Lenient makes the Cosmos address accept features that the account does not have; they are only counted.
	Lenient bool

	uses uses
}

// NewAccount makes an account of the newest version without capabilities.
func NewAccount() *Account { return &Account{Version: Newest} }

// ReplicaSet is the replica set name that every account reports to drivers.
// Source: connection strings of the service, "connect-account".
const ReplicaSet = "globaldb"

// DepthMax bounds the levels of a document. Source: "concepts-limits".
const DepthMax = 128

// DocumentMax returns the size in bytes of the largest document that the account accepts: 16 MiB with the capability
// for it, else 2 MiB.
// Source: "concepts-limits", "how-to-configure-capabilities".
func (a *Account) DocumentMax() int {
	if a.Capabilities&EnableMongo16MBDocumentSupport != 0 {
		return bson.MaxDocumentBytes
	}
	return 2 << 20
}

// Client makes the checks of a new connection.
func (a *Account) Client() *Client { return &Client{Account: a} }

// Client checks the commands of one connection, one after the other, against the features of its account. A nil
// Client, of an address of MongoDB, checks nothing. Safe for concurrent use.
type Client struct {
	*Account

	mu    sync.Mutex
	app   string  // of the client's metadata
	now   int64   // milliseconds since the epoch
	noted []noted // of the command that runs: each feature counts once
}

// noted is a feature by the table and the name.
type noted struct {
	kind Kind
	name string
}

// Begin starts the next command of the connection; a feature counts once in each command. now is in milliseconds
// since 1970, and app the application that the client named in its metadata.
func (c *Client) Begin(now int64, app string) {
	c.mu.Lock()
	c.now, c.app, c.noted = now, app, c.noted[:0]
	c.mu.Unlock()
}

// Check returns an error if the account lacks the feature of this kind and name, such as the stage $bucket; nil if
// the account has it or is lenient. A missing feature is counted as used.
// Errors: that of the feature's row, or else of the kind.
func (c *Client) Check(k Kind, name string) error {
	if c == nil {
		return nil
	}
	r := k.Find(name)
	if c.accepts(k, name, r) {
		return nil
	}
	return c.refusal(k, name, r)
}

// CheckRule is Check for a row of the rules.
func (c *Client) CheckRule(r RuleID) error {
	row := &rules[r]
	if c == nil || c.accepts(Rule, row.Name, row) {
		return nil
	}
	return c.refusal(Rule, row.Name, row)
}

// Refuse returns err if the account lacks the feature of the rule r; nil if the account has it or is lenient. It is
// for errors that contain figures of the request. A missing feature is counted as used.
func (c *Client) Refuse(r RuleID, err error) error {
	row := &rules[r]
	if c == nil || c.accepts(Rule, row.Name, row) {
		return nil
	}
	return err
}

// accepts reports whether the account has a feature or is lenient. A missing feature is counted as used.
func (c *Client) accepts(k Kind, name string, r *Row) bool {
	if c.Has(r) {
		return true
	}
	c.note(k, name)
	return c.Lenient
}

// Refusal returns an error for Client.Refuse with the code of the rule. Its text is that of the rule's row, if any,
// followed by the formatted text of the caller.
func (r RuleID) Refusal(format string, args ...any) *mongoerr.Error {
	text := fmt.Sprintf(format, args...)
	if rules[r].Text != "" {
		text = rules[r].Text + " " + text
	}
	return mongoerr.New(rules[r].Code, "%s", text)
}

func (c *Client) note(k Kind, name string) {
	n := noted{k, name}
	c.mu.Lock()
	seen := slices.Contains(c.noted, n)
	if !seen {
		c.noted = append(c.noted, n)
	}
	now, app := c.now, c.app
	c.mu.Unlock()
	if !seen {
		c.uses.add(n, now, app)
	}
}
