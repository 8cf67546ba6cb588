package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
	"github.com/cantledb/cantle/collection/cosmos"
)

// Limits of one batch of writes, in statements and bytes: Cosmos DB accepts 1000 statements, a message has at most 48
// MB.
const (
	batchDocsMax  = 1000
	batchBytesMax = 8 << 20
)

// transfer copies documents to or from a server. While the server throttles its requests for lack of throughput, the
// transfer waits, at most until the time of its context ends.
type transfer struct {
	*server
	session *mongo.Session // used by one goroutine, because cursors belong to a session
}

// newTransfer connects to the server of a connection string; each adjust changes the options of the connection
// string. verb is the application name that the server sees.
// Errors: a bad connection string; errors of adjust.
func newTransfer(uri, verb string, adjust ...func(*options.ClientOptions) error) (*transfer, error) {
	s, err := connect(uri, verb, adjust...)
	if err != nil {
		return nil, err
	}
	session, err := s.client.StartSession()
	if err != nil {
		s.close()
		return nil, err
	}
	return &transfer{server: s, session: session}, nil
}

// worker returns the same transfer with a session of its own, for another goroutine, which ends it by endWorker.
func (t *transfer) worker() (*transfer, error) {
	session, err := t.client.StartSession()
	if err != nil {
		return nil, err
	}
	return &transfer{server: t.server, session: session}, nil
}

func (t *transfer) endWorker() { t.session.EndSession(context.Background()) }

