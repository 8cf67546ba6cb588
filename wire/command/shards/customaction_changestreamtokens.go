package shards

import (
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// changeStreamTokens answers the custom action GetChangeStreamTokens:
// {resumeAfterTokens: [token of each partition]}.
func changeStreamTokens(c *command.Call, a *customArgs) error {
	after := c.Time
	if t, i, ok := a.startAt.Timestamp(); ok {
		after = max(storage.MakeTimestamp(t, i), 1) - 1
	}
	tokens, err := c.Cluster.ChangeTokens(a.ns, after, c.Strict())
	if err != nil {
		return err
	}
	c.Reply.BeginArray("resumeAfterTokens")
	for _, t := range tokens {
		c.Reply.Raw("", t)
	}
	c.Reply.End()
	return nil
}
