package bench

// Operations of a mix.
const (
	opRead   = "read"
	opUpdate = "update"
	opInsert = "insert"
	opScan   = "scan"
	opModify = "read-modify-write"
	opQuery  = "query"
)

// share is an operation of a mix, with its part of all operations in percent.
type share struct {
	op      string
	percent int
}

// Mix is a mix of operations.
type Mix struct {
	Name, Does   string
	shares       []share // 100 percent together
	distribution string  // of the documents that operations choose, unless --distribution names another
	model        model
}

// model is the kind of the documents of a mix.
type model struct {
	shardKey string // field of the collection's hashed shard key, "_id" for documents of YCSB
	values   int    // number of values of the shard key; 0: as many as documents
	prefix   string // of the values
}

// Models of the mixes.
var (
	records  = model{shardKey: "_id", prefix: "user"}
	readings = model{shardKey: "device", values: 100, prefix: "device-"}
	tenants  = model{shardKey: "tenant", values: 50, prefix: "tenant-"}
)

// Mixes are the workloads by name. Those with one letter are the core workloads of YCSB with its proportions and
// distributions.
var Mixes = []Mix{
	{"a", "half reads, half updates", []share{{opRead, 50}, {opUpdate, 50}}, Zipfian, records},
	{"b", "95 % reads, 5 % updates", []share{{opRead, 95}, {opUpdate, 5}}, Zipfian, records},
	{"c", "reads only", []share{{opRead, 100}}, Zipfian, records},
	{"d", "95 % reads of the latest, 5 % inserts", []share{{opRead, 95}, {opInsert, 5}}, Latest, records},
	{"e", "95 % scans of up to 100 documents, 5 % inserts", []share{{opScan, 95}, {opInsert, 5}}, Zipfian, records},
	{"f", "half reads, half read-modify-writes", []share{{opRead, 50}, {opModify, 50}}, Zipfian, records},
	{"insert", "inserts only", []share{{opInsert, 100}}, Uniform, records},
	{"tenants", "80 % queries of one of 50 tenants, 20 % inserts", []share{{opQuery, 80}, {opInsert, 20}}, Zipfian, tenants},
	{"time-series", "90 % inserts of readings, 10 % queries of a device", []share{{opInsert, 90}, {opQuery, 10}}, Uniform, readings},
}

// mixNames returns the names of all mixes.
func mixNames() (names []string) {
	for _, m := range Mixes {
		names = append(names, m.Name)
	}
	return names
}

// MixNamed returns a mix by its name.
func MixNamed(name string) (*Mix, bool) {
	for i := range Mixes {
		if Mixes[i].Name == name {
			return &Mixes[i], true
		}
	}
	return nil, false
}

// choose returns an operation for a number from 0 to 99.
func (m *Mix) choose(percent int) string {
	for _, s := range m.shares {
		if percent -= s.percent; percent < 0 {
			return s.op
		}
	}
	return m.shares[0].op
}
