package agg

import "github.com/cantledb/cantle/collection/mongoerr"

// docBytesMax is the size of the largest document between stages. What leaves
// the pipeline is held to a document's usual limit by the cursor.
// Manual: core/aggregation-pipeline-limits#result-size-restrictions.
const docBytesMax = 128 << 20

// userDocBytesMax is the size of the largest document that leaves a pipeline.
const userDocBytesMax = 16 << 20

func tooLarge(size int) error { return mongoerr.DocumentTooLarge(size, docBytesMax) }
