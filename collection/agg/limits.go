package agg

import "github.com/cantledb/cantle/wire/mongoerr"

// docBytesMax is the size of the largest document between stages: a document's
// limit and room for what an operator adds, as in MongoDB.
// Manual: core/aggregation-pipeline-limits#result-size-restrictions.
const docBytesMax = 64 << 20

// userDocBytesMax is the size of the largest document that leaves a pipeline.
const userDocBytesMax = 16 << 20

func tooLarge(size int) error { return mongoerr.DocumentTooLarge(size, docBytesMax) }
