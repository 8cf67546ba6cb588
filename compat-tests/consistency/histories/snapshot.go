package histories

// Snapshot is the recorded result of one read of many documents, in any number of batches. It must contain all
// documents as they were at one moment between Sent, when the read was sent, and Back, when its first answer
// arrived.
type Snapshot struct {
	Changes    []Change
	Rows       []Row
	Sent, Back int64
	Order      func(a, b Row) int // nil = none
	Filter     func(r Row) bool   // the filter of the read; nil = all
}

// cuts holds how many of a client's changes a snapshot contains: the lowest and the highest number that the rows
// allow. They differ if some changes cannot be seen in the rows.
type cuts struct{ least, most int }

// Judge returns the violations.
func (s *Snapshot) Judge() []string {
	var wrong found
	chains := chainsOf(s.Changes)
	owners := chains.owners()
	rows := map[int]map[int]int{} // by client
	for _, r := range s.Rows {
		owner, is := owners[r.Key]
		if !is {
			wrong.bad("document %d was never written", r.Key)
			continue
		}
		if rows[owner] == nil {
			rows[owner] = map[int]int{}
		}
		if v, twice := rows[owner][r.Key]; twice {
			wrong.bad("twice: document %d came as version %d and as %d", r.Key, v, r.Version)
		}
		if s.Filter != nil && !s.Filter(r) {
			wrong.bad("%v is not what the filter wants", r)
		}
		rows[owner][r.Key] = r.Version
	}
	if len(wrong) > 0 {
		return wrong
	}
	has := map[int]cuts{}
	for _, client := range chains.clients() {
		c, fits := s.cut(&wrong, client, chains[client], rows[client])
		if fits {
			has[client] = c
		}
	}
	if len(wrong) == 0 {
		s.causes(&wrong, chains, has)
	}
	wrong.inOrder(s.Rows, s.Order)
	return wrong
}

// cut returns how many changes, from the beginning of a client's chain, produce the rows of the client's documents;
// rows has the version by key. If no number fits, it adds violations, and fits is false.
func (s *Snapshot) cut(wrong *found, client int, chain []Change, rows map[int]int) (out cuts, fits bool) {
	least, most := span(chain, s.Sent, s.Back)
	state, last := map[int]int{}, map[int]int{} // last is the change that set the state
	differ := len(rows)
	fewest, best := differ+len(chain)+1, 0
	visible := func(key int) int {
		if v := state[key]; v != 0 && (s.Filter == nil || s.Filter(Row{key, v})) {
			return v
		}
		return 0
	}
	for n := 0; ; n++ {
		if n >= least && n <= most && !between(chain, n) {
			if differ < fewest {
				fewest, best = differ, n
			}
			if differ == 0 {
				if !fits {
					out.least = n
				}
				out.most, fits = n, true
			}
		}
		if n == min(most, len(chain)) {
			break
		}
		x := chain[n]
		before := visible(x.Key) != rows[x.Key]
		state[x.Key], last[x.Key] = x.Version, n
		if x.Removes {
			state[x.Key] = 0
		}
		if after := visible(x.Key) != rows[x.Key]; before != after {
			differ += map[bool]int{true: 1, false: -1}[after]
		}
	}
	if !fits {
		s.differs(wrong, client, chain[:best], chain[best:], rows)
	}
	return out, fits
}

// differs adds a violation for each document whose row differs from its state after the changes had, which are the
// best match. later has the client's changes after them.
func (s *Snapshot) differs(wrong *found, client int, had, later []Change, rows map[int]int) {
	state := map[int]int{}
	for _, x := range had {
		state[x.Key] = x.Version
		if x.Removes {
			state[x.Key] = 0
		}
	}
	told := 0
	say := func(format string, args ...any) {
		if told++; told <= 3 {
			wrong.bad(format, args...)
		}
	}
	for key, v := range rows {
		switch is := state[key]; {
		case is == v:
		case writes(later, key, v):
			say("from the future: document %d of client %d is version %d, and after %d changes it was %d", key, client, v, len(had), is)
		case writes(had, key, v):
			say("from the past: document %d of client %d is version %d, and after %d changes it was %d", key, client, v, len(had), is)
		default:
			say("document %d of client %d is version %d, which nobody wrote", key, client, v)
		}
	}
	for key, v := range state {
		if _, is := rows[key]; !is && v != 0 && (s.Filter == nil || s.Filter(Row{key, v})) {
			say("missing: document %d of client %d did not come, and after %d changes it was version %d", key, client, len(had), v)
		}
	}
}

func writes(changes []Change, key, version int) bool {
	for _, x := range changes {
		if x.Key == key && x.Version == version && !x.Removes {
			return true
		}
	}
	return false
}

// causes adds a violation if the snapshot contains a change that was sent after the acknowledgement of a change that
// it lacks.
func (s *Snapshot) causes(wrong *found, chains chains, has map[int]cuts) {
	var newest Change
	for client, c := range has {
		if c.least > 0 {
			if x := chains[client][c.least-1]; x.Begin > newest.Begin {
				newest = x
			}
		}
	}
	for _, client := range chains.clients() {
		chain := chains[client]
		if n := has[client].most; n < len(chain) && chain[n].End != 0 && chain[n].End < newest.Begin {
			wrong.bad("no moment: version %d of document %d is there, and version %d of document %d is not, which was acknowledged before", newest.Version, newest.Key, chain[n].Version, chain[n].Key)
		}
	}
}