// each calls do with every item, in several goroutines at once, each with its own transfer. It returns the first
// error, after which no further items are started.
func each[T any](ctx context.Context, t *transfer, workers int, items []T, do func(ctx context.Context, t *transfer, item T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan T, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	var all sync.WaitGroup
	for range min(workers, len(items)) {
		all.Go(func() {
			w, err := t.worker()
			if err != nil {
				cancel(err)
				return
			}
			defer w.endWorker()
			for item := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := do(ctx, w, item); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (t *transfer) end() {
	t.session.EndSession(context.Background())
	t.close()
}

// run runs a command on the server, and retries it while the server throttles it. The command may exceed default limits of
// request units (exceedDefaults).
// Errors: mongo.CommandError; mongo.WriteException for single statements; errors of the connection.
func (t *transfer) run(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
	command = t.exceedDefaults(ctx, command)
	raw, err := t.waits.retry(ctx, func() ([]byte, error) {
		return t.client.Database(db).RunCommand(mongo.NewSessionContext(ctx, t.session), []byte(command)).Raw()
	})
	if err != nil {
		return nil, err
	}
	return bson.Parse(raw, bson.Limits{Depth: bson.MaxDepth + 8})
}

// scan runs a command that opens a cursor, and passes each document of the cursor to emit; a document is valid until
// emit returns. The transfer must use one server (onOne), or all documents must fit into one reply.
func (t *transfer) scan(ctx context.Context, db string, command bson.Raw, emit func(doc bson.Raw) error) error {
	reply, err := t.run(ctx, db, command)
	if err != nil {
		return err
	}
	for batch := "firstBatch"; ; batch = "nextBatch" {
		cursor, _ := reply.Get("cursor").Doc()
		docs, _ := cursor.Get(batch).Array()
		for v := range docs.Values() {
			doc, _ := v.Doc()
			if err := emit(doc); err != nil {
				return err
			}
		}
		id, _ := cursor.Get("id").Int64()
		if id == 0 {
			return nil
		}
		ns, _ := cursor.Get("ns").Str()
		_, coll, _ := strings.Cut(ns, ".")
		if reply, err = t.run(ctx, db, bson.D{{"getMore", id}, {"collection", coll}}.Doc()); err != nil {
			return err
		}
	}
}

// all returns the documents of a cursor.
func (t *transfer) all(ctx context.Context, db string, command bson.Raw) (docs []bson.Raw, err error) {
	err = t.scan(ctx, db, command, func(doc bson.Raw) error {
		docs = append(docs, doc.Clone())
		return nil
	})
	return docs, err
}

// account reports whether the server looks like an account of Azure Cosmos DB for MongoDB: its replica set has the
// service's name.
func (t *transfer) account(ctx context.Context) (bool, error) {
	reply, err := t.run(ctx, "admin", bson.D{{"hello", 1}}.Doc())
	name, _ := reply.Get("setName").Str()
	return name == cosmos.ReplicaSet, err
}

// count returns the number of documents of a collection for the progress bar, from the collection's counter; 0 if
// that cannot be read.
func (t *transfer) count(ctx context.Context, db, coll string) int64 {
	reply, err := t.run(ctx, db, bson.D{{"count", coll}}.Doc())
	if err != nil {
		return 0
	}
	n, _ := reply.Get("n").AsInt64()
	return n
}

// written counts the results of writing documents.
type written struct {
	done, duplicates, failed int64
	first                    string // the message of the first failure
}

func (w *written) add(o written) {
	w.done, w.duplicates, w.failed = w.done+o.done, w.duplicates+o.duplicates, w.failed+o.failed
	if w.first == "" {
		w.first = o.first
	}
}

// fail counts a document that the server refuses.
func (w *written) fail(message string) {
	w.failed++
	if w.first == "" {
		w.first = message
	}
}

// writes is the beginning of a write command, to which transfer.write adds the statements: the command's name, the
// name of its array of statements, and its options.
type writes struct {
	command, list string
	db, coll      string
	bypass        bool // without validation
	ordered       bool // one after the other
	stop          bool // at the first refusal, with ordered
	// taken is called with each statement that is refused because of a duplicate value. If it is nil, such statements
	// count as failed.
	taken func(statement bson.Raw, message string)
}

// write sends statements to the server. Statements that the server throttles are retried after the wait that the
// reply names. out counts the done and the refused ones, without those passed to w.taken.
// Errors: errors of the connection; a command that is refused as a whole; with w.ordered and w.stop, the first
// refusal.
func (t *transfer) write(ctx context.Context, w writes, statements []bson.Raw) (out written, err error) {
	for len(statements) > 0 {
		command := bson.D{{w.command, w.coll}, {"ordered", w.ordered}}
		if w.bypass {
			command = append(command, bson.E{"bypassDocumentValidation", true})
		}
		command = append(command, bson.E{w.list, bson.Docs(statements)})
		_, err := t.run(ctx, w.db, command.Doc())
		var partly mongo.WriteException
		if err != nil && (!errors.As(err, &partly) || len(partly.WriteErrors) == 0) {
			return out, err
		}
		var again []bson.Raw
		refusal := ""
		for _, e := range partly.WriteErrors {
			switch {
			case e.Index < 0 || e.Index >= len(statements):
				return out, fmt.Errorf("the server refuses statement %d of %d: %s", e.Index, len(statements), e.Message)
			case e.Code == remote.RequestThrottled:
				again, refusal = append(again, statements[e.Index]), e.Message
			case e.Code == remote.DuplicateKey && w.taken != nil:
				w.taken(statements[e.Index], e.Message)
			default:
				out.fail(e.Message)
			}
		}
		out.done += int64(len(statements) - len(partly.WriteErrors))
		if w.ordered && len(partly.WriteErrors) > 0 { // the following statements were not tried
			at := partly.WriteErrors[0].Index
			out.done -= int64(len(statements) - at - 1)
			if len(again) == 0 {
				if w.stop {
					return out, fmt.Errorf("stopped at a document that was refused: %s", partly.WriteErrors[0].Message)
				}
				at++
			}
			again = statements[at:]
		}
		if refusal != "" {
			if err := t.waits.wait(ctx, refusal); err != nil {
				return out, err
			}
		}
		statements = again
	}
	return out, nil
}

// batch collects documents until one command is full.
type batch struct {
	docs  []bson.Raw
	bytes int
}

// add adds a copy of a document to the batch, and reports whether the batch is full.
func (b *batch) add(doc bson.Raw) bool {
	b.docs = append(b.docs, doc.Clone())
	b.bytes += len(doc)
	return len(b.docs) >= batchDocsMax || b.bytes >= batchBytesMax
}

func (b *batch) take() []bson.Raw {
	docs := b.docs
	b.docs, b.bytes = nil, 0
	return docs
}
