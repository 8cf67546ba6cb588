package cli

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// remoteRun runs a command as a remote.Run. A reply with an error of the server is returned as well.
// Errors: remote.Error; other errors as by explain.
func (s *server) remoteRun(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
	raw, err := s.client.Database(db).RunCommand(ctx, []byte(command)).Raw()
	var refused mongo.ServerError
	switch {
	case err == nil:
		return bson.Raw(raw), remote.WriteError(bson.Raw(raw))
	case errors.As(err, &refused) && len(refused.ErrorCodes()) > 0:
		e := &remote.Error{Code: int32(refused.ErrorCodes()[0]), Message: err.Error()}
		var command mongo.CommandError
		if errors.As(err, &command) {
			e.Message = command.Message
		}
		return bson.Raw(raw), e
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, s.explain(err)
}

// withoutRetries turns off the retries of the driver, so that a verb sees each refusal.
func withoutRetries(o *options.ClientOptions) error {
	o.SetRetryReads(false).SetRetryWrites(false)
	return o.Validate()
}
