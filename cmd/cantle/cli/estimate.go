package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/workload"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/serve/flags"
)

const estimateHelp = `Estimates the cost of a workload: request units (RU) per operation, RU/s to provision,
partitions. The file has one typical document, as Extended JSON or in mongosh syntax; -
reads it from standard input. Prices and index entries are computed by the server's own
code, so a server charges the same.

  cantle estimate --shard-key device --index '{device: 1, at: -1}' \
      --documents 50000000 --reads 400 --inserts 1000 --queries 20 reading.json

What makes an operation expensive:

  size        a read by _id and shard key costs 1 RU for the first KB and 1/11 for
              each further KB, a write 5 (8.6 by --prices mongo-2023) and 5/11
  indexes     every index entry written or removed costs 0.4 (0.25): an array under an
              index has one entry per element. --update-fields names the fields that
              an update changes; indexes on other fields cost nothing
  partitions  a query costs 2.5 on every partition it visits. With the shard key in
              its filter that is one (and 2.4 where it finds something, by
              mongo-2023); without (--fan-outs) it is all of them, so it
              gets more expensive as the collection grows
`

func estimateVerb(f *pflag.FlagSet) action {
	var p workload.Workload
	var indexes []string
	key := f.String("shard-key", "", "shard key `field` (hashed); without it there is one partition")
	f.IntVar(&p.Buckets, "buckets", 0, "`number` of buckets into which a suffix divides each shard key value; --fan-outs are then queries of one value without the suffix's field")
	f.StringArrayVar(&indexes, "index", nil, "a secondary index, as `keys` {a: 1, b: -1} or as a whole specification {key: {…}, unique: true}; may be repeated")
	fields := f.String("update-fields", "", "comma-separated `fields` that an update changes")
	f.Float64Var(&p.Reads, "reads", 0, "`number` of reads by _id and shard key per second")
	f.Float64Var(&p.Queries, "queries", 0, "`number` of indexed queries within one partition per second")
	f.Float64Var(&p.FanOuts, "fan-outs", 0, "`number` of indexed queries over all partitions per second")
	f.Int64Var(&p.PerQuery, "query-documents", 10, "`number` of documents that a query returns")
	f.Float64Var(&p.Inserts, "inserts", 0, "`number` of inserts per second")
	f.Float64Var(&p.Updates, "updates", 0, "`number` of updates by _id and shard key per second")
	f.Float64Var(&p.Deletes, "deletes", 0, "`number` of deletes by _id and shard key per second")
	f.Int64Var(&p.Documents, "documents", 0, "`number` of documents, for the storage size")
	prices := f.String("prices", ratelimit.Normative().Name, "`name` of the price list: "+strings.Join(ratelimit.PriceListNames(), ", ")+". cantle serve charges by "+ratelimit.Mongo2023().Name+" where it has --cosmos-listen")
	flags.Choose(f, "prices", ratelimit.PriceListNames()...)
	f.Int64Var(&p.PartitionRU, "partition-ru", 0, "maximum `RU/s` of one partition; 0 is 6000, with which Azure Cosmos DB starts")
	asJSON := jsonFlag(f)
	f.Int64Var(&p.PartitionGB, "partition-gb", 50, "size in `GB` at which a partition splits")
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return usageErrorf("expected one file with a sample document")
		}
		var err error
		if err := p.CheckRates(); err != nil {
			return usageErrorf("%w", err)
		}
		if p.Prices, err = ratelimit.ParsePriceList(*prices); err != nil {
			return usageErrorf("--prices %w", err)
		}
		doc, err := readDocument(f.Arg(0), s.In)
		if err == nil {
			for _, name := range strings.Split(*fields, ",") {
				if name = strings.TrimSpace(name); name != "" {
					p.Changed = append(p.Changed, name)
				}
			}
			if err := p.Prepare(ctx, doc, *key, indexes); err != nil {
				return usageError{err}
			}
		}
		if err != nil {
			return err
		}
		if *asJSON {
			printJSON(s.Out, p.JSON())
		} else {
			p.Print(s.Out)
		}
		return nil
	}
}

// open opens a file to read, or standard input for "-".
func open(name string, in io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(in), nil
	}
	return os.Open(name)
}

// documentMax is the maximum length of a sample as text.
const documentMax = 64 << 20

// readDocument reads one document in Extended JSON from the file name, or from in if the name is "-". A document
// without _id gets one.
// Errors: errors of the file; a text that is not a document, or is too large.
func readDocument(name string, in io.Reader) (bson.Raw, error) {
	r, err := open(name, in)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, documentMax))
	if err != nil {
		return nil, err
	}
	doc, err := ejson.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc) > bson.MaxDocumentBytes {
		return nil, fmt.Errorf("%s: the document has %s, the limit is 16 MB", name, columns.Size(int64(len(doc))))
	}
	if _, ok := doc.Lookup("_id"); ok {
		return doc, nil
	}
	b := bson.NewBuilder(nil) // as a driver would
	b.ObjectID("_id", bson.NewObjectID())
	b.Splice(doc.Elements())
	return b.Doc(), nil
}
