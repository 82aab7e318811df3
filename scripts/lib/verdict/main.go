// SPDX-License-Identifier: Apache-2.0

// verdict FILE...: gives histories of locks to Porcupine. Exits with 0 if each is linearizable, 1 if one is not, 2 if a file cannot
// be read or a judgement takes too long. tests/README.md describes the files.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const patience = 2 * time.Minute // for one lock

type operation struct {
	release bool
	kind    string // mutex, write, read or permit
	lock    string
	process string
	hold    string
	start   int64
	end     int64
	token   uint64
	permits int
	limit   int
}

// rises says whether a token is above the highest; it is 0 where it is not known.
func (op operation) rises(highest uint64) bool {
	return op.token == 0 || op.token > highest
}

// parse reads one line; see HistoryOp in tests/support/history.h.
func parse(line string) (operation, error) {
	fields := strings.Fields(line)
	if len(fields) != 10 || (fields[0] != "acquire" && fields[0] != "release") {
		return operation{}, fmt.Errorf("not understood: %s", line)
	}
	op := operation{release: fields[0] == "release", kind: fields[1], lock: fields[2], process: fields[3], hold: fields[4]}
	numbers := []string{fields[5], fields[6], fields[8], fields[9]}
	if fields[6] == "-" {
		numbers[1] = strconv.FormatInt(1<<62, 10)
	}
	parsed := make([]int64, len(numbers))
	for i, number := range numbers {
		var err error
		if parsed[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return operation{}, err
		}
	}
	op.start, op.end, op.permits, op.limit = parsed[0], parsed[1], int(parsed[2]), int(parsed[3])
	var err error
	op.token, err = strconv.ParseUint(fields[7], 10, 64)
	return op, err
}

// mutex: a state is the hold that has the lock, and the highest token so far.
type mutexState struct {
	hold    string
	highest uint64
}

var mutex = porcupine.Model{
	Init: func() interface{} { return mutexState{} },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		s, op := state.(mutexState), input.(operation)
		if op.release {
			return s.hold == op.hold, mutexState{"", s.highest}
		}
		return s.hold == "" && op.rises(s.highest), mutexState{op.hold, op.token}
	},
}

type rwState struct {
	writer  string
	process string // the writer's, which may read as well
	readers int
	highest uint64 // token of a writer
}

var readWrite = porcupine.Model{
	Init: func() interface{} { return rwState{} },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		s, op := state.(rwState), input.(operation)
		switch {
		case op.kind == "read" && op.release:
			s.readers--
			return s.readers >= 0, s
		case op.kind == "read":
			s.readers++
			return s.writer == "" || s.process == op.process, s
		case op.release:
			return s.writer == op.hold, rwState{"", "", s.readers, s.highest}
		}
		return s.writer == "" && s.readers == 0 && op.rises(s.highest), rwState{op.hold, op.process, 0, op.token}
	},
}

// semaphore: a state lists the holds with their limits, since a holder that knows an older, higher limit is no mistake.
var semaphore = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		op := input.(operation)
		me := fmt.Sprintf("%s:%d:%d", op.hold, op.permits, op.limit)
		holds := strings.Fields(state.(string))
		if op.release {
			for i, hold := range holds {
				if hold == me {
					return true, strings.Join(append(holds[:i:i], holds[i+1:]...), " ")
				}
			}
			return false, state
		}
		holds = append(holds, me)
		sort.Strings(holds)
		used, limit := 0, 0
		for _, hold := range holds {
			parts := strings.Split(hold, ":")
			permits, _ := strconv.Atoi(parts[1])
			known, _ := strconv.Atoi(parts[2])
			used += permits
			if known > limit {
				limit = known
			}
		}
		return used <= limit, strings.Join(holds, " ")
	},
}

// token: what a resource sees that knows nothing of releases. A state is the highest token of an exclusive hold.
var token = porcupine.Model{
	Init: func() interface{} { return uint64(0) },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		op := input.(operation)
		return op.token > state.(uint64), op.token
	},
}

func read(path string, locks map[string][]operation) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		op, err := parse(lines.Text())
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		locks[op.lock] = append(locks[op.lock], op)
	}
	return lines.Err()
}

// models says which of them a lock has to obey.
func models(ops []operation) map[string]porcupine.Model {
	chosen := map[string]porcupine.Model{}
	for _, op := range ops {
		switch op.kind {
		case "permit":
			chosen["semaphore"] = semaphore
		case "read":
			chosen["read-write lock"] = readWrite
		default:
			chosen["fencing token"] = token
		}
	}
	if len(chosen) == 1 && chosen["fencing token"].Step != nil {
		chosen["mutex"] = mutex
	}
	return chosen
}

func history(ops []operation, onlyTokens bool) []porcupine.Operation {
	clients := map[string]int{}
	var result []porcupine.Operation
	for _, op := range ops {
		if onlyTokens && (op.release || op.kind == "read" || op.kind == "permit" || op.token == 0) {
			continue
		}
		if _, known := clients[op.process]; !known {
			clients[op.process] = len(clients)
		}
		result = append(result, porcupine.Operation{ClientId: clients[op.process], Input: op, Call: op.start, Return: op.end})
	}
	return result
}

func main() {
	locks := map[string][]operation{}
	for _, path := range os.Args[1:] {
		if err := read(path, locks); err != nil {
			fmt.Fprintln(os.Stderr, "verdict:", err)
			os.Exit(2)
		}
	}
	judged, rejected, slow := map[string]int{}, 0, 0
	for lock, ops := range locks {
		for name, model := range models(ops) {
			result := porcupine.CheckOperationsTimeout(model, history(ops, name == "fencing token"), patience)
			judged[name]++
			if result == porcupine.Illegal {
				rejected++
				fmt.Printf("%s: not linearizable as a %s\n", lock, name)
			} else if result == porcupine.Unknown {
				slow++
				fmt.Printf("%s: no verdict within %s as a %s\n", lock, patience, name)
			}
		}
	}
	names := []string{}
	for name := range judged {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s: %d histories\n", name, judged[name])
	}
	switch {
	case slow > 0 || len(locks) == 0:
		os.Exit(2)
	case rejected > 0:
		os.Exit(1)
	}
}
