package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/site"
	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

// Verbs that the console also offers: they send commands over the console's connection and print into a text.

// consoleTimeout limits the time of cantle advise for the console, consoleSample the number of documents that it
// reads.
const (
	consoleTimeout = time.Minute
	consoleSample  = 50_000
)

// ConsoleTools returns the functions of the command line that the console of a server offers as well, with the pages of
// the documentation.
func ConsoleTools() console.Tools {
	return console.Tools{Advise: Advise, Estimate: Estimate, Docs: func() (map[string][]byte, error) {
		return site.Render(site.Options{Version: daemon.Version, Console: true})
	}}
}

// Advise runs cantle advise for the console.
func Advise(ctx context.Context, ask console.RunCommand, namespace string) (string, error) {
	db, coll, ok := namespaceOf(namespace)
	if !ok {
		return "", fmt.Errorf("%q is not database.collection", namespace)
	}
	ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	var out strings.Builder
	s := &server{consoleRun: ask}
	err := s.advise(ctx, db, coll, &adviseArgs{sample: consoleSample, partitions: 10, top: 10}, &out, io.Discard)
	return out.String(), err
}

// Estimate runs cantle estimate for the console.
func Estimate(ctx context.Context, args []string, document string) (string, error) {
	f := flags.New("cantle estimate")
	estimate := estimateVerb(f)
	if err := flags.Parse(f, append(args, "-")); err != nil {
		return "", err
	}
	var out strings.Builder
	if err := estimate(ctx, Streams{In: strings.NewReader(document), Out: &out, Err: io.Discard}); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "-: "))
	}
	return out.String(), nil
}

// eachDocument visits the documents of a cursor until visit returns false.
func (s *server) eachDocument(ctx context.Context, db, coll string, command bson.Raw, visit func(bson.Raw) bool) error {
	for {
		reply, err := s.runCommand(ctx, db, command)
		if err != nil {
			return err
		}
		cursor, _ := reply.Get("cursor").Doc()
		list, ok := cursor.Get("firstBatch").Array()
		if !ok {
			list, _ = cursor.Get("nextBatch").Array()
		}
		id, _ := cursor.Get("id").AsInt64()
		for v := range list.Values() {
			if doc, _ := v.Doc(); !visit(doc) {
				if id != 0 {
					_, err = s.runCommand(ctx, db, bson.D{{"killCursors", coll}, {"cursors", bson.A{id}}}.Doc())
				}
				return err
			}
		}
		if id == 0 {
			return nil
		}
		command = bson.D{{"getMore", id}, {"collection", coll}, {"batchSize", scanBatch}}.Doc()
	}
}
