package exec

import "github.com/cantledb/cantle/collection/mql"

// Drain reads an input to its end, for an operator that needs all rows before it returns the first: a sort, a group.
// It calls take with each row, and closes the input at its end, which releases iterators and memory before the
// operator's own work begins. A row is valid during the call of take.
//
// Errors: errors of the input and of take; the reason why the command must end. After an error the input is
// still open: the operator's Close closes it.
func Drain(env *mql.Env, in Operator, take func(*Row) error) error {
	for {
		r, err := in.Next(env)
		if err != nil {
			return err
		}
		if r == nil {
			in.Close()
			return nil
		}
		if err := env.Tick(); err != nil {
			return err
		}
		if err := take(r); err != nil {
			return err
		}
	}
}
