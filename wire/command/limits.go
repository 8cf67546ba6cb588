package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire"
)

// Limits are how much a client may send. What hello reports is what is enforced.
type Limits struct {
	// DocumentBytes is the size of a document, MessageBytes that of a whole message.
	DocumentBytes, MessageBytes int
	// BatchStatements is how many statements one write command may hold.
	BatchStatements int
}

// limits are those of MongoDB.
// Manual: reference/limits#mongodb-limit-Write-Command-Batch-Limit-Size.
var limits = Limits{DocumentBytes: bson.MaxDocumentBytes, MessageBytes: wire.MessageSizeMax, BatchStatements: BatchMax}

// BatchMax is how many statements one write command may hold on any address.
const BatchMax = 100_000

// Limits are those at the address that the client has connected to.
func (c *Call) Limits() Limits {
	if c.Strict() {
		return cosmosLimits(c.Server.Account)
	}
	return limits
}

// BatchMax is how many statements a write command of the client may hold.
func (c *Call) BatchMax() int { return c.Limits().BatchStatements }
