package data

import (
	"crypto/md5" // #nosec G501 -- the digest that the command is defined by
	"encoding/hex"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runFileMD5 replies to filemd5 with the MD5 digest of a file that GridFS has stored as chunks, computed over the
// chunks in their order.
// Manual: reference/command/filemd5 (removed in 6.0).
// Errors: errors of an aggregation, 50848 if a chunk is missing.
func runFileMD5(c *command.Call) error {
	root := "fs"
	given := ""
	err := c.ReadArgs(
		arguments.String("root", &given),
		arguments.Ignored("partialOk"),
	)
	if err != nil {
		return err
	}
	if given != "" {
		root = given
	}
	ns := collection.Namespace{DB: c.DB, Coll: root + ".chunks"}
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(chunkStages(c.Value)), bson.Value{})
	if err != nil {
		return err
	}
	defer s.Close()
	sum, chunks := md5.New(), int64(0) // #nosec G401
	for {
		row, err := s.Next(c.Env())
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if n, _ := row.Doc.Get("n").AsInt64(); n != chunks {
			return mongoerr.New(50848, "chunk %d of the file is missing", chunks)
		}
		_, data, _ := row.Doc.Get("data").Binary()
		sum.Write(data)
		chunks++
	}
	c.Reply.Int32("numChunks", int32(chunks))
	c.Reply.String("md5", hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// chunkStages returns stages that find the chunks of a file in order.
func chunkStages(file bson.Value) []bson.Raw {
	match, sort := bson.NewBuilder(nil), bson.NewBuilder(nil)
	match.BeginDoc("$match")
	match.BeginDoc("files_id")
	match.Value("$eq", file)
	match.End()
	match.End()
	sort.BeginDoc("$sort")
	sort.Int32("files_id", 1)
	sort.Int32("n", 1)
	sort.End()
	return []bson.Raw{match.Doc(), sort.Doc()}
}
