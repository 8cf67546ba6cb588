package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire"
)

// Limits are the maximum sizes of requests, which hello reports and the server enforces.
type Limits struct {
	// DocumentBytes is the size of a document, MessageBytes that of a whole message.
	DocumentBytes, MessageBytes int
	// BatchStatements is the number of statements in a write command.
	BatchStatements int
}

// limits holds the limits of MongoDB.
// Manual: reference/limits#mongodb-limit-Write-Command-Batch-Limit-Size.
var limits = Limits{DocumentBytes: bson.MaxDocumentBytes, MessageBytes: wire.MessageSizeMax, BatchStatements: BatchMax}

// BatchMax is the maximum number of statements in a write command, at any address.
const BatchMax = 100_000

// Limits returns the limits at the address of the client.
func (c *Call) Limits() Limits {
	if c.Strict() {
		return cosmosLimits(c.Server.Account)
	}
	return limits
}

// BatchMax returns the maximum number of statements of a write command for the client.
func (c *Call) BatchMax() int { return c.Limits().BatchStatements }
