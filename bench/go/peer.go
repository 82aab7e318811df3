// SPDX-License-Identifier: Apache-2.0

// The rig's peer that uses go-zookeeper; ../c/peer.h describes the protocol. It has only the verbs that are compared.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type quiet struct{}

func (quiet) Printf(string, ...interface{}) {}

var (
	in       = bufio.NewReader(os.Stdin)
	sessions = map[string]*zk.Conn{}
	request  map[string]string
)

func must(err error) {
	if err != nil {
		log.Fatal(err) // no wrong figure is reported
	}
}

func number(key string, otherwise int64) int64 {
	text, found := request[key]
	if !found {
		return otherwise
	}
	value, err := strconv.ParseInt(text, 10, 64)
	must(err)
	return value
}

func session(server string, i int) *zk.Conn {
	key := fmt.Sprint(server, " ", i)
	conn := sessions[key]
	if conn == nil {
		var events <-chan zk.Event
		var err error
		conn, events, err = zk.Connect([]string{server}, 30*time.Second, zk.WithLogger(quiet{}))
		must(err)
		for event := range events {
			if event.State == zk.StateHasSession {
				break
			}
		}
		sessions[key] = conn
	}
	return conn
}

func newLock(conn *zk.Conn) *zk.Lock {
	return zk.NewLock(conn, request["path"], zk.WorldACL(zk.PermAll))
}

func readySteady(n int) {
	fmt.Println("ready n=" + strconv.Itoa(n))
	line, err := in.ReadString('\n')
	must(err)
	if line != "go\n" {
		log.Fatal("no go")
	}
}

func quantiles(samples []int64) string {
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	texts := []string{}
	for q := 0; len(samples) > 0 && q <= 100; q++ {
		texts = append(texts, fmt.Sprintf("%.1f", float64(samples[(len(samples)-1)*q/100])/1000))
	}
	return strings.Join(texts, ",")
}

func solo() {
	lock := newLock(session(request["server"], 0))
	opsWanted := number("ops", 1<<62)
	window := time.Duration(number("ms", 3600*1000)) * time.Millisecond
	samples := []int64{}
	began := time.Now()
	now := time.Duration(0)
	for int64(len(samples)) < opsWanted && now < window {
		must(lock.Lock())
		must(lock.Unlock())
		then := now
		now = time.Since(began)
		samples = append(samples, int64(now-then))
	}
	fmt.Printf("ok ops=%d ns=%d q=%s\n", len(samples), now.Nanoseconds(), quantiles(samples))
}

func crowd() {
	n := int(number("n", 0))
	waits := make([][]int64, n)
	begin := make(chan struct{})
	var stop int32
	var total int64
	var ended sync.WaitGroup
	for i := 0; i < n; i++ {
		lock := newLock(session(request["server"], i))
		ended.Add(1)
		go func(mine *[]int64) {
			defer ended.Done()
			<-begin
			for atomic.LoadInt32(&stop) == 0 {
				called := time.Now()
				must(lock.Lock())
				if atomic.LoadInt32(&stop) == 0 {
					*mine = append(*mine, int64(time.Since(called)))
				}
				must(lock.Unlock())
				atomic.AddInt64(&total, 1)
			}
		}(&waits[i])
	}
	readySteady(n)
	began := time.Now()
	close(begin)
	time.Sleep(time.Duration(number("ms", 0)) * time.Millisecond)
	atomic.StoreInt32(&stop, 1)
	took := time.Since(began)
	ended.Wait()
	all := []int64{}
	for _, mine := range waits {
		all = append(all, mine...)
	}
	fmt.Printf("ok ops=%d ns=%d total=%d q=%s\n", len(all), took.Nanoseconds(), total, quantiles(all))
}

func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	must(err)
	return pages * int64(os.Getpagesize())
}

func waiters() {
	n := int(number("n", 0))
	conn := session(request["server"], 0)
	holder := newLock(session(request["server"], 1))
	must(holder.Lock())
	resident := residentBytes()
	var ended sync.WaitGroup
	for i := 0; i < n; i++ {
		ended.Add(1)
		// A Lock of this library is for one goroutine at a time, so each has its own.
		go func(lock *zk.Lock) {
			defer ended.Done()
			must(lock.Lock())
			must(lock.Unlock())
		}(newLock(conn))
	}
	observer := session(request["observe"], -1)
	for {
		children, _, err := observer.Children(request["path"])
		must(err)
		if len(children) >= n+1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	readySteady(n)
	each := (residentBytes() - resident) / int64(n)
	began := time.Now()
	must(holder.Unlock())
	ended.Wait()
	fmt.Printf("ok ops=%d ns=%d resident=%d\n", n, time.Since(began).Nanoseconds(), each)
}

func main() {
	verbs := map[string]func(){"solo": solo, "crowd": crowd, "waiters": waiters}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		request = map[string]string{}
		for _, word := range words[1:] {
			pair := strings.SplitN(word, "=", 2)
			request[pair[0]] = pair[1]
		}
		verbs[words[0]]()
	}
}
